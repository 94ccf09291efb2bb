// `durable-turn show` of sessions that an engine has written: outputs wherever they are stored, causes before what
// follows from them, and a person's word as a person reads it. The clock stands still, so that all moments are the same.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Level } from 'level';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createTurnEngine, jsonSchema, type Model, tool } from '../../src/index.js';
import { openLevelStore } from '../../src/store/level-store.js';
import { scriptedModel, simulatedClock } from '../../src/testing/index.js';
import { ranHere, toldHere } from './operate.js';

let scratch = '';
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), 'durable-turn-show-'));
});
afterEach(() => rmSync(scratch, { recursive: true, force: true }));

const clock = simulatedClock(1_700_000_000_000);
const send = tool({
  description: 'Sends.',
  input: jsonSchema({ type: 'object' }),
  effect: 'external',
  approval: 'required',
  unattended: 'park',
  execute: () => 'sent',
});

/** An engine on the folder, until the work is done. */
async function withEngine(model: Model, work: (engine: ReturnType<typeof createTurnEngine>) => Promise<unknown>) {
  const store = await openLevelStore({ path: scratch });
  const engine = createTurnEngine({ agent: 'a', store, clock, model, tools: { send } });
  await work(engine);
  await engine.close({ graceMs: 0 });
  await store.close();
}

/** A turn that asks for one call, which a person allows. */
const sent = () =>
  withEngine(
    scriptedModel((_, n) => (n === 0 ? { calls: [{ tool: 'send', input: { to: 'ann' } }] } : 'Ann knows.')),
    async (engine) => {
      const turn = await engine.startTurn({ sessionId: 's', input: 'mail', attended: true });
      await expect.poll(() => engine.approvals()).toHaveLength(1);
      const [approval] = await engine.approvals();
      await engine.decideApproval(approval?.id ?? '', { allow: true, by: 'me' });
      await turn.outcome;
    },
  );

it('shows the output of a call whose journal leaves it to the message of the transcript', async () => {
  await sent();
  const [{ calls }] = await toldHere('show', scratch, 's');
  expect(calls.map(({ output }: { output: unknown }) => output)).toEqual([{ type: 'text', value: 'sent' }]);
  expect((await ranHere('show', scratch, 's')).out).toContain('output  {"type":"text","value":"sent"}');
});

it('says of a settled call that its output is not there, where the message that has it is damaged', async () => {
  await sent();
  const level = new Level<string, Buffer>(scratch, { valueEncoding: 'buffer' });
  const messages = level.sublevel<string, Buffer>('message', { valueEncoding: 'buffer' });
  const [, , results = ''] = await messages.keys().all();
  await messages.put(results, Buffer.from('junk'));
  await level.close();
  const { code, out } = await ranHere('show', scratch, 's');
  expect([code, out]).toEqual([
    1,
    expect.stringMatching(/^ {4}output {2}not stored with its call, and its message is gone or damaged$/m),
  ]);
});

it('lists what falls on one millisecond in the order of cause and effect', async () => {
  await sent();
  const [{ timeline }] = await toldHere('show', scratch, 's');
  expect(new Set(timeline.map(({ at }: { at: number }) => at)).size).toBe(1);
  const ids = /s\.[\w-]+(\.\d+)*/g;
  expect(timeline.map(({ what }: { what: string }) => what.replaceAll(ids, 'ID'))).toEqual([
    'input: mail',
    'model: calls send {"to":"ann"}',
    'send ID was put to a person (allowed by me, used)',
    'send ID was dispatched',
    'send ID succeeded',
    'tool: send gave {"type":"text","value":"sent"}',
    'model: Ann knows.',
    'turn ID ended: completed',
  ]);
});

it('says of a used approval that it was allowed, and by whom', async () => {
  await sent();
  expect((await ranHere('show', scratch, 's')).out).toMatch(/^ {4}asked {3}allowed by me, used$/m);
});

it('calls a resume after a hand-over what it is, and tells it before what follows', async () => {
  await withEngine(scriptedModel([{ hang: true }]), async (engine) => {
    await engine.startTurn({ sessionId: 's', input: 'mail', attended: false });
    await expect.poll(async () => (await engine.session('s'))?.phase).toBe('setup');
  });
  const begun = (await ranHere('show', scratch, 's')).out;
  expect(begun.indexOf(' began')).toBeGreaterThan(0);
  expect(begun.indexOf(' began')).toBeLessThan(begun.lastIndexOf('input: mail'));
  await withEngine(scriptedModel(['Done.']), async (engine) => {
    const { resumed } = await engine.recover();
    await Promise.all(resumed.map(({ outcome }) => outcome));
  });
  const [{ timeline }] = await toldHere('show', scratch, 's');
  expect(timeline.map(({ what }: { what: string }) => what)).toEqual([
    'input: mail',
    'the turn was resumed, after a hand-over',
    'model: Done.',
    expect.stringContaining('ended: completed'),
  ]);
});
