// Which calls of a batch run at the same time, and that the abort signal reaches every one of them (case C21).
import { expect, it } from 'vitest';
import { calm, gate, never, until, within } from './waiting.js';
import { act, calls, createWorld, hello, look, only } from './world.js';

it('no more calls run at the same time than the limit says, and every one gets its turn', async () => {
  const world = createWorld();
  world.says(calls(...Array.from({ length: 9 }, (_, n) => ['work', { n }] as const)));
  let running = 0;
  let most = 0;
  const work = act(async () => {
    running += 1;
    most = Math.max(most, running);
    await calm(3);
    running -= 1;
    return 'ok';
  });
  await within((await world.boot({ tools: { work }, limits: { parallelCalls: 3 } }).startTurn(hello)).outcome);
  expect(most).toBe(3);
  expect(world.runs.map(({ input }) => (input as { n: number }).n)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
});

it('calls that exclude each other never overlap, the others run beside them', async () => {
  const world = createWorld();
  world.says(calls(['edit', { file: 'a' }], ['edit', { file: 'b' }], ['edit', { file: 'a' }], 'other'));
  const open = gate<string>();
  const running: string[] = [];
  const edit = act(
    async (input) => {
      const { file } = input as { file: string };
      expect(running).not.toContain(file);
      running.push(file);
      await open.opened;
      running.splice(running.indexOf(file), 1);
      return 'ok';
    },
    { exclusive: (input) => (input as { file: string }).file },
  );
  const turn = await world.boot({ tools: { edit, other: look(() => 1) } }).startTurn(hello);
  await until(() => world.runs.length === 3, 'what may run runs');
  await calm();
  expect(world.runs.map(({ tool, input }) => [tool, input])).toEqual([
    ['edit', { file: 'a' }],
    ['edit', { file: 'b' }],
    ['other', {}],
  ]);
  open.open('go');
  await within(turn.outcome);
  expect(world.runs).toHaveLength(4);
});

it('outcomes that arrive together share a commit', async () => {
  const world = createWorld();
  world.says(calls(...Array.from({ length: 8 }, (_, n) => ['work', { n }] as const)));
  const open = gate<string>();
  const engine = world.boot({ tools: { work: act(() => open.opened) } });
  const turn = await engine.startTurn(hello);
  await until(() => world.runs.length === 8, 'all run');
  const before = world.process.store.commits;
  open.open('ok');
  await within(turn.outcome);
  // The outcomes in one or two, and the end of the turn.
  expect(world.process.store.commits - before).toBeLessThanOrEqual(3);
});

it('the abort signal reaches every tool that runs when the turn is cancelled (case C21)', async () => {
  const world = createWorld();
  world.says(calls('look', 'put', 'send'));
  const tools = {
    look: look(() => never()),
    put: act(() => never(), { effect: 'idempotent' }),
    send: act(() => never()),
  };
  const turn = await world.boot({ tools }).startTurn(hello);
  await until(() => world.runs.length === 3, 'all run');
  expect(world.runs.map(({ call }) => call.signal.aborted)).toEqual([false, false, false]);
  await turn.cancel();
  expect(world.runs.map(({ call }) => call.signal.aborted)).toEqual([true, true, true]);
});

it('the abort signal reaches tools of a recovered turn, those that run again and reconcile (case C21)', async () => {
  const world = createWorld();
  world.says(calls('put', 'send'));
  const stuck = { put: act(() => never(), { effect: 'idempotent' }), send: act(() => never()) };
  await world.boot({ tools: stuck }).startTurn(hello);
  await until(() => world.runs.length === 2, 'both run');
  await world.crash();
  let reconciling: AbortSignal | undefined;
  const engine = world.boot({
    tools: {
      put: act(() => never(), { effect: 'idempotent' }),
      send: act(() => never(), {
        reconcile: (_call, { signal }) => {
          reconciling = signal;
          return never();
        },
      }),
    },
  });
  const turn = only((await engine.recover()).resumed);
  await until(() => reconciling !== undefined, 'reconcile is asked');
  await calm();
  await turn.cancel();
  expect(reconciling?.aborted).toBe(true);
  for (const { call } of world.runs.filter(({ process }) => process === 2)) expect(call.signal.aborted).toBe(true);
});

it('the abort signal reaches the tool that takes too long, and no other (case C21)', async () => {
  const world = createWorld();
  world.says(calls('slow', 'slower'));
  const tools = { slow: look(() => never(), { timeoutMs: 10 }), slower: look(() => never(), { timeoutMs: 10_000 }) };
  const turn = await world.boot({ tools }).startTurn(hello);
  await until(() => world.runs.length === 2, 'both run');
  await world.advance(10);
  expect(world.runs.map(({ call }) => call.signal.aborted)).toEqual([true, false]);
  await turn.cancel();
});

it('the abort signal reaches the model when the turn is cancelled', async () => {
  const world = createWorld();
  let signal: AbortSignal | undefined;
  world.says((_request, call) => {
    signal = call.signal;
    return { hang: true };
  });
  const turn = await world.boot().startTurn(hello);
  await until(() => signal !== undefined, 'the model is asked');
  await turn.cancel();
  expect(signal?.aborted).toBe(true);
});
