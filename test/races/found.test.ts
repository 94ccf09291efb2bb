// What the races found, each as the shortest order of events that showed it.
import { expect, it } from 'vitest';
import { calm, gate, within } from '../engine/waiting.js';
import { createWorld, hello } from '../engine/world.js';

it('recover() judges a turn by the head under its route: one that ends meanwhile is not held (I7)', async () => {
  const world = createWorld();
  const answered = gate();
  world.says(async () => {
    await answered.opened;
    return 'done';
  });
  const engine = world.boot();
  const turn = await engine.startTurn(hello);
  await calm();

  // The head is read while the driver is about to end, and the answer comes when it has.
  const { store } = world.process;
  const read = store.head;
  const slow = gate();
  store.head = async (sessionId) => {
    store.head = read;
    const head = await read(sessionId);
    await slow.opened;
    return head;
  };
  const recovered = engine.recover();
  await calm();
  answered.open();
  await within(turn.outcome);
  await calm();
  slow.open();

  expect(await within(recovered)).toMatchObject({ resumed: [], held: [], parked: [], abandoned: [] });
  expect(world.eventsOf('interrupted_turn_held')).toEqual([]);
});
