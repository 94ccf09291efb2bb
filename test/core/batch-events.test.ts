// Why: tables show single steps; what hurts is a sequence nobody thought of. So random lives of a batch are played - the
// process dies, people come and go, outcomes arrive in any order - and the rules are asked after every step (I5, I6).
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Effect } from '../../machines/index.js';
import {
  type Admission,
  admitCalls,
  type BatchFacts,
  batchState,
  decide,
  expireApprovals,
  openDecisions,
  openDoubts,
} from '../../src/core/batch.js';
import { isSettled, Journal, nextCallState } from '../../src/core/journal.js';
import type { CallRecord } from '../../src/core/records.js';
import { callOf } from './arbitraries.js';

type Kind =
  | 'admit'
  | 'succeed'
  | 'fail'
  | 'lose'
  | 'notStarted'
  | 'crash'
  | 'allow'
  | 'deny'
  | 'expire'
  | 'presence'
  | 'reconcile'
  | 'time';

interface Setup {
  readonly calls: readonly { readonly effect: Effect; readonly exclusive: string | null; readonly asks: boolean }[];
  readonly parallelCalls: number;
  readonly approvalMs: number;
  readonly sequence: readonly (readonly [Kind, number])[];
}

const setup: fc.Arbitrary<Setup> = fc.record({
  calls: fc.array(
    fc.record({
      effect: fc.constantFrom<Effect>('none', 'idempotent', 'external'),
      exclusive: fc.constantFrom(null, null, 'git', 'db'),
      asks: fc.boolean(),
    }),
    { minLength: 1, maxLength: 6 },
  ),
  parallelCalls: fc.integer({ min: 1, max: 4 }),
  approvalMs: fc.constantFrom(0, 3),
  sequence: fc.array(
    fc.tuple(
      fc.constantFrom<Kind>(
        'admit',
        'admit',
        'admit',
        'admit',
        'succeed',
        'fail',
        'lose',
        'notStarted',
        'crash',
        'allow',
        'allow',
        'deny',
        'expire',
        'presence',
        'reconcile',
        'time',
      ),
      fc.nat(5),
    ),
    { maxLength: 60 },
  ),
});

class World {
  journal: Journal;
  now = 0;
  attended = true;
  reconciling = false;
  /** Decisions to allow a call that no dispatch has used up yet. */
  readonly decisions = new Map<string, number>();
  private readonly setup: Setup;

  constructor(given: Setup) {
    this.setup = given;
    this.journal = new Journal(
      given.calls.map(({ effect, exclusive }, index) => callOf(String(index), { effect, exclusive })),
    );
  }

  asks(call: CallRecord): boolean {
    return this.setup.calls[Number(call.callId)]?.asks === true;
  }

  get batch(): readonly CallRecord[] {
    return this.journal.batch('m1');
  }

  get facts(): BatchFacts {
    return {
      admission: (call): Admission =>
        !this.asks(call) ? { kind: 'free' } : this.attended ? { kind: 'ask' } : { kind: 'refuse', reason: 'alone' },
      isBeingReconciled: (call) => this.reconciling && call.state === 'inDoubt',
      parallelCalls: this.setup.parallelCalls,
      approvalMs: this.setup.approvalMs,
      now: this.now,
    };
  }

  do([kind, at]: readonly [Kind, number]): void {
    const call = this.batch[at % this.batch.length] as CallRecord;
    const step = (event: Parameters<typeof nextCallState>[1], from: readonly CallRecord['state'][]) => {
      if (from.includes(call.state)) this.journal.advance(call.callId, event, {});
    };
    if (kind === 'admit') admitCalls(this.journal, 'm1', this.facts);
    if (kind === 'succeed') step('call.succeeded', ['dispatched', 'inDoubt']);
    if (kind === 'fail') step('call.failed', ['dispatched', 'inDoubt']);
    if (kind === 'lose') step('call.lost', ['dispatched']);
    if (kind === 'notStarted') step('call.notStarted', ['inDoubt']);
    if (kind === 'allow' && decide(this.journal, call.callId, { allow: true, by: 'ann' }, this.now) === 'applied') {
      this.decisions.set(call.callId, 1);
    }
    if (kind === 'deny') decide(this.journal, call.callId, { allow: false, by: 'ann' }, this.now);
    if (kind === 'expire') expireApprovals(this.journal, 'm1', this.now);
    if (kind === 'presence') this.attended = !this.attended;
    if (kind === 'reconcile') this.reconciling = !this.reconciling;
    if (kind === 'time') this.now += at;
    if (kind === 'crash') {
      this.journal = new Journal(this.batch.map((record) => structuredClone(record)));
      this.journal.loseDispatched('crash');
      this.attended = false;
    }
  }
}

/** Plays the sequence and asks `check` after every step, with the calls as they were before it. */
function played(given: Setup, check: (world: World, before: readonly CallRecord[], kind: Kind) => void): World {
  const world = new World(given);
  for (const event of given.sequence) {
    const before = world.batch;
    world.do(event);
    check(world, before, event[0]);
  }
  return world;
}

/** Calls that this step handed to their tool. */
const startedIn = (world: World, before: readonly CallRecord[]): readonly (readonly [CallRecord, CallRecord])[] =>
  world.batch.flatMap((call, index) => {
    const old = before[index] as CallRecord;
    return call.dispatch > old.dispatch ? [[old, call] as const] : [];
  });

const everyLife = (check: Parameters<typeof played>[1]): void =>
  fc.assert(
    fc.property(setup, (given) => {
      played(given, check);
    }),
    { numRuns: 120 },
  );

describe('in every life of a batch', () => {
  it('no external call in doubt is dispatched, unless it became known that nothing started (I5)', () => {
    everyLife((world, before) => {
      for (const [old, call] of startedIn(world, before)) {
        if (call.effect === 'external') expect(old.state).not.toBe('inDoubt');
        expect(call.dispatch).toBe(old.dispatch + 1);
      }
    });
  });

  it('nothing starts beside an external call in doubt', () => {
    everyLife((world, before) => {
      if (before.some((call) => call.state === 'inDoubt' && call.effect === 'external')) {
        expect(startedIn(world, before)).toEqual([]);
      }
    });
  });

  it('one decision covers one dispatch, and a call that needs one never runs without (I6)', () => {
    everyLife((world, before) => {
      for (const [, { callId, ...call }] of startedIn(world, before)) {
        if (!world.asks({ callId, ...call })) continue;
        expect(world.decisions.get(callId)).toBe(1);
        world.decisions.set(callId, 0);
      }
    });
  });

  it('no more calls run than may, and none that exclude each other', () => {
    fc.assert(
      fc.property(setup, (given) => {
        played(given, (world) => {
          const running = world.batch.filter((call) => call.state === 'dispatched');
          expect(running.length).toBeLessThanOrEqual(given.parallelCalls);
          const names = running.flatMap(({ exclusive }) => exclusive ?? []);
          expect(new Set(names).size).toBe(names.length);
        });
      }),
      { numRuns: 120 },
    );
  });

  it('a call that was asked about is pending until somebody decides or its time is over (case C9)', () => {
    everyLife((world, before, kind) => {
      if (['allow', 'deny', 'expire'].includes(kind)) return;
      const pending = openDecisions(world.batch).map(({ callId }) => callId);
      for (const { callId } of openDecisions(before)) expect(pending).toContain(callId);
    });
  });

  it('every step is one of the chart, and a settled call stays as it is', () => {
    everyLife((world, before, kind) => {
      for (const [index, call] of world.batch.entries()) {
        const old = before[index] as CallRecord;
        if (isSettled(old)) expect(call).toEqual(old);
        if (call.state === old.state || kind === 'crash') continue;
        const events = ['call.dispatched', 'call.succeeded', 'call.failed', 'call.lost', 'call.notStarted'] as const;
        expect(events.map((event) => nextCallState(old.state, event, old.effect))).toContain(call.state);
      }
    });
  });

  it('its state says what it waits for, and a batch that is admitted never waits for nothing', () => {
    everyLife((world, _, kind) => {
      const { batch, facts } = world;
      const state = batchState(batch, facts);
      expect(state === 'settled').toBe(batch.every(isSettled));
      if (state === 'needsReview') expect(openDoubts(batch)).not.toEqual([]);
      if (state === 'needsDecision') expect(openDecisions(batch)).not.toEqual([]);
      if (state === 'open' && kind === 'admit') {
        const busy = batch.filter((call) => call.state === 'dispatched' || facts.isBeingReconciled(call));
        expect(busy).not.toEqual([]);
      }
    });
  });

  it('it ends once people decide and tools answer: no call is forgotten', () => {
    fc.assert(
      fc.property(setup, (given) => {
        const world = played(given, () => undefined);
        world.reconciling = false;
        for (let round = 0; round < 40 && batchState(world.batch, world.facts) !== 'settled'; round += 1) {
          admitCalls(world.journal, 'm1', world.facts);
          for (const { callId } of openDecisions(world.batch)) {
            if (decide(world.journal, callId, { allow: true, by: 'ann' }, world.now) === 'expired')
              world.do(['expire', 0]);
          }
          for (const call of world.batch) if (call.state === 'dispatched') world.do(['succeed', Number(call.callId)]);
          for (const call of openDoubts(world.batch)) world.do(['notStarted', Number(call.callId)]);
        }
        expect(batchState(world.batch, world.facts)).toBe('settled');
      }),
      { numRuns: 120 },
    );
  });
});
