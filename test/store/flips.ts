// A program that flips single bits in the table of a database, one at a time, and prints a line for each: what went
// wrong with opening, scanning and reading it.
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TurnStore } from '../../src/core/ports.js';
import { openLevelStore } from '../../src/store/level-store.js';
import { appended, checkpointOf, inputOf } from './fixtures.js';

const SESSIONS = 60;
const FLIPS = 60;
const [folder = ''] = process.argv.slice(2);
const original = join(folder, 'original');

const store = await openLevelStore({ path: original });
for (let i = 0; i < SESSIONS; i += 1) {
  const texts = [`first ${i} ${'x'.repeat(300)}`, `second ${'y'.repeat(200)} ${i * 7919}`, `third ${i}`];
  const commit = appended(undefined, `s${i}`, texts);
  const head = { ...commit.head, waitingInput: 1 };
  const inbox = { put: [inputOf(`s${i}`, 0)], remove: [] };
  await store.commit({ ...commit, head, checkpoint: checkpointOf(head), inbox });
}
await store.close();
// The next opening turns the log into a table.
await (await openLevelStore({ path: original })).close();
const table = readdirSync(original).find((name) => name.endsWith('.ldb')) as string;
const intact = readFileSync(join(original, table));

for (let flip = 0; flip < FLIPS; flip += 1) {
  const copy = join(folder, `copy${flip}`);
  cpSync(original, copy, { recursive: true });
  const bytes = Buffer.from(intact);
  const at = Math.floor((bytes.length * flip) / FLIPS);
  bytes[at] = (bytes[at] as number) ^ (1 << (flip % 8));
  writeFileSync(join(copy, table), bytes);
  process.stdout.write(`${JSON.stringify({ at, wrong: await look(copy) })}\n`);
  rmSync(copy, { recursive: true, force: true });
}

async function look(path: string): Promise<string[]> {
  const wrong: string[] = [];
  let damaged: TurnStore | undefined;
  try {
    damaged = await openLevelStore({ path });
    const marked = new Set((await damaged.markers('agent')).map(({ sessionId }) => sessionId));
    const waiting = new Set(await damaged.waitingInput('agent'));
    await damaged.reviews('agent');
    for (let i = 0; i < SESSIONS; i += 1) {
      const sessionId = `s${i}`;
      try {
        const records = await damaged.load(sessionId);
        // A session that cannot be seen at all lies in what is lost; one that can be seen has to be whole and found.
        if (records === undefined) continue;
        if (records.messages.length !== 3 || records.messages[2]?.meta.id !== '2') wrong.push(`${sessionId} changed`);
        if (!marked.has(sessionId)) wrong.push(`${sessionId} has no marker`);
        if (records.inbox.length > 0 && !waiting.has(sessionId)) wrong.push(`${sessionId} waits unseen`);
      } catch (error) {
        if ((error as { code?: string }).code !== 'TURN_DAMAGED') wrong.push(`${sessionId}: ${error}`);
        else await damaged.quarantine(sessionId, 'damaged');
      }
    }
  } catch (error) {
    wrong.push(String(error));
  } finally {
    await damaged?.close();
  }
  return wrong;
}
