/**
 * Owns the delivery of outcomes to `onOutcome`: at least once across crashes. The head names what is due and keeps
 * the marker until it is taken. Must not know how turns end.
 */
import { messageOf } from '../core/errors.js';
import { sessionOfTurn } from '../core/ids.js';
import type { Head, OutcomeRecord } from '../core/records.js';
import { buildForeign, setupBounds } from './foreign.js';
import { inTime } from './in-time.js';
import { fromRecord } from './outcome.js';
import type { Roster } from './roster.js';
import { turnInfo } from './turn-info.js';

export class Delivery {
  private readonly roster: Roster;
  /** One delivery of an outcome at a time: a second `recover()` does not call `onOutcome` again meanwhile. */
  private readonly underWay = new Set<string>();

  constructor(roster: Roster) {
    this.roster = roster;
  }

  async deliver(turnId: string): Promise<void> {
    const { onOutcome } = this.roster.settings;
    const sessionId = sessionOfTurn(turnId);
    if (onOutcome === undefined || sessionId === undefined || this.underWay.has(turnId)) return;
    this.underWay.add(turnId);
    try {
      // A turn that was abandoned may have been revived meanwhile: then its second end is due as well.
      for (let told: OutcomeRecord | undefined; ; ) {
        const record = await this.roster.store.outcome(turnId);
        // Both ends may fall on one moment of the clock, but a revived turn has no second end like its first.
        const same = record?.endedAt === told?.endedAt && record?.status === told?.status;
        if (same) return await this.taken(sessionId, turnId);
        if (record !== undefined && !(await this.hand(record, sessionId))) return;
        told = record;
      }
    } finally {
      this.underWay.delete(turnId);
    }
  }

  /** false: it stays due, and the next `recover()` tries again. */
  private async hand(record: OutcomeRecord, sessionId: string): Promise<boolean> {
    const { settings } = this.roster;
    const turn = turnInfo(settings, { ...record, sessionId }, { attended: false, recovered: false, attempt: 0 });
    try {
      const { deps } = await inTime(setupBounds(this.roster), 'dependencies', ({ signal }) =>
        buildForeign(settings, turn, signal),
      );
      const unbounded = { ...setupBounds(this.roster), ms: null };
      await inTime(unbounded, 'onOutcome', async () => settings.onOutcome?.(fromRecord(record), turn, deps));
      return true;
    } catch (thrown) {
      const undelivered = { type: 'outcomeUndelivered', reason: messageOf(thrown) } as const;
      this.roster.announcer.announce(undelivered, { sessionId, turnId: record.turnId }, false);
      return false;
    }
  }

  private async taken(sessionId: string, turnId: string): Promise<void> {
    const { roster } = this;
    await roster.sessions.run(sessionId, async () => {
      const without = (due: readonly string[]): readonly string[] => due.filter((id) => id !== turnId);
      const driver = roster.driverOf(sessionId);
      const change = (head: Head) => ({ patch: { outcomesDue: without(head.outcomesDue) }, parts: {} });
      if (await driver?.amend(change)) return;
      const head = await roster.head(sessionId);
      if (head === undefined || !head.outcomesDue.includes(turnId)) return;
      const writer = roster.writerOf(head);
      await writer.write(writer.next({}, null, { outcomesDue: without(head.outcomesDue) }));
    });
  }
}
