// Why: two hundred sessions whose commits share a batch all go on when it is durable. In one go they would hold up
// everything else of the process, timers and sockets included, for as long as all of their next steps take together.
import { expect, it } from 'vitest';
import { commitAfter } from './fixtures.js';
import { inWorld } from './world.js';

it('the event loop turns between the sessions that one batch has made durable', () =>
  inWorld('memory', async (world) => {
    const store = await world.open();
    let turns = 0;
    const told: number[] = [];
    const count = (): void => {
      turns += 1;
      if (told.length < 40) setImmediate(count);
    };
    await Promise.all(
      Array.from({ length: 40 }, async (_, n) => {
        await store.commit(commitAfter(undefined, `s${n}`, { inProgress: false }));
        if (told.length === 0) setImmediate(count);
        told.push(turns);
      }),
    );
    const inOneGo = Math.max(...told.map((turn) => told.filter((other) => other === turn).length));
    expect(told).toHaveLength(40);
    expect(inOneGo).toBeLessThanOrEqual(8);
    await store.close();
  }));
