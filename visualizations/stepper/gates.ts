/**
 * Owns the recovery of the simulated turn: the real chart of gates, asked about what is on the simulated disk.
 * Must not know how a resumed turn goes on.
 */
import { DEFAULT_RECOVERY_POLICY, type RecoveryEvent, type RecoveryFacts } from '../../machines/index.js';
import { decodeCheckpoint } from '../../src/core/checkpoint.js';
import { firstGate, type GateStep, nextGate } from '../../src/core/gates.js';
import { watchEdges } from '../../src/testing/taken-edges.js';
import type { Chart } from '../../src/visualize/chart.js';
import { readMachine } from '../../src/visualize/xstate-fields.js';
import type { Disk } from './disk.js';
import { recovery, turn } from './guards.js';

export interface How {
  /** A person asked for it: gates 4 to 7 do not apply. */
  readonly byPerson: boolean;
  readonly switchedOff: boolean;
  /** Whether the tools of calls in doubt can be asked what happened. */
  readonly reconcile: boolean;
}

/** What one gate said. */
export interface GateAnswer {
  readonly gate: string;
  readonly question: string;
  readonly answer: string;
}

export interface Recovery {
  readonly verdict: string;
  readonly gate: string;
  readonly reason: string;
  readonly gates: readonly GateAnswer[];
  /** Of the recovery chart, to show the way. */
  readonly edges: readonly string[];
  readonly disk: Disk;
}

const chart: Chart = readMachine(recovery);
const watch = watchEdges(recovery);

function factsOf(disk: Disk, now: number, how: How): RecoveryFacts {
  return {
    policy: { ...DEFAULT_RECOVERY_POLICY, enabled: !how.switchedOff },
    byPerson: how.byPerson,
    owned: false,
    current: disk.inProgress,
    outcomeDue: disk.outcomeDue,
    waiting: disk.waiting,
    handedOver: disk.handedOver,
    lastProgressAt: disk.lastProgressAt,
    now,
    attempts: disk.attempts,
    recoveries: disk.recoveries,
  };
}

/** Gate 8: durable before anything heavy or foreign runs. A hand-over counts nothing. */
function counted(disk: Disk): Disk {
  const revision = disk.revision + 1;
  if (disk.handedOver) return { ...disk, revision, handedOver: false };
  return { ...disk, revision, attempts: disk.attempts + 1, recoveries: disk.recoveries + 1 };
}

const inDoubt = (disk: Disk, how: How): number =>
  how.reconcile ? 0 : disk.calls.filter(({ state, effect }) => state === 'dispatched' && effect === 'external').length;

function eventFor(effect: (GateStep & { kind: 'do' })['effect'], disk: Disk, how: How): RecoveryEvent {
  if (effect === 'countAttempt') return { type: 'attempt.committed' };
  if (effect === 'findDoubts') return { type: 'doubts.found', unreconcilable: inDoubt(disk, how) };
  const decoded = decodeCheckpoint(turn, JSON.parse(JSON.stringify(disk.checkpoint)));
  return decoded.ok ? { type: 'checkpoint.decoded' } : { type: 'checkpoint.unreadable', reason: decoded.reason };
}

function answerOf(edge: string): GateAnswer {
  const taken = chart.transitions.find(({ id }) => id === edge);
  const state = chart.states.find(({ id }) => id === taken?.source);
  const words = taken?.trigger.kind === 'event' ? taken.trigger.name : taken?.guard === null ? 'no' : 'yes';
  const guard = taken?.guard === null ? '' : ` (${taken?.guard})`;
  return {
    gate: state?.key ?? edge,
    question: state?.description ?? '',
    answer: `${words}${guard} → ${taken?.targets.join(', ')}`,
  };
}

/** The walk through the gates, with the work that gates 8 to 10 ask for done in between. */
export function recover(before: Disk, now: number, how: How): Recovery {
  const facts = factsOf(before, now, how);
  let disk = before;
  let at = firstGate(facts);
  let taken = watch.start(facts);
  const edges = [...taken.edges];
  while (at.kind === 'do') {
    if (at.effect === 'countAttempt') disk = counted(disk);
    const event = eventFor(at.effect, disk, how);
    taken = watch.take(taken.snapshot, event);
    edges.push(...taken.edges);
    at = nextGate(at.gates, event);
  }
  const { verdict, gate, reason } = at;
  if (verdict === 'abandoned') {
    disk = { ...disk, revision: disk.revision + 1, inProgress: false, ended: `abandoned at ${gate}: ${reason}` };
  }
  if (verdict === 'deliverOutcome') disk = { ...disk, revision: disk.revision + 1, outcomeDue: false };
  return { verdict, gate, reason, gates: edges.map(answerOf), edges, disk };
}
