// What lies in the database of sessions that lived, whole lives of which the suite of stores makes.
import type { TurnStore } from '../../src/core/ports.js';
import { everything, inWorld, type Stored, type World, type WorldName } from './world.js';

export { isThere, lifeOf, live, texts } from '../../src/testing/store-suite/whole-sessions.js';

export const stored = (world: World) => world.inspect(everything);

/** Waits until the sweeps that commits started are over. */
export async function swept(world: World): Promise<void> {
  const isGarbage = async () => (await stored(world)).some(({ kind }) => kind === 'garbage');
  while (await isGarbage()) await new Promise((resolve) => setImmediate(resolve));
}

/** What is stored when the sessions lived in a place of their own. */
export async function storedAfter(name: WorldName, live: (store: TurnStore) => Promise<void>) {
  let result: Stored[] = [];
  await inWorld(name, async (world) => {
    const store = await world.open();
    await live(store);
    await swept(world);
    result = await stored(world);
    await store.close();
  });
  return result;
}
