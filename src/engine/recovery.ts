/**
 * Owns what happens to interrupted turns: the gates of recovery.machine.ts, asked under the route lock against the
 * head re-read there, and what each verdict leads to. Must not know how turns run once they are resumed.
 */
import { RECOVERY_CONCURRENCY } from '../../machines/index.js';
import { messageOf, TurnError } from '../core/errors.js';
import type { Verdict } from '../core/gates.js';
import type { Lease } from '../core/ports.js';
import type { Head } from '../core/records.js';
import type { TurnName } from './driver-start.js';
import { GateWalk } from './gate-walk.js';
import { Holds, type Tell } from './holds.js';
import type { Roster } from './roster.js';
import type { RunningTurn } from './running-turn.js';
import type { Turn } from './turn-handles.js';

/** What `recover()` did, by verdict. */
export interface RecoveryReport {
  readonly resumed: readonly Turn[];
  /** Found, not run; a turn whose route is busy goes on when that is free. */
  readonly held: readonly { readonly turnId: string; readonly gate: string; readonly reason: string }[];
  /** Ids of turns that wait for a person. */
  readonly parked: readonly string[];
  readonly abandoned: readonly { readonly turnId: string; readonly gate: string; readonly reason: string }[];
  /** Sessions of which a repair of the store found something damaged, since the last report. */
  readonly damaged: readonly { readonly sessionId: string; readonly reason: string }[];
}

/** Who asks for a turn to go on. */
export interface Asked {
  /** A person decided, settled or said so: gates 4 to 7 do not apply. */
  readonly byPerson: boolean;
  readonly attended: boolean;
  /** Input from live traffic: the switch is for start-up and does not apply. */
  readonly byInput?: boolean;
  /** This process has asked before: it lives, so what failed then did not kill it. */
  readonly again?: boolean;
  /** It was parked, not cut off: nothing was interrupted. */
  readonly wasParked?: boolean;
}

export interface Answer {
  readonly verdict: Verdict | 'busy';
  readonly turnId: string;
  readonly gate: string;
  readonly reason: string;
  readonly driver?: RunningTurn;
}

const gone = (turnId = ''): Answer => ({
  verdict: 'superseded',
  turnId,
  gate: 'identity',
  reason: 'the session is gone',
});

/** What the report says of an answer. */
interface Told extends Omit<Answer, 'driver'> {
  readonly handle: Turn | undefined;
}

export const AT_START: Asked = { byPerson: false, attended: false };
/** A later round of the same process. */
export const AGAIN: Asked = { byPerson: false, attended: false, again: true };
/** The deadline of a parked turn passed in the process that parked it. */
export const AT_DEADLINE: Asked = { byPerson: false, attended: false, wasParked: true };

export class Recovery {
  private readonly roster: Roster;
  private readonly holds = new Holds();
  /** Outcomes of ended turns are delivered by somebody else. */
  private readonly deliver: (turnId: string) => Promise<void>;

  constructor(roster: Roster, deliver: (turnId: string) => Promise<void>) {
    this.roster = roster;
    this.deliver = deliver;
  }

  /** Every marker of this agent gets its verdict; one that fails does not keep the others from theirs (I12). */
  async recoverAll(asked: Asked, concurrency = RECOVERY_CONCURRENCY): Promise<RecoveryReport> {
    const { store, settings } = this.roster;
    const answers: Told[] = [];
    const markers = [...(await store.markers(settings.agent))];
    const work = async (): Promise<void> => {
      for (let marker = markers.shift(); marker !== undefined; marker = markers.shift()) {
        const { sessionId, turnId } = marker;
        const { driver, ...answer } = await this.isolated(sessionId, turnId, asked);
        // A driver holds the whole transcript: those of turns that have ended must not wait here for the last marker.
        answers.push({ ...answer, handle: driver?.handle });
      }
    };
    await Promise.all(Array.from({ length: concurrency }, work));
    const report = this.report(answers);
    this.holds.keepOnly(new Set(report.held.map(({ turnId }) => turnId)));
    return { ...report, damaged: await this.tellDamage() };
  }

  /** The note goes when it was told: a crash between the two repeats the event rather than losing it. */
  private async tellDamage(): Promise<RecoveryReport['damaged']> {
    const { store, settings } = this.roster;
    const damaged = await store.damagedSessions(settings.agent);
    for (const { sessionId, turnId, reason } of damaged) {
      this.roster.announcer.announce({ type: 'sessionDamaged', reason }, { sessionId, turnId }, true);
      // Whoever starts next tells it again then.
      await store.damageTold(sessionId).catch(() => {});
    }
    return damaged.map(({ sessionId, reason }) => ({ sessionId, reason }));
  }

  /** What fails here is told, and keeps nobody else from their verdict (I12). */
  private async isolated(sessionId: string, turnId: string, asked: Asked): Promise<Answer> {
    try {
      return await this.roster.sessions.run(sessionId, () => this.ask(sessionId, turnId, asked));
    } catch (thrown) {
      const reason = messageOf(thrown);
      this.telling({ sessionId, turnId }, asked)('interrupted_turn_held', 'store', reason);
      return { verdict: 'held', turnId, gate: 'store', reason };
    }
  }

  /** For input to an interrupted session; only from within the session's own order. */
  async resumeForInput(sessionId: string, attended: boolean): Promise<RunningTurn | undefined> {
    return (await this.ask(sessionId, undefined, { byPerson: false, byInput: true, attended })).driver;
  }

  /**
   * A parked turn that waits for nobody any more goes on: as soon as its route is free and the store works. What the
   * person said is durable already.
   */
  goOnLater({ sessionId, turnId, inProgress, waiting }: Head, attended: boolean): void {
    if (!inProgress || waiting !== null || turnId === null) return;
    this.askLater(sessionId, turnId, { byPerson: true, attended, wasParked: true });
  }

  /** The gates, as soon as the store works. */
  askLater(sessionId: string, turnId: string, asked: Asked): void {
    this.roster.background.untilStored({ sessionId, turnId }, () =>
      this.roster.sessions.run(sessionId, async () => {
        if (this.roster.driverOf(sessionId) === undefined) await this.ask(sessionId, turnId, asked);
      }),
    );
  }

  /** The gates, one after another. Only from within the session's own order. */
  async ask(sessionId: string, turnId: string | undefined, asked: Asked): Promise<Answer> {
    // Nothing is taken up by a process that closes; the next one finds it.
    if (this.roster.closing) throw new TurnError('TURN_ENGINE_CLOSING', 'this engine is closing');
    const found = await this.readHead(sessionId, turnId ?? '');
    if (found === undefined) return gone(turnId);
    if (found.outcomesDue.length > 0) this.deliverLater(found);
    if (this.roster.driverOf(sessionId) !== undefined) return this.walk(found, undefined, asked, turnId);
    const lease = await this.roster.store.acquire(found.routeKey);
    if (lease === undefined) return this.waitForRoute(found, turnId, asked);
    let answer: Answer | undefined;
    try {
      // What was read without the route may be out of date: a driver that was just ending has committed since (I7).
      const head = await this.readHead(sessionId, turnId ?? '');
      answer = head === undefined ? gone(turnId) : await this.walk(head, lease, asked, turnId);
      return answer;
    } finally {
      if (answer?.driver === undefined) await this.roster.routes.giveBack(lease);
    }
  }

  private walk(head: Head, lease: Lease | undefined, asked: Asked, turnId: string | undefined): Promise<Answer> {
    const walk = new GateWalk(this.roster, head, lease, asked, turnId);
    return walk.run(this.telling({ sessionId: head.sessionId, turnId: head.turnId ?? '' }, asked));
  }

  private waitForRoute({ sessionId, routeKey, turnId: known }: Head, turnId: string | undefined, asked: Asked): Answer {
    const name = turnId ?? known ?? '';
    this.roster.routes.waitFor(routeKey, sessionId, async () => {
      const later = await this.isolated(sessionId, name, asked);
      return later.driver !== undefined || later.verdict === 'busy';
    });
    return { verdict: 'busy', turnId: known ?? '', gate: 'owner', reason: 'its route is busy' };
  }

  private async readHead(sessionId: string, turnId: string): Promise<Head | undefined> {
    try {
      return await this.roster.head(sessionId);
    } catch (thrown) {
      if (!(thrown instanceof TurnError) || thrown.code !== 'TURN_DAMAGED') throw thrown;
      // Its bytes are kept aside; at the next start nothing is left to stumble over (I12).
      await this.roster.store.quarantine(sessionId, thrown.message);
      const { message: reason } = thrown;
      const abandoned = { type: 'interrupted_turn_abandoned', gate: 'head', reason } as const;
      this.roster.announcer.announce(abandoned, { sessionId, turnId }, true);
      return undefined;
    }
  }

  private deliverLater({ sessionId, outcomesDue }: Head): void {
    for (const turnId of outcomesDue)
      void this.roster.background.run({ sessionId, turnId }, () => this.deliver(turnId));
  }

  private telling(turn: TurnName, { again = false }: Asked): Tell {
    return this.holds.telling(turn.turnId, again, (type, gate, reason) =>
      this.roster.announcer.announce({ type, gate, reason }, turn, true),
    );
  }

  private report(answers: readonly Told[]): Omit<RecoveryReport, 'damaged'> {
    const by = (...verdicts: readonly Answer['verdict'][]) =>
      answers.filter((answer) => verdicts.includes(answer.verdict));
    const told = ({ turnId, gate, reason }: Told) => ({ turnId, gate, reason });
    return {
      resumed: by('resumed').flatMap(({ handle }) => handle ?? []),
      held: by('held', 'busy').map(told),
      parked: by('parked', 'reviewRequired').map((answer) => answer.turnId),
      abandoned: by('abandoned').map(told),
    };
  }
}
