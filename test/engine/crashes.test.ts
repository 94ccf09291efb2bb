// A process that dies at every commit of a turn, before it is applied and behind it, once and twice (I1, I5, case C5).
import { expect, it } from 'vitest';
import type { Head } from '../../src/index.js';
import { bootAndRecover, EFFECTS, mixedScript, mixedTools, Receiver, toRest } from './mixed-turn.js';
import type { Fate } from './process-store.js';
import { calm, until } from './waiting.js';
import { createWorld, hello, type World } from './world.js';

const DEATHS = ['dieBefore', 'dieAfter'] as const;

/** How many commits a turn makes that nothing happens to. */
const COMMITS = 7;

function start(deaths: ReadonlyMap<number, Fate>): { world: World; receiver: Receiver } {
  const world = createWorld();
  world.says(...Array.from({ length: 60 }, () => mixedScript));
  const receiver = new Receiver();
  const engine = world.boot({ tools: mixedTools(receiver) });
  world.process.store.fate = (nth) => deaths.get(nth) ?? 'pass';
  void engine.sendMessage({ ...hello, messageId: 'm1' }).catch(() => undefined);
  return { world, receiver };
}

async function finish(world: World, receiver: Receiver): Promise<void> {
  await until(async () => world.process.store.dead || isOver(await world.store.head('s')), 'it died or is over');
  if (world.process.store.dead) {
    await world.crash();
    await bootAndRecover(world, receiver);
  }
  // A message whose acceptance never became durable was never accepted: its sender sends it again.
  if ((await world.store.head('s')) === undefined)
    await world.process.engine.sendMessage({ ...hello, messageId: 'm1' });
  await toRest(world);
}

const isOver = (head: Head | undefined): boolean => head !== undefined && !head.inProgress;

async function expectOnce(world: World, receiver: Receiver): Promise<void> {
  expect(await world.head()).toMatchObject({ inProgress: false, ended: { kind: 'completed' } });
  expect([...receiver.landed].sort()).toEqual(EFFECTS);
  const messages = await world.messages();
  expect(messages.map(({ message }) => message.role).join(' ')).toBe(
    'user assistant tool assistant tool assistant tool assistant',
  );
  expect(await world.process.engine.reviews()).toEqual([]);
  expect(await world.store.markers('agent')).toEqual([]);
}

it('the turn of these tests makes as many commits as the tests think', async () => {
  const { world, receiver } = start(new Map());
  await finish(world, receiver);
  expect(world.process.store.commits).toBe(COMMITS);
  await expectOnce(world, receiver);
});

for (const death of DEATHS) {
  it(`a process that dies at any commit (${death}) loses no effect and doubles none`, async () => {
    for (let nth = 1; nth <= COMMITS; nth += 1) {
      const { world, receiver } = start(new Map([[nth, death]]));
      await finish(world, receiver);
      await expectOnce(world, receiver);
    }
  });
}

for (const death of DEATHS) {
  it(`the next process may die at any commit of the recovery as well (${death})`, async () => {
    for (let first = 1; first <= COMMITS; first += 1) {
      // What is left of the turn makes one commit fewer for each that was made, and one more for the attempt.
      for (let second = 1; second <= COMMITS + 1 - first; second += 1) {
        const { world, receiver } = start(new Map([[first, 'dieAfter']]));
        await until(() => world.process.store.dead, 'the first process died');
        await world.crash();
        const engine = world.boot({ tools: mixedTools(receiver) });
        world.process.store.fate = (nth) => (nth === second ? death : 'pass');
        void engine.recover().catch(() => undefined);
        await finish(world, receiver);
        await expectOnce(world, receiver);
      }
    }
  });
}

it('without anybody to ask, a kill at any commit leaves each external call done at most once', async () => {
  for (let nth = 1; nth <= COMMITS; nth += 1) {
    const { world, receiver } = start(new Map([[nth, 'dieAfter']]));
    await calm(60);
    await world.crash();
    const { reconcile: _none, ...mail } = mixedTools(receiver).mail as never as Record<string, unknown>;
    const engine = world.boot({ tools: { ...mixedTools(receiver), mail: mail as never } });
    await engine.recover();
    await calm(60);
    for (let round = 0; round < 10 && (await world.head()).inProgress; round += 1) {
      for (const { turnId, callId } of await engine.reviews()) {
        await engine.settleCall(turnId, callId, { outcome: 'failed', error: 'nobody knows', by: 'ann' });
      }
      await calm(30);
    }
    expect(await world.head()).toMatchObject({ inProgress: false, ended: { kind: 'completed' } });
    for (const effect of new Set(EFFECTS)) {
      const most = EFFECTS.filter((expected) => expected === effect).length;
      expect(receiver.landed.filter((landed) => landed === effect).length).toBeLessThanOrEqual(most);
    }
  }
});
