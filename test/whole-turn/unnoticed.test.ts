// What no test noticed when the code was broken on purpose (test/mutations): each of these sees one such break.
import { expect, it } from 'vitest';
import { calm, gate, never, within } from '../engine/waiting.js';
import { act, calls, createWorld, HOUR_MS, hello, only } from './world.js';

it('starting a call again is no progress: a turn that dies over it each time is abandoned', async () => {
  const world = createWorld();
  world.says(calls('put'));
  const tools = { put: act(() => never(), { effect: 'idempotent' }) };
  await world.boot({ tools }).startTurn(hello);
  await calm();
  for (let n = 0; n < 3; n += 1) {
    await (await world.reboot({ tools })).recover();
    await calm();
  }
  expect(world.runsOf('put')).toHaveLength(4);
  const { abandoned } = await (await world.reboot({ tools })).recover();
  expect(only(abandoned).gate).toBe('attempts');
});

it('an abandoned turn lists what its process was running when it died', async () => {
  const world = createWorld();
  world.says(calls('mail'));
  const tools = { mail: act(() => never()) };
  await world.boot({ tools }).startTurn(hello);
  await calm();
  await world.crash();
  await world.advance(5 * HOUR_MS);
  const engine = await world.reboot({ tools });
  expect((await engine.recover()).abandoned).toHaveLength(1);
  expect(only(await engine.reviews()).toolName).toBe('mail');
});

it('whoever waits for a route and has nothing left to do leaves it to the next', async () => {
  const world = createWorld();
  const answered = gate();
  world.says(async () => {
    await answered.opened;
    return 'done';
  });
  const engine = world.boot();
  const on = { ...hello, routeKey: 'r' };
  await engine.startTurn({ ...on, sessionId: 'a' });
  await engine.sendMessage({ ...on, sessionId: 'b', messageId: 'takenBack' });
  const { turn } = await engine.sendMessage({ ...on, sessionId: 'c' });
  world.takenOut.add('takenBack');
  await engine.withdrawMessage('b', 'takenBack');
  answered.open();
  expect((await within(turn.outcome)).status).toBe('completed');
});

it('a checkpoint that is of another turn is not resumed', async () => {
  const world = createWorld();
  world.says({ hang: true });
  await world.boot().startTurn(hello);
  await calm();
  const engine = await world.reboot();
  const { store } = world.process;
  const load = store.load;
  store.load = async (sessionId) => {
    const session = structuredClone(await load(sessionId));
    const { snapshot } = (session as { checkpoint: unknown }).checkpoint as {
      snapshot: { context: { turnId: string } };
    };
    snapshot.context.turnId = 's.another';
    return session;
  };
  expect(only((await engine.recover()).abandoned)).toMatchObject({ gate: 'checkpoint' });
});
