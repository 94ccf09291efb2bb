// A program that reads everything in a folder: with LevelDB as it is, or as the store does it. It says what it read.
import { Level } from 'level';
import { openLevelStore } from '../../../src/store/level-store.js';

const [mode, folder = ''] = process.argv.slice(2);

if (mode === 'naive') {
  const level = new Level(folder);
  await level.open();
  let entries = 0;
  // As a store looks for the messages of a session.
  await level.iterator({ gte: '!message!s1!' }).all();
  for await (const _ of level.iterator()) entries += 1;
  await level.close();
  console.log(`${entries} entries`);
} else {
  const warnings: string[] = [];
  process.on('warning', ({ message }) => void warnings.push(message));
  const store = await openLevelStore({ path: folder });
  const read: string[] = [];
  for await (const { sessionId } of store.sessions('agent')) {
    const loaded = await store.load(sessionId).then(
      (records) => `${records?.messages.length} messages`,
      (error: { code?: string }) => error.code,
    );
    read.push(`${sessionId}: ${loaded}`);
  }
  await store.close();
  console.log(JSON.stringify({ read, repaired: warnings.some((message) => message.includes('has been repaired')) }));
}
