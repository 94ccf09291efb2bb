// Why: a checkpoint is read by a process that may be newer than the one that wrote it. XState accepts much that it does
// not know and starts in the initial state without a word; a turn that restarts in `setup` repeats everything (C6, C8).
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { turnMachine } from '../../machines/index.js';
import { CHECKPOINT_FORMAT, decodeCheckpoint } from '../../src/core/checkpoint.js';
import type { Json } from '../../src/core/json.js';
import type { Checkpoint } from '../../src/core/records.js';
import { phaseOf, step, type TurnSnapshot } from '../../src/core/step.js';
import { eventsOf, walkTurns } from '../machines/explore.js';
import { inPhase, PATH_TO, UNWATCHED } from '../machines/turn-runs.js';
import { json } from './arbitraries.js';
import { CHECKPOINT_FACTS as FACTS, type Loose, reasonOf, spoiled, stored } from './stored-checkpoints.js';

// The development build of XState says on the console what it cannot resolve; the answer is what counts here.
beforeEach(() => {
  vi.spyOn(console, 'warn').mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
});

const decode = (checkpoint: unknown) => decodeCheckpoint(turnMachine, checkpoint as Json);

const resting = walkTurns(UNWATCHED)
  .map(({ state }) => state)
  .filter(({ status }) => status === 'active');

/** The same snapshot, and a resume that goes on in the same phase. */
function comesBack(snapshot: TurnSnapshot): boolean {
  const decoded = decode(stored(snapshot));
  if (!decoded.ok) return false;
  const again = step(turnMachine, decoded.snapshot, { type: 'turn.resumed', limits: snapshot.context.limits });
  const same = (left: unknown, right: unknown) => JSON.stringify(left) === JSON.stringify(right);
  return (
    same(decoded.snapshot.value, snapshot.value) &&
    same(decoded.snapshot.context, snapshot.context) &&
    same(again?.next.value, snapshot.value) &&
    same(decoded.deadlines, FACTS.deadlines)
  );
}

describe('a checkpoint', () => {
  it('says what it is: format, machine, version, turn, revision, moment, deadlines, and plain data', () => {
    expect(stored(inPhase('awaitingLLM').snapshot)).toMatchObject({
      format: CHECKPOINT_FORMAT,
      machineId: 'turn',
      machineVersion: '1',
      ...FACTS,
      snapshot: { status: 'active', value: { running: { awaitingLLM: 'quiet' } }, children: {} },
    });
  });

  it('comes back in every state a turn can rest in, and resumes there (I14, case C6)', () => {
    expect(new Set(resting.map(phaseOf))).toEqual(new Set(Object.keys(PATH_TO)));
    expect(resting.filter((snapshot) => !comesBack(snapshot)).map(({ value }) => value)).toEqual([]);
  });

  it('comes back after any sequence of events (I14)', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1000), { maxLength: 25 }), (choices) => {
        let { snapshot } = inPhase('setup');
        for (const choice of choices) {
          const events = eventsOf(snapshot);
          const event = events[choice % events.length];
          const plan = event && step(turnMachine, snapshot, event);
          if (plan === undefined || plan.final) break;
          snapshot = plan.next;
        }
        expect(comesBack(snapshot)).toBe(true);
      }),
    );
  });

  it('of text that no store could keep is written well formed', () => {
    const plan = step(turnMachine, inPhase('awaitingLLM').snapshot, { type: 'stop.requested', reason: 'a\ud800' });
    expect(stored(plan?.next as TurnSnapshot)).toMatchObject({ snapshot: { context: { stopping: 'a\ufffd' } } });
  });
});

describe('a state that this machine does not have', () => {
  const value = (given: unknown) => spoiled(({ snapshot }) => (snapshot.value = given));
  const STATES: readonly [what: string, value: unknown][] = [
    ['nothing', undefined],
    ['null', null],
    ['an empty object', {}],
    ['a list', []],
    ['a number', 7],
    ['an unknown name', 'nowhere'],
    ['an unknown phase', { running: 'nowhere' }],
    ['a name of JavaScript', 'constructor'],
    ['a phase named like JavaScript', { running: 'constructor' }],
    ['__proto__', { running: '__proto__' }],
    ['the parent alone', 'running'],
    ['no phase', { running: {} }],
    ['two phases', { running: { setup: {}, executingTools: {} } }],
    ['two roots', { running: 'setup', completed: {} }],
    ['a child of a phase that has none (compound to atomic)', { running: { executingTools: 'quiet' } }],
    ['no child of a phase that has some (atomic to compound)', { running: 'awaitingLLM' }],
    ['an unknown child', { running: { awaitingLLM: 'loud' } }],
    ['two children', { running: { awaitingLLM: { quiet: {}, loud: {} } } }],
    ['two phases with children', { running: { awaitingLLM: 'quiet', forceStop: 'quiet' } }],
    ['the history state', { running: 'lastPhase' }],
    ['a state that a turn only passes', { running: 'injectingMessage' }],
    ['the other one', { running: 'recovering' }],
    ['a final state that says it is active', 'completed'],
    ['a cancelled turn that says it is active (I8)', 'cancelled'],
  ];
  it.each(STATES)('is refused: %s (case C8)', (_, given) => {
    expect(reasonOf(value(given))).not.toBe('ok');
  });

  it('is refused, whatever stands in the place of the value', () => {
    const known = new Set(resting.map((snapshot) => JSON.stringify(snapshot.value)));
    const name = fc.constantFrom(
      'running',
      'setup',
      'awaitingLLM',
      'quiet',
      'executingTools',
      'forceStop',
      'failed',
      'x',
    );
    const given = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        name,
        fc.dictionary(name, tie('value'), { maxKeys: 2, noNullPrototype: true }),
        json,
      ),
    })).value;
    fc.assert(
      fc.property(given, (mutated) => {
        expect(reasonOf(value(mutated)) === 'ok').toBe(known.has(JSON.stringify(mutated)));
      }),
      { numRuns: 200 },
    );
  });
});

describe('a snapshot that is not a turn at rest', () => {
  const SNAPSHOTS: readonly [what: string, change: (checkpoint: Loose) => void, reason: RegExp][] = [
    ['is missing', (c) => delete c.snapshot, /not active/],
    ['is a list', (c) => (c.snapshot = []), /not active/],
    ['is done', (c) => (c.snapshot.status = 'done'), /not active/],
    ['has failed', (c) => (c.snapshot.status = 'error'), /not active/],
    ['was stopped', (c) => (c.snapshot.status = 'stopped'), /not active/],
    ['has a child', (c) => (c.snapshot.children = { a: { src: 'x', snapshot: {} } }), /children/],
    ['has no list of children', (c) => delete c.snapshot.children, /children/],
    ['has no context', (c) => delete c.snapshot.context, /context is not valid: it is no object/],
    ['has a list for a context', (c) => (c.snapshot.context = []), /context is not valid: it is no object/],
    ['has no deadlines', (c) => delete c.deadlines, /deadlines/],
    ['has a deadline that is no moment', (c) => (c.deadlines = { a: null }), /deadlines/],
    ['has a text for deadlines', (c) => (c.deadlines = 'soon'), /deadlines/],
  ];
  it.each(SNAPSHOTS)('is refused where it %s', (_, change, reason) => {
    expect(reasonOf(spoiled(change))).toMatch(reason);
  });

  it('loses nothing with its history: it goes on in its phase, or is refused (case C6)', () => {
    const unknown = [{ id: 'gone' }];
    for (const historyValue of [
      undefined,
      null,
      {},
      { lastPhase: unknown },
      { lastPhase: 7 },
      { gone: unknown },
      'x',
    ]) {
      const decoded = decode(spoiled(({ snapshot }) => (snapshot.historyValue = historyValue)));
      if (!decoded.ok) continue;
      const again = step(turnMachine, decoded.snapshot, { type: 'turn.resumed', limits: UNWATCHED });
      expect([again?.phase, again?.effects]).toEqual(['executingTools', ['runCalls']]);
    }
  });
});

describe('decodeCheckpoint', () => {
  it('never throws, whatever is stored (I12)', () => {
    const place = fc.constantFrom('format', 'machineId', 'deadlines', 'snapshot');
    const inner = fc.constantFrom('value', 'context', 'children', 'historyValue', 'status', 'output', '_nodes');
    fc.assert(
      fc.property(json, place, inner, (given, outside, inside) => {
        expect(decode(given).ok).toBe(false);
        reasonOf(spoiled((checkpoint) => (checkpoint[outside as keyof Checkpoint] = given)));
        reasonOf(spoiled(({ snapshot }) => (snapshot[inside] = given)));
      }),
      { numRuns: 100 },
    );
  });
});
