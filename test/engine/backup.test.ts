// engine.backup(): what a service does while its turns run, and what it finds when it opens the copy.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTurnEngine, type TurnStore } from '../../src/index.js';
import { openLevelStore } from '../../src/store/level-store.js';
import { scriptedModel } from '../../src/testing/index.js';
import { gate, within } from './waiting.js';
import { act, createWorld, hello } from './world.js';

let scratch = '';
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), 'durable-turn-backup-'));
});
afterEach(() => rmSync(scratch, { recursive: true, force: true }));

describe('engine.backup', () => {
  it('copies a turn that runs; the copy resumes it where it was, while the original goes on', async () => {
    const started = gate();
    const sent = gate<string>();
    let runs = 0;
    const engineOn = (store: TurnStore) =>
      createTurnEngine({
        agent: 'agent',
        store,
        model: scriptedModel([{ calls: [{ tool: 'send', input: {} }] }, 'done']),
        tools: {
          send: act(
            () => {
              runs += 1;
              started.open();
              return sent.opened;
            },
            { reconcile: async () => ({ outcome: 'succeeded', output: 'found' }) },
          ),
        },
      });
    const store = await openLevelStore({ path: join(scratch, 'turns') });
    const engine = engineOn(store);
    const turn = await engine.startTurn(hello);
    await started.opened;

    const told: number[] = [];
    const copy = join(scratch, 'copy');
    const { records } = await engine.backup(copy, { onProgress: (progress) => told.push(progress.records) });
    expect(told.at(-1)).toBe(records);

    const restored = await openLevelStore({ path: copy });
    const second = engineOn(restored);
    const report = await second.recover();
    expect(report.resumed.map(({ turnId }) => turnId)).toEqual([turn.turnId]);
    // A disk takes as long as it takes: how often the event loop turns meanwhile says nothing.
    expect(await report.resumed[0]?.outcome).toMatchObject({ status: 'completed' });
    expect(runs).toBe(1);
    sent.open('sent');
    expect(await turn.outcome).toMatchObject({ status: 'completed' });
    for (const one of [engine, second]) await one.close();
    for (const one of [store, restored]) await one.close();
  });

  it('is made all the same where whoever watches it throws, and a warning says so', async () => {
    const store = await openLevelStore({ path: join(scratch, 'turns') });
    const engine = createTurnEngine({ agent: 'agent', store, model: scriptedModel([]) });
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve));
    const onProgress = (): void => {
      throw new Error('a bar that broke');
    };
    const copy = join(scratch, 'copy');
    expect((await engine.backup(copy, { onProgress })).records).toBeGreaterThan(0);
    expect((await within(warned)).message).toBe('onProgress threw: a bar that broke');
    await (await openLevelStore({ path: copy })).close();
    await engine.close();
    await store.close();
  });

  it('says what is wrong with its arguments, and that a store makes none', async () => {
    const store = await openLevelStore({ path: join(scratch, 'turns') });
    const engine = createTurnEngine({ agent: 'agent', store, model: scriptedModel([]) });
    await expect(engine.backup('')).rejects.toThrow('folder must be the path of a new folder.');
    await expect(engine.backup(join(scratch, 'turns'))).rejects.toThrow(/turns is not empty; name a new one/);
    await expect(engine.backup('x', { onprogress: () => {} } as object)).rejects.toThrow(/onprogress is unknown/);
    await engine.close();
    await store.close();
    // The store of this world stands for one of another make.
    const elsewhere = createWorld().boot();
    await expect(elsewhere.backup(join(scratch, 'copy'))).rejects.toThrow(/makes no backups/);
  });
});
