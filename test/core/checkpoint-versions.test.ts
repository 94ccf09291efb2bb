// Why: no version in persisted state gives odd errors deep in a restore, after a deploy, for every turn at once (case C8).
// What another version wrote is named as what it is, and migrated by the application or refused.
import { describe, expect, it } from 'vitest';
import { type TurnContext, turnMachine } from '../../machines/index.js';
import { turnSetup } from '../../machines/turn.setup.js';
import { decodeCheckpoint, type Migrate } from '../../src/core/checkpoint.js';
import type { Json } from '../../src/core/json.js';
import { mutantOf } from '../machines/chart.js';
import { inPhase, UNWATCHED } from '../machines/turn-runs.js';
import { reasonOf, spoiled, stored } from './stored-checkpoints.js';

describe('a context of another shape', () => {
  /** For each field of the context: values that an older or newer machine might have had there. */
  const WRONG: { readonly [name in keyof TurnContext]: readonly unknown[] } = {
    turnId: [undefined, null, 7],
    limits: [
      undefined,
      null,
      {},
      [],
      { ...UNWATCHED, toolMs: -1 },
      { ...UNWATCHED, toolMs: 1.5 },
      { ...UNWATCHED, x: 1 },
    ],
    cause: [
      undefined,
      'stop',
      {},
      { kind: 'weather' },
      { kind: 'constructor' },
      { kind: 'stop', more: 1 },
      { kind: 'modelError', error: 'network', reason: 'x' },
      { kind: 'modelError', error: 'network', reason: 7, retryAfterMs: null },
      { kind: 'modelFault' },
      { kind: 'policy', reason: null },
    ],
    modelFailures: [undefined, null, -1, 0.5, '0'],
    failingSince: [undefined, 'now', {}],
    failedAt: [undefined, 'now', {}],
    iterations: [undefined, null, -1, '3'],
    nudges: [undefined, null, {}, ['1'], [-1]],
    stopAsked: [undefined, 7, {}],
    stopping: [undefined, true, {}],
    compactedForLength: [undefined, null, 0, 'false'],
    pendingInput: [undefined, null, -1, []],
  };
  for (const [field, values] of Object.entries(WRONG)) {
    it(`is refused by the name of the field: ${field}`, () => {
      for (const wrong of values) {
        const checkpoint = spoiled(({ snapshot }) => {
          snapshot.context[field] = wrong;
          if (wrong === undefined) delete snapshot.context[field];
        });
        expect(reasonOf(checkpoint)).toBe(`the context is not valid: "${field}"`);
      }
    });
  }

  it('is refused for a field that this machine does not know: it comes from another version', () => {
    expect(reasonOf(spoiled(({ snapshot }) => (snapshot.context.later = 1)))).toBe('the context is not valid: later');
  });

  it('covers every field there is', () => {
    expect(Object.keys(WRONG).toSorted()).toEqual(Object.keys(inPhase('setup').snapshot.context).toSorted());
  });
});

describe('a checkpoint of another format or machine', () => {
  it.each([null, undefined, [], 'text', 7, {}])('is refused where it is none at all: %j', (nothing) => {
    expect(reasonOf(nothing)).toMatch(/there is no checkpoint|format undefined is unknown/);
  });

  it('is refused with what it is (case C8)', () => {
    expect(reasonOf(spoiled((c) => (c.format = 2)))).toBe('checkpoint format 2 is unknown');
    expect(reasonOf(spoiled((c) => (c.format = '1')))).toBe('checkpoint format "1" is unknown');
    expect(reasonOf(spoiled((c) => (c.machineId = 'mine')))).toBe('made by machine mine@1, this is turn@1');
    expect(reasonOf(spoiled((c) => (c.machineVersion = '0')))).toBe('made by machine turn@0, this is turn@1');
    expect(reasonOf(spoiled((c) => delete c.machineVersion))).toBe('made by machine turn@undefined, this is turn@1');
  });

  const second = mutantOf(turnMachine, turnSetup.createMachine, (config) => {
    config.version = '2';
  });
  const old = () => stored(inPhase('executingTools').snapshot);
  const decodeBy = (machine: typeof turnMachine, migrate: Migrate) =>
    decodeCheckpoint(machine, old() as unknown as Json, migrate);

  it('goes through the migration of the application, whose result is read as strictly', () => {
    const asked: unknown[] = [];
    const migrate: Migrate = (checkpoint, to) => {
      asked.push(checkpoint, to);
      return { ...checkpoint, machineVersion: '2' };
    };
    const decoded = decodeBy(second, migrate);
    expect(decoded.ok && decoded.snapshot.value).toEqual({ running: 'executingTools' });
    expect(asked).toEqual([old(), { machineId: 'turn', machineVersion: '2' }]);
    const broken: Migrate = (checkpoint) => ({ ...checkpoint, snapshot: { status: 'active', children: {} } });
    expect(decodeBy(second, broken)).toMatchObject({ ok: false, reason: expect.stringContaining('context') });
  });

  it('is not migrated where it is of this machine and version', () => {
    const never: Migrate = () => {
      throw new Error('there is nothing to migrate');
    };
    expect(decodeBy(turnMachine, never).ok).toBe(true);
  });

  it('is refused where the migration cannot, throws, or gives nonsense (case C8)', () => {
    expect(decodeBy(second, () => undefined)).toMatchObject({
      ok: false,
      reason: expect.stringContaining('turn@2'),
    });
    const throwing: Migrate = () => {
      throw new Error('no such field');
    };
    expect(decodeBy(second, throwing)).toEqual({
      ok: false,
      reason: 'the checkpoint cannot be restored: no such field',
    });
    for (const nonsense of [null, 7, 'x', [], {}]) {
      expect(decodeBy(second, () => nonsense as never).ok).toBe(false);
    }
  });
});
