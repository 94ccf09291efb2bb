// What a tool may do when it is called: succeed, throw, be silent for too long, say that it does not know.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { DefinitiveFailure, type Json, OutcomeUnknown, type Tool } from '../../src/index.js';
import { openLevelStore } from '../../src/store/level-store.js';
import { calm, gate, isOpen, never, until, untilAborted, within } from './waiting.js';
import { act, calls, createWorld, hello, look, only } from './world.js';

it('a thrown error of a call with an effect tells the model that it may have happened', async () => {
  const world = createWorld();
  world.says(calls('look', 'put', 'send'));
  const boom = () => Promise.reject(new Error('boom'));
  const tools = { look: look(boom), put: act(boom, { effect: 'idempotent' }), send: act(boom) };
  await within((await world.boot({ tools }).startTurn(hello)).outcome);
  const may = 'The call failed, but it may have taken effect: check before you repeat it.';
  expect(await world.outputs()).toEqual([
    { type: 'error-text', value: 'boom' },
    { type: 'error-text', value: `${may}\nboom` },
    { type: 'error-text', value: `${may}\nboom` },
  ]);
});

it('a DefinitiveFailure tells the model only what the tool said', async () => {
  const world = createWorld();
  world.says(calls('send'));
  const tools = { send: act(() => Promise.reject(new DefinitiveFailure('card declined'))) };
  await within((await world.boot({ tools }).startTurn(hello)).outcome);
  expect(await world.outputs()).toEqual([{ type: 'error-text', value: 'card declined' }]);
});

it('an OutcomeUnknown puts the call in doubt at once: reconcile is asked, with its notes', async () => {
  const world = createWorld();
  world.says(calls('send'));
  const asked: unknown[] = [];
  const tools = {
    send: act(
      async (_input, { note }) => {
        await note({ tracking: 7 });
        throw new OutcomeUnknown('the line broke');
      },
      {
        reconcile: async (call) => {
          asked.push(call);
          return { outcome: 'succeeded', output: 'found it' };
        },
      },
    ),
  };
  await within((await world.boot({ tools }).startTurn(hello)).outcome);
  expect(asked).toMatchObject([{ cause: 'unknown', notes: [{ tracking: 7 }] }]);
  expect(await world.outputs()).toEqual([{ type: 'text', value: 'found it' }]);
});

it('an OutcomeUnknown without reconcile parks for a person in the first run as well', async () => {
  const world = createWorld();
  world.says(calls('send', 'other'));
  const tools = { send: act(() => Promise.reject(new OutcomeUnknown('?'))), other: act(() => 'done') };
  const engine = world.boot({ tools });
  const turn = await engine.startTurn(hello);
  expect(await within(turn.rest)).toMatchObject({ status: 'parked', phase: 'awaitingReview' });
  expect(await isOpen(turn.outcome)).toBe(true);
  const { callId } = only(await engine.reviews());
  await engine.settleCall(turn.turnId, callId, { outcome: 'succeeded', output: 'ok', by: 'ann' });
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
  expect(await world.outputs()).toEqual([
    { type: 'text', value: 'ok' },
    { type: 'text', value: 'done' },
  ]);
});

it('a note is durable when it resolves, and reaches reconcile after a crash', async () => {
  const world = createWorld();
  world.says(calls('send'));
  const noted = gate();
  const tools = {
    send: act(async (_input, { note }) => {
      await note({ about: 'to send' });
      await note('second');
      noted.open();
      return never();
    }),
  };
  await world.boot({ tools }).startTurn(hello);
  await within(noted.opened);
  expect(await world.calls()).toMatchObject([{ notes: [{ about: 'to send' }, 'second'] }]);
  let notes: unknown;
  const engine = await world.reboot({
    tools: {
      send: act(() => null, {
        reconcile: async (call) => {
          notes = call.notes;
          return { outcome: 'succeeded', output: null };
        },
      }),
    },
  });
  await within(only((await engine.recover()).resumed).outcome);
  expect(notes).toEqual([{ about: 'to send' }, 'second']);
});

const hanging = (more: Partial<Tool<Json>> = {}): Tool<Json> => act(() => never(), { timeoutMs: 1_000, ...more });

it('a call that takes too long: the model is told, and what may be repeated may have happened', async () => {
  const world = createWorld();
  world.says(calls('look', 'put'));
  const engine = world.boot({ tools: { look: hanging({ effect: 'none' }), put: hanging({ effect: 'idempotent' }) } });
  const turn = await engine.startTurn(hello);
  await until(() => world.runs.length === 2, 'both run');
  await world.advance(1_000);
  await within(turn.outcome);
  const [none, idempotent] = (await world.outputs()) as readonly { value: string }[];
  expect(none?.value).toBe('The call timed out after 1000 ms.');
  expect(idempotent?.value).toContain('it may have taken effect');
});

it('an external call that takes too long is asked about, and a person is where nobody knows', async () => {
  for (const known of [true, false]) {
    const world = createWorld();
    world.says(calls('send'));
    const causes: string[] = [];
    const reconcile: Tool<Json>['reconcile'] = async ({ cause }) => {
      causes.push(cause);
      return { outcome: 'succeeded', output: 'landed' };
    };
    const engine = world.boot({ tools: { send: hanging(known ? { reconcile } : {}) } });
    const turn = await engine.startTurn(hello);
    await until(() => world.runs.length === 1, 'it runs');
    await world.advance(1_000);
    if (known) expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
    else expect(await within(turn.rest)).toMatchObject({ status: 'parked', phase: 'awaitingReview' });
    expect(causes).toEqual(known ? ['timeout'] : []);
    expect(world.runs).toHaveLength(1);
  }
});

it('an external call that timed out stays in doubt although its tool rejects when its signal aborts', async () => {
  const world = createWorld();
  world.says(calls('send'));
  const engine = world.boot({
    tools: { send: act((_input, { signal }) => untilAborted(signal), { timeoutMs: 1_000 }) },
  });
  const turn = await engine.startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  await world.advance(1_000);
  expect(await within(turn.rest)).toMatchObject({ status: 'parked', phase: 'awaitingReview' });
  expect(await world.calls()).toMatchObject([{ state: 'inDoubt', doubt: 'timeout' }]);
});

async function storeInFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'durable-turn-time-outs-'));
  const store = await openLevelStore({ path: join(folder, 'turns') });
  onTestFinished(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return store;
}

for (const effect of ['external', 'idempotent', 'none'] as const) {
  for (const count of [2, 3]) {
    it(`${count} calls (${effect}) that time out together count once each, although their tools reject as well`, async () => {
      const world = createWorld(await storeInFolder());
      world.says(calls(...Array.from({ length: count }, () => 'send')));
      const causes: string[] = [];
      const reconcile: Tool<Json>['reconcile'] = async ({ cause }) => {
        causes.push(cause);
        return { outcome: 'succeeded', output: 'landed' };
      };
      const send = act((_input, { signal }) => untilAborted(signal), { effect, timeoutMs: 1_000, reconcile });
      const turn = await world.boot({ tools: { send } }).startTurn(hello);
      await world.rest();
      expect(world.runs).toHaveLength(count);
      // Everything else comes while the disk is busy with the first time-out, and is looked at together.
      const busy = gate();
      world.process.store.fate = () => busy.opened.then(() => 'pass');
      await world.advance(1_000);
      busy.open();
      expect(await turn.outcome).toMatchObject({ status: 'completed' });
      expect(world.runs).toHaveLength(count);
      expect(causes).toEqual(effect === 'external' ? Array(count).fill('timeout') : []);
      const told = effect === 'external' ? 'landed' : expect.stringContaining('The call timed out after 1000 ms.');
      expect((await world.outputs()).map((output) => 'value' in output && output.value)).toEqual(
        Array(count).fill(told),
      );
    });
  }
}

it('the time a tool may take is its own word, or the limit of the turn', async () => {
  const world = createWorld();
  world.says(calls('usual', ['own', { ms: 50 }]));
  const tools = {
    usual: act(() => never(), { effect: 'none' }),
    own: act(() => never(), { effect: 'none', timeoutMs: (input) => (input as { ms: number }).ms }),
  };
  const engine = world.boot({ tools, limits: { toolMs: 200 } });
  const turn = await engine.startTurn(hello);
  await until(() => world.runs.length === 2, 'both run');
  await world.advance(50);
  expect(world.runs.map(({ call }) => call.signal.aborted)).toEqual([false, true]);
  await world.advance(150);
  await within(turn.outcome);
  expect(JSON.stringify(await world.outputs())).toContain('timed out after 200 ms');
});

it('a result that comes late settles a call that is still in doubt with that dispatch, and the turn goes on', async () => {
  const world = createWorld();
  world.says(calls('send'));
  const result = gate<string>();
  const engine = world.boot({ tools: { send: act(() => result.opened, { timeoutMs: 1_000 }) } });
  const turn = await engine.startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  await world.advance(1_000);
  expect(await within(turn.rest)).toMatchObject({ status: 'parked' });
  result.open('it was only slow');
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
  expect(await world.outputs()).toEqual([{ type: 'text', value: 'it was only slow' }]);
  expect(await engine.reviews()).toEqual([]);
});

it('a note of a turn that is over or handed over is refused, so that nobody relies on it', async () => {
  for (const way of ['cancel', 'close'] as const) {
    const world = createWorld();
    world.says(calls('send'));
    const over = gate();
    let noted: Promise<unknown> = Promise.resolve();
    const send = act(async (_input, { note }) => {
      await over.opened;
      noted = note('too late').catch((thrown: unknown) => thrown);
      return noted.then(() => null);
    });
    const engine = world.boot({ tools: { send } });
    const turn = await engine.startTurn(hello);
    await until(() => world.runs.length === 1, 'it runs');
    if (way === 'cancel') await turn.cancel();
    else await engine.close({ graceMs: 0 });
    over.open();
    await calm();
    expect(await within(noted)).toMatchObject({ code: 'TURN_ENGINE_CLOSING' });
  }
});
