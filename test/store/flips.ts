// A program that flips single bits in the table of a database, one at a time, and prints a line for each: what went
// wrong with opening, scanning and reading it.
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TurnStore } from '../../src/core/ports.js';
import { openLevelStore } from '../../src/store/level-store.js';
import { appended, checkpointOf, inputOf, messageOf } from './fixtures.js';

const SESSIONS = 60;
const FLIPS = 53;
const [folder = ''] = process.argv.slice(2);
const original = join(folder, 'original');

const store = await openLevelStore({ path: original });
for (let i = 0; i < SESSIONS; i += 1) {
  const commit = appended(undefined, `s${i}`, textsOf(i));
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

function textsOf(i: number): string[] {
  return [`first ${i} ${'x'.repeat(300)}`, `second ${'y'.repeat(200)} ${i * 7919}`, `third ${i}`];
}

function listOf(i: number) {
  return textsOf(i).map((text, seq) => messageOf(text, String(seq)));
}

async function look(path: string): Promise<string[]> {
  const wrong: string[] = [];
  let damaged: TurnStore | undefined;
  try {
    damaged = await openLevelStore({ path });
    await damaged.markers('agent');
    await damaged.waitingInput('agent');
    await damaged.reviews('agent');
    for (let i = 0; i < SESSIONS; i += 1) {
      const sessionId = `s${i}`;
      try {
        const records = await damaged.load(sessionId);
        // A session that cannot be seen at all lies in what is lost; one that can be seen has to be whole.
        if (records === undefined) continue;
        if (JSON.stringify(records.messages) !== JSON.stringify(listOf(i))) wrong.push(`${sessionId} changed`);
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
