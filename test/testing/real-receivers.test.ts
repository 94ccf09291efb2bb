// The crash matrix over tools that talk to a receiver by HTTP and wait on real timers.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Tool } from '../../src/index.js';
import { crashMatrix, type Ledger, scriptedModel } from '../../src/testing/index.js';
import { anything, Bank, matrixOf, payTool, SHOPPING } from './shop.js';

let server: Server;
let address: string;
let book: Ledger;
/** Keys that took effect; the receiver itself knows nothing of crashes. */
const known = new Set<string>();

beforeAll(async () => {
  server = createServer((request, response) => {
    const key = request.url?.slice(1) ?? '';
    if (request.method === 'POST') {
      known.add(key);
      void book.record('pay', key);
    }
    response.end(JSON.stringify(known.has(key)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const post = async (key: string): Promise<string> => {
  await sleep(2);
  await (await fetch(`${address}/${key}`, { method: 'POST' })).text();
  await sleep(2);
  return key;
};

const right: Tool = {
  description: 'Pays by HTTP.',
  input: anything,
  effect: 'external',
  execute: (_input, { idempotencyKey }) => post(idempotencyKey),
  reconcile: async ({ idempotencyKey }) =>
    (await (await fetch(`${address}/${idempotencyKey}`)).json()) === true
      ? { outcome: 'succeeded', output: idempotencyKey }
      : { outcome: 'notStarted' },
};

for (const realTime of [true, false]) {
  describe(`in ${realTime ? 'real' : 'simulated'} time, with fetch, timers and a receiver that records`, () => {
    const matrix = async (pay: Tool) => {
      const bank = new Bank();
      book = bank.book;
      const expected = { outcome: 'completed', effects: { pay: 1 } } as const;
      // A back-off would be waited for in real time.
      const model = () => scriptedModel(SHOPPING.filter((answer) => typeof answer === 'string' || !('fail' in answer)));
      return crashMatrix(matrixOf(bank, { pay }, { realTime, expect: expected, model }));
    };

    it('a right tool loses and doubles nothing', async () => {
      const report = await matrix(right);
      expect(report, String(report)).toMatchObject({ doubled: {}, lost: {}, parked: {}, failures: 0 });
      expect(report.crashes).toBe(report.schedules);
    });

    it('a tool that is sent again is caught', async () => {
      const report = await matrix({ ...right, effect: 'idempotent' });
      expect(report.doubled.pay).toBeGreaterThan(0);
      expect(report.lost).toEqual({});
    });
  });
}

it('what a dead process still sends has landed before the next one asks', async () => {
  const bank = new Bank();
  const slow = payTool(bank, {
    execute: async (_input, { idempotencyKey }) => {
      await sleep(60);
      return bank.charge(idempotencyKey);
    },
  });
  const model = () =>
    scriptedModel([
      {
        calls: [
          { tool: 'pay', input: {} },
          { tool: 'slow', input: {} },
        ],
      },
      'paid',
    ]);
  const report = await crashMatrix(matrixOf(bank, { pay: payTool(bank), slow }, { realTime: true, model }));
  expect(report, String(report)).toMatchObject({ doubled: {}, lost: {}, failures: 0 });
});

it('an effect that nobody waited for counts in its own schedule, and in no other', async () => {
  const bank = new Bank();
  const pay = payTool(bank, {
    execute: (_input, { idempotencyKey }) => {
      void sleep(40).then(() => bank.charge(idempotencyKey));
      return 'sent';
    },
  });
  // A process is over before it lands only where nothing waits for real work.
  const model = () => scriptedModel([{ calls: [{ tool: 'pay', input: {} }] }, 'paid']);
  const report = await crashMatrix(matrixOf(bank, { pay }, { realTime: true, model }));
  expect(report, String(report)).toMatchObject({ doubled: {}, lost: {}, failures: 0 });
  expect(report.effects).toEqual({ pay: report.schedules });
});
