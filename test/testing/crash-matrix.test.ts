// The crash matrix over agents that are right, and over agents that are wrong in one way each.
import { describe, expect, it } from 'vitest';
import { DefinitiveFailure, type Json, type Tool, type TurnEngine } from '../../src/index.js';
import { memoryStore } from '../../src/store/level-store.js';
import {
  type CrashMatrixOptions,
  type CrashReport,
  crashMatrix,
  ledger,
  type ScriptedAnswer,
  scriptedModel,
} from '../../src/testing/index.js';
import { Bank, engineWith, matrixOf, payTool, SHOPPING } from './shop.js';

const run = async (
  changes: Parameters<typeof payTool>[1],
  more: Partial<CrashMatrixOptions> = {},
): Promise<CrashReport> => {
  const bank = new Bank();
  return crashMatrix(matrixOf(bank, { pay: payTool(bank, changes) }, more));
};

describe('an agent that is right', () => {
  it('loses and doubles nothing at any point, at any pair of points and at random ones', async () => {
    const report = await run(
      {},
      { points: 'pairs', random: 40, expect: { outcome: 'completed', effects: { pay: 1 } } },
    );
    expect(report, String(report)).toMatchObject({ doubled: {}, lost: {}, parked: {}, failures: 0 });
    expect(report.firstFailure).toBeUndefined();
    expect(report.outcomes).toEqual({ completed: report.schedules });
    expect(report.effects).toEqual({ pay: 2 * report.schedules });
    // Six writes at least, each with two points, and two effects; and ever fewer behind each of them.
    expect(report.schedules).toBeGreaterThan(100);
    expect(report.crashes).toBeGreaterThan(1.5 * report.schedules);
    expect(String(report)).toMatch(
      /^\d+ schedules, \d+ crashes, 0 failures; seed "1"\ntool +effects +doubled +lost +parked\npay +\d+ +0 +0 +0\n/,
    );
  });

  it('may wait for a person in the middle, who decides whenever it is asked', async () => {
    const report = await run(
      { approval: 'required', unattended: 'park' },
      {
        expect: { outcome: 'completed' },
        scenario: async (engine: TurnEngine) => {
          await engine.recover();
          const input = { sessionId: 's', messageId: 'm1', input: 'buy', attended: true };
          const { turn } = await engine.sendMessage(input);
          let rest = await turn.rest;
          while (rest.status === 'parked') {
            for (const { id } of await engine.approvals()) await engine.decideApproval(id, { allow: true, by: 'ann' });
            rest = await (engine.activeTurn('s') ?? (await engine.sendMessage(input)).turn).rest;
          }
          return rest;
        },
      },
    );
    expect(report, String(report)).toMatchObject({ doubled: {}, lost: {}, parked: {}, failures: 0 });
    expect(report.schedules).toBeGreaterThan(12);
  });

  it('has a first process that dies once at every point', async () => {
    const report = await run({});
    expect(report.crashes).toBe(report.schedules);
    expect(report.failures, String(report)).toBe(0);
  });
});

describe('an agent that is wrong', () => {
  it('pays twice where its receiver ignores the key of an idempotent call', async () => {
    const report = await run({ effect: 'idempotent' });
    expect(report.doubled.pay).toBeGreaterThan(0);
    expect(report).toMatchObject({ lost: {}, parked: {} });
    expect(report.firstFailure?.reason).toMatch(/^pay: \d doubled$/);
  });

  it('pays twice where reconcile does not look', async () => {
    const report = await run({ reconcile: async () => ({ outcome: 'notStarted' }) });
    expect(report.doubled.pay).toBeGreaterThan(0);
    expect(report.lost).toEqual({});
  });

  it('never pays where reconcile takes every call for landed', async () => {
    const report = await run({ reconcile: async () => ({ outcome: 'succeeded', output: 'surely' }) });
    expect(report.lost.pay).toBeGreaterThan(0);
    expect(report.doubled).toEqual({});
  });

  it('leaves calls to a person where it has no reconcile, which is neither lost nor doubled', async () => {
    const report = await run({ reconcile: undefined } as never, { expect: { outcome: 'completed' } });
    expect(report.parked.pay).toBeGreaterThan(0);
    expect(report, String(report)).toMatchObject({ doubled: {}, lost: {}, failures: 0 });
    expect(report.outcomes.parked).toBeGreaterThan(0);
  });

  it('pays twice under two keys where it makes keys of its own', async () => {
    const bank = new Bank();
    let keys = 0;
    const pay = payTool(bank, { effect: 'idempotent', execute: () => bank.charge(`own ${++keys}`) });
    const report = await crashMatrix(matrixOf(bank, { pay }));
    expect(report.doubled.pay).toBeGreaterThan(0);
  });

  describe('doubles one call and loses another of the same tool, in one schedule', () => {
    const isSmall = (input: unknown): boolean => (input as { cents: number }).cents === 500;
    /** The smaller sum is always paid again, the larger one never looked for. */
    const reconcile: Tool<Json>['reconcile'] = async ({ input }) =>
      isSmall(input) ? { outcome: 'notStarted' } : { outcome: 'succeeded', output: 'paid' };
    /** The smaller sum is paid when the process dies; of the larger one it has only noted that it will be. */
    const between = { seed: 'crash at effect 1' };
    const reason = 'pay: 1 doubled, pay: 1 lost';

    it('under keys of its own, which are told apart by the detail they are recorded with', async () => {
      const bank = new Bank();
      let keys = 0;
      const execute: Tool<Json>['execute'] = async (input, { note }) => {
        if (!isSmall(input)) await note('about to pay');
        await bank.book.record('pay', `own ${++keys}`, input);
        return 'paid';
      };
      const report = await crashMatrix(matrixOf(bank, { pay: payTool(bank, { execute, reconcile }) }, between));
      expect(report.firstFailure?.reason, String(report)).toBe(reason);
    });

    it('under keys of the engine, where the model asks again for what it is told has not happened', async () => {
      const bank = new Bank();
      let runs = 0;
      const execute: Tool<Json>['execute'] = async (input, { idempotencyKey, note, recovered }) => {
        if (!isSmall(input)) await note('about to pay');
        else if (recovered && ++runs === 1) throw new DefinitiveFailure('refused');
        await bank.book.record('pay', idempotencyKey);
        return 'paid';
      };
      const model = () =>
        scriptedModel(({ messages }) => {
          if (messages.every(({ role }) => role !== 'assistant')) return SHOPPING[0] as ScriptedAnswer;
          const last = JSON.stringify(messages.findLast(({ role }) => role === 'tool'));
          return last.includes('refused') ? { calls: [{ tool: 'pay', input: { cents: 500 } }] } : 'paid';
        });
      const pay = payTool(bank, { execute, reconcile });
      const report = await crashMatrix(matrixOf(bank, { pay }, { ...between, model }));
      expect(new Set(bank.book.entries.slice(-2).map(({ key }) => key)).size).toBe(2);
      expect(report.firstFailure?.reason, String(report)).toBe(reason);
    });
  });

  it('loses the second half of a tool that dies between its two effects', async () => {
    const bank = new Bank();
    const pay = payTool(bank, {
      execute: async (_input, { idempotencyKey }) => {
        const id = await bank.charge(idempotencyKey);
        await bank.book.record('receipt', idempotencyKey);
        return id;
      },
    });
    const report = await crashMatrix(matrixOf(bank, { pay }));
    expect(report.lost.receipt).toBeGreaterThan(0);
    expect(report).toMatchObject({ doubled: {} });
    expect(report.lost.pay).toBeUndefined();
    expect(report.firstFailure?.at).toMatch(/^process 1 dies at effect \d$/);
  });

  it('buys twice where the message that is sent again has another id', async () => {
    const report = await run(
      {},
      {
        scenario: async (engine: TurnEngine) => {
          await engine.recover();
          return (await engine.sendMessage({ sessionId: 's', input: 'buy', attended: true })).turn.outcome;
        },
        model: () =>
          scriptedModel(({ messages }) => {
            const asked = messages.findLastIndex(({ role }) => role === 'user');
            return messages.slice(asked).some(({ role }) => role === 'assistant') ? 'paid' : (SHOPPING[0] as never);
          }),
      },
    );
    expect(report.doubled.pay).toBeGreaterThan(0);
  });

  it('does what it never should', async () => {
    await expect(run({}, { expect: { effects: { pay: 0 } } })).rejects.toThrow('Without any crash, pay: 2 doubled.');
  });

  it('ends otherwise than it should', async () => {
    const report = await run(
      {},
      {
        // The bank of this engine has a ledger that nobody looks at.
        expect: { outcome: 'completed', effects: {} },
        createEngine: (world) => {
          const bank = new Bank();
          return engineWith(world, { pay: payTool(bank) }, { recovery: { stalenessMs: 1 } });
        },
      },
    );
    expect(report.outcomes.abandoned).toBeGreaterThan(0);
    expect(report.firstFailure?.reason).toContain('the outcome is abandoned');
  });
});

describe('the first failure', () => {
  it('has a timeline of what was written, asked and done, and runs again by its seed, alone', async () => {
    const report = await run({ effect: 'idempotent' }, { points: 'single' });
    const { seed, timeline, at } = report.firstFailure ?? { seed: '', timeline: '', at: '' };
    expect(timeline).toContain('process 1  asks the model');
    expect(timeline).toMatch(/process 1 {2}commits s: .*pay dispatched/);
    expect(timeline).toMatch(/process 1 {2}EFFECT pay /);
    expect(timeline).toMatch(/process 1 {2}DIES at /);
    expect(timeline).toMatch(/process 2 {2}EFFECT pay /);
    expect(String(report)).toContain(`${at}; run it alone with seed: "${seed}"\n${timeline}`);
    const again = await run({ effect: 'idempotent' }, { seed });
    expect(again).toMatchObject({ schedules: 1, failures: 1 });
    expect(again.firstFailure).toMatchObject({ at, reason: report.firstFailure?.reason });
    expect((await run({}, { seed })).failures).toBe(0);
  });

  it('is the same for the same seed of random schedules', async () => {
    const schedules = async (seed: string) => String(await run({ effect: 'idempotent' }, { random: 15, seed }));
    const withoutKeys = (text: string) => text.replaceAll(/EFFECT pay \S+/g, '');
    const first = await schedules('7');
    expect(withoutKeys(first)).toBe(withoutKeys(await schedules('7')));
    // A draw of one crash has been run before.
    const drawn = Number(/^\d+/.exec(first)?.[0]) - (await run({ effect: 'idempotent' })).schedules;
    expect(drawn).toBeGreaterThan(0);
    expect(drawn).toBeLessThan(15);
  });
});

describe('a scenario that cannot be judged', () => {
  it('is refused where it is wrong without a crash', async () => {
    await expect(run({}, { expect: { outcome: 'failed' } })).rejects.toThrow(
      'Without any crash, the outcome is completed',
    );
    await expect(run({}, { expect: { effects: { mail: 1, pay: 2 } } })).rejects.toThrow(
      'Without any crash, pay: 2 lost',
    );
    const scenario = async () => {
      throw new Error('no such session');
    };
    await expect(run({}, { scenario })).rejects.toThrow(/the outcome is threw.*\n.*THROWS Error: no such session/s);
  });

  it('is stuck when it never ends', async () => {
    const scenario = () => new Promise(() => undefined);
    const reason = /the outcome is stuck.*IS STUCK: nothing happens any more/s;
    await expect(run({}, { scenario })).rejects.toThrow(reason);
    await expect(run({}, { scenario, realTime: true, timeoutMs: 50 })).rejects.toThrow(reason);
  });

  it('is stuck when it goes on without end', async () => {
    const scenario = async (engine: TurnEngine) => {
      for (let n = 0; ; n += 1) {
        await (await engine.sendMessage({ sessionId: `s${n}`, input: 'buy', attended: true })).turn.outcome;
      }
    };
    const model = () => scriptedModel(() => 'bought');
    await expect(run({}, { scenario, model })).rejects.toThrow(
      /the outcome is stuck.*IS STUCK: it goes on without end/s,
    );
  });

  it('is not stuck on a machine that is slow', async () => {
    const model = () =>
      scriptedModel((_request, modelCall) => {
        for (const until = performance.now() + 20; performance.now() < until; );
        return SHOPPING[modelCall] ?? 'paid';
      });
    const report = await run({}, { model, timeoutMs: 1, seed: 'crash at effect 1' });
    expect(report, String(report)).toMatchObject({ failures: 0, outcomes: { completed: 1 } });
  });

  it('is a failure of the schedule where a crash makes it throw', async () => {
    let starts = 0;
    const report = await run(
      {},
      {
        seed: 'crash at write 3 behind',
        scenario: async (engine: TurnEngine) => {
          starts += 1;
          if (starts === 3) throw new Error('not twice');
          await engine.recover();
          const { turn } = await engine.sendMessage({ sessionId: 's', messageId: 'm1', input: 'buy', attended: true });
          return turn.rest;
        },
      },
    );
    expect(report.outcomes).toEqual({ threw: 1 });
    expect(report.firstFailure?.timeline).toContain('THROWS Error: not twice');
  });
});

describe('a matrix that is made wrongly', () => {
  it('is refused where the engine is not made of the store it was given: its memory would outlive every crash', async () => {
    const bank = new Bank();
    const createEngine: CrashMatrixOptions['createEngine'] = (world) =>
      engineWith({ ...world, store: memoryStore() }, { pay: payTool(bank) });
    await expect(crashMatrix(matrixOf(bank, {}, { createEngine }))).rejects.toThrow(
      'Without any crash, nothing was written to the `store` that `createEngine` was given',
    );
  });

  it('is refused where the scenario gives the turn and not how it rests or ends: nothing was waited for', async () => {
    const refused = 'Without any crash, the scenario gave no status: let it return `turn.rest` or `turn.outcome`';
    for (const given of [(turn: unknown) => turn, () => undefined]) {
      const scenario = async (engine: TurnEngine) => {
        await engine.recover();
        return given((await engine.sendMessage({ sessionId: 's', messageId: 'm', input: 'buy', attended: true })).turn);
      };
      for (const expected of [{}, { outcome: 'completed' as const }]) {
        await expect(run({}, { scenario, expect: expected })).rejects.toThrow(refused);
      }
    }
  });
});

describe('a matrix in which nothing would be tested', () => {
  const silent = (more: Partial<CrashMatrixOptions> = {}) => {
    const bank = new Bank();
    const pay = { ...payTool(bank), execute: async () => 'paid' };
    return crashMatrix(matrixOf(bank, { pay }, more));
  };

  it('is refused where no tool records an effect, unless it is said that none does', async () => {
    const refused = 'Without any crash, no effect was recorded: call `ledger.record()`';
    await expect(silent()).rejects.toThrow(refused);
    await expect(silent({ expect: { effects: { pay: 1 } } })).rejects.toThrow(refused);
    for (const effects of [{}, { pay: 0 }]) {
      expect(await silent({ expect: { effects } })).toMatchObject({ effects: {}, failures: 0 });
    }
  });

  it('is refused where no process comes to the point that the seed names', async () => {
    await expect(run({}, { seed: 'crash at effect 99' })).rejects.toThrow(
      /no process came to the first point of "crash at effect 99".*there are: write 1 before, write 1 behind/s,
    );
    expect(await run({}, { seed: 'crash at effect 1, effect 99' })).toMatchObject({ schedules: 1, crashes: 1 });
  });
});

it('names the option that is wrong', async () => {
  const right = matrixOf(new Bank(), {});
  const wrong = (options: object) => crashMatrix({ ...right, ...options } as CrashMatrixOptions);
  await expect(wrong({ scenarios: 1 })).rejects.toThrow('scenarios is unknown; there are createEngine, model,');
  await expect(wrong({ scenario: undefined })).rejects.toThrow('crashMatrix needs scenario, a function.');
  await expect(wrong({ ledger: {} })).rejects.toThrow('ledger must be one that ledger() made.');
  await expect(wrong({ points: 'pair' })).rejects.toThrow("points must be 'single' or 'pairs'.");
  await expect(wrong({ random: -1 })).rejects.toThrow('random must be a whole number');
  await expect(wrong({ seed: 42 })).rejects.toThrow("seed must be a text, as '42'.");
  await expect(wrong({ realTime: 'yes' })).rejects.toThrow('realTime must be true or false.');
  await expect(wrong({ expect: { effect: {} } })).rejects.toThrow(
    'expect.effect is unknown; there are outcome, effects.',
  );
  await expect(wrong({ expect: { outcome: 'complete' } })).rejects.toThrow(
    'expect.outcome must be one of completed, stopped, failed, cancelled, abandoned.',
  );
  await expect(wrong({ model: () => undefined })).rejects.toThrow(
    new TypeError('model must give a model: an object with id and call.'),
  );
  await expect(wrong({ timeoutMs: 0 })).rejects.toThrow('timeoutMs must be');
  await expect(wrong({ seed: 'crash at noon' })).rejects.toThrow('seed: "noon" is no crash point');
  await expect(crashMatrix(undefined as never)).rejects.toThrow('crashMatrix needs an options object.');
});

it('a ledger counts by tool, keeps what it was told, and refuses what is no key', async () => {
  const book = ledger();
  await book.record('pay', 'k1', { cents: 5 });
  await book.record('pay', 'k1');
  await book.record('mail', 'k2');
  expect(book.counts()).toEqual({ pay: 2, mail: 1 });
  expect(book.entries[0]).toEqual({ tool: 'pay', key: 'k1', detail: { cents: 5 } });
  expect(() => book.record('pay', undefined as never)).toThrow('record(tool, key) takes two strings.');
});
