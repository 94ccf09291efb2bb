// Why (m): receivers tell a repetition from a new wish by its key alone. Two wishes with one key are one payment; one
// wish with two keys is paid twice. So the key follows what the model was shown, not how often a process died.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { identityOf, isSettled, Journal, keyOf, takeOrdinal } from '../../src/core/journal.js';
import type { Json } from '../../src/core/json.js';
import type { CallRecord } from '../../src/core/records.js';
import { callOf, smallJson } from './arbitraries.js';

interface Wish {
  readonly tool: string;
  readonly input: Json;
}

/** What becomes of a call, in the end. */
type Fate =
  | 'succeeds'
  | 'throws'
  | 'definitive'
  | 'refused'
  | 'doubtSucceeds'
  | 'doubtFails'
  | 'doubtRunsAgain'
  | 'stays';

const PAY: Wish = { tool: 'pay', input: { amount: 1 } };

/** The calls of a turn, as the engine reads them: ordinals are taken when an answer is read, before any of it runs. */
class Turn {
  readonly journal = new Journal([]);
  private batches = 0;

  ask(wishes: readonly Wish[]): readonly CallRecord[] {
    this.batches += 1;
    const taken = new Map<string, Set<number>>();
    return wishes.map(({ tool, input }, index) => {
      const identity = identityOf(tool, input);
      const ordinals = taken.get(identity) ?? new Set();
      const ordinal = takeOrdinal(this.journal.identicalTo(identity), ordinals);
      taken.set(identity, ordinals.add(ordinal));
      return callOf(`${this.batches}.${index}`, {
        messageId: `m${this.batches}`,
        toolName: tool,
        input,
        ordinal,
        effect: 'idempotent',
        idempotencyKey: keyOf('s.t', identity, ordinal),
      });
    });
  }

  run(calls: readonly CallRecord[], fates: readonly Fate[]): void {
    for (const call of calls) this.journal.add(call);
    for (const [index, { callId }] of calls.entries()) this.end(callId, fates[index] ?? 'succeeds');
  }

  /** One batch, and the keys its calls got. */
  keys(fates: readonly Fate[], ...wishes: readonly Wish[]): string[] {
    const calls = this.ask(wishes);
    this.run(calls, fates);
    return calls.map((call) => call.idempotencyKey);
  }

  private end(callId: string, fate: Fate): void {
    const step = (...events: Parameters<Journal['advance']>[1][]) => {
      for (const event of events) this.journal.advance(callId, event, {});
    };
    if (fate === 'refused') {
      step('call.failed');
      return;
    }
    step('call.dispatched');
    if (fate === 'succeeds') step('call.succeeded');
    if (fate === 'throws') step('call.failed');
    if (fate === 'definitive') this.journal.advance(callId, 'call.failed', { definitive: true });
    if (fate === 'doubtSucceeds') step('call.lost', 'call.succeeded');
    if (fate === 'doubtFails') step('call.lost', 'call.failed');
    if (fate === 'doubtRunsAgain') step('call.lost', 'call.dispatched', 'call.succeeded');
    if (fate === 'stays') step('call.lost');
  }
}

const first = keyOf('s.t', identityOf('pay', { amount: 1 }), 0);
const second = keyOf('s.t', identityOf('pay', { amount: 1 }), 1);
const third = keyOf('s.t', identityOf('pay', { amount: 1 }), 2);

describe('the key of a call', () => {
  it('is its own for each of two identical calls of one batch', () => {
    expect(new Turn().keys([], PAY, PAY)).toEqual([first, second]);
  });

  it('is kept by a call that is asked again after a thrown error, or after it was refused', () => {
    const turn = new Turn();
    expect(turn.keys(['throws'], PAY)).toEqual([first]);
    expect(turn.keys(['refused'], PAY)).toEqual([first]);
    expect(turn.keys(['succeeds'], PAY)).toEqual([first]);
  });

  it('is the next one after a success that the model was shown', () => {
    const turn = new Turn();
    expect(turn.keys(['succeeds'], PAY)).toEqual([first]);
    expect(turn.keys(['doubtSucceeds'], PAY)).toEqual([second]);
    expect(turn.keys(['doubtRunsAgain'], PAY)).toEqual([third]);
  });

  it('is the next one after a definitive failure: receivers remember failures by key', () => {
    const turn = new Turn();
    expect(turn.keys(['definitive'], PAY)).toEqual([first]);
    expect(turn.keys(['succeeds'], PAY)).toEqual([second]);
  });

  it('is kept by a call that is asked again after a doubt, so that it does not pay twice', () => {
    const turn = new Turn();
    expect(turn.keys(['doubtFails'], PAY)).toEqual([first]);
    expect(turn.keys(['stays'], PAY)).toEqual([first]);
    expect(turn.keys(['succeeds'], PAY)).toEqual([first]);
  });

  it('is counted from all calls of the turn, not from settled ones only', () => {
    const turn = new Turn();
    expect(turn.keys(['throws', 'succeeds'], PAY, PAY)).toEqual([first, second]);
    expect(turn.keys(['succeeds', 'succeeds'], PAY, PAY)).toEqual([first, third]);
  });

  it('is the same after a restart, which knows only what is stored', () => {
    const turn = new Turn();
    turn.keys(['succeeds', 'stays'], PAY, PAY);
    const restarted = new Journal([...turn.journal.all()].map((call) => structuredClone(call)));
    expect(takeOrdinal(restarted.identicalTo(identityOf('pay', { amount: 1 })), new Set())).toBe(1);
  });

  it('is another one for another turn, tool, input or ordinal, and always the same for the same', () => {
    const part = fc.record({
      turn: fc.constantFrom('s.t', 's.t2'),
      tool: fc.constantFrom('f', 'g', 'f\n0', '1'),
      input: smallJson,
      ordinal: fc.nat(2),
    });
    const made = ({ turn, tool, input, ordinal }: { turn: string; tool: string; input: Json; ordinal: number }) =>
      keyOf(turn, identityOf(tool, input), ordinal);
    const same = (a: object, b: object) => identityOf('', a as Json) === identityOf('', b as Json);
    fc.assert(
      fc.property(part, part, (a, b) => {
        expect(made(a) === made(b)).toBe(same(a, b));
        // One difference alone is enough.
        for (const other of [
          { ...a, turn: b.turn },
          { ...a, tool: b.tool },
          { ...a, ordinal: b.ordinal },
        ]) {
          expect(made(a) === made(other)).toBe(same(a, other));
        }
      }),
      { numRuns: 120 },
    );
  });

  it('does not depend on the order in which the model wrote the keys of its input', () => {
    expect(identityOf('f', { a: 1, b: 2 })).toBe(identityOf('f', { b: 2, a: 1 }));
  });
});

const wish = fc.constantFrom<Wish>(PAY, { tool: 'pay', input: { amount: 2 } }, { tool: 'mail', input: { amount: 1 } });
const fate = fc.constantFrom<Fate>(
  'succeeds',
  'throws',
  'definitive',
  'refused',
  'doubtSucceeds',
  'doubtFails',
  'doubtRunsAgain',
  'stays',
);
const batches = fc.array(fc.array(fc.tuple(wish, fate), { maxLength: 5 }), { maxLength: 8 });

describe('the keys of a turn, whatever happens in it', () => {
  it('are never given out again once they are used up, and never twice in one batch', () => {
    fc.assert(
      fc.property(batches, (history) => {
        const turn = new Turn();
        const usedUp = new Set<string>();
        for (const batch of history) {
          const calls = turn.ask(batch.map(([asked]) => asked));
          const keys = calls.map((call) => call.idempotencyKey);
          expect(new Set(keys).size).toBe(keys.length);
          expect(keys.filter((key) => usedUp.has(key))).toEqual([]);
          turn.run(
            calls,
            batch.map(([, end]) => end),
          );
          for (const call of turn.journal.all()) {
            if (call.state === 'succeeded' || call.definitive) usedUp.add(call.idempotencyKey);
          }
        }
      }),
      { numRuns: 120 },
    );
  });

  it('are the lowest that are free: a key that may be taken again is taken again', () => {
    fc.assert(
      fc.property(batches, (history) => {
        const turn = new Turn();
        for (const batch of history) {
          const known = [...turn.journal.all()];
          const calls = turn.ask(batch.map(([asked]) => asked));
          for (const [index, call] of calls.entries()) {
            const same = ({ toolName, input }: CallRecord) =>
              identityOf(toolName, input) === identityOf(call.toolName, call.input);
            for (let lower = 0; lower < call.ordinal; lower += 1) {
              const isUsedUp = known.some(
                (old) =>
                  same(old) && old.ordinal === lower && isSettled(old) && (old.state === 'succeeded' || old.definitive),
              );
              const isTaken = calls.slice(0, index).some((sibling) => same(sibling) && sibling.ordinal === lower);
              expect(isUsedUp || isTaken).toBe(true);
            }
          }
          turn.run(
            calls,
            batch.map(([, end]) => end),
          );
        }
      }),
      { numRuns: 120 },
    );
  });
});
