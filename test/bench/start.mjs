// B4: how long a start takes until it knows the interrupted turns, whatever else is stored.
import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openLevelStore } from 'durable-turn/level';
import { Level } from 'level';
import { encodeCommit } from '../../dist/src/store/commit.js';
import { compactFolder } from '../../dist/src/store/compact.js';
import { inFolder } from './disk.mjs';
import { figure } from './figures.mjs';
import { countReads } from './reads.mjs';
import { AGENT, Builder, finished, IDS, interrupted } from './stores.mjs';

const INTERRUPTED = 10;

/** So many finished sessions, as many markers that came and went, and a few interrupted turns. */
async function build(folder, sessions, idOf) {
  const builder = await Builder.in(folder);
  for (let n = 0; n < sessions; n += 1) {
    const id = idOf(n);
    await builder.add(finished(id));
    const markers = encodeCommit(interrupted(id, 0)).ops.filter(({ kind }) => kind === 'marker');
    await builder.write(markers);
    await builder.write(markers.map(({ kind, key }) => ({ type: 'del', kind, key })));
  }
  for (let n = 0; n < INTERRUPTED; n += 1) await builder.add(interrupted(idOf(sessions + n), 4));
  await builder.close();
}

/** LevelDB alone: what it does when it opens, recovering its log and compacting, is not ours to shorten. */
async function openPlain(path) {
  const began = performance.now();
  const db = new Level(path, { createIfMissing: false });
  await db.open();
  const ms = performance.now() - began;
  await db.close();
  return ms;
}

async function openToList(path) {
  const began = performance.now();
  const store = await openLevelStore({ path });
  const opened = performance.now();
  const markers = await store.markers(AGENT);
  const listed = performance.now();
  await store.close();
  if (markers.length !== INTERRUPTED) throw new Error(`${markers.length} interrupted turns were found`);
  return { ms: listed - began, listMs: listed - opened };
}

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

const PROGRAM = `
import { openLevelStore } from 'durable-turn/level';
import { Level } from 'level';
const [path, agent] = process.argv.slice(1);
const began = performance.now();
const plain = new Level(path, { createIfMissing: false });
await plain.open();
const floor = performance.now() - began;
await plain.close();
const again = performance.now();
const store = await openLevelStore({ path });
await store.markers(agent);
console.log(JSON.stringify({ ms: performance.now() - again, floor }));
await store.close();
`;

/** As a service starts: no code is warm, and what is imported is there. */
function startNew(path, rounds) {
  const args = ['--input-type=module', '--eval', PROGRAM, path, AGENT];
  return Array.from({ length: rounds }, () =>
    JSON.parse(execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' })),
  );
}

/** The list, and the whole start beside LevelDB alone, so many times. */
async function startAgain(path, rounds) {
  const found = { ms: [], list: [], floor: [] };
  for (let round = 0; round < rounds; round += 1) {
    found.floor.push(await openPlain(path));
    const { ms, listMs } = await openToList(path);
    found.ms.push(ms);
    found.list.push(listMs);
  }
  return found;
}

async function measure(folder, count, idOf, rounds) {
  await build(folder, count, idOf);
  const path = join(folder, 'db');
  // The first opening takes in what the log holds, ours verifies it; neither is part of later ones.
  const first = (await openToList(path)).ms;
  const before = await startAgain(path, rounds);
  const began = performance.now();
  await compactFolder(path, () => undefined);
  const upkeep = performance.now() - began;
  return { first, before, upkeep, after: await startAgain(path, rounds), cold: startNew(path, rounds) };
}

export async function start({ sessions, rounds }) {
  const rows = [];
  for (const [ids, idOf] of Object.entries(IDS)) {
    for (const count of sessions) {
      const isMost = count === sessions.at(-1);
      const found = await inFolder((folder) => measure(folder, count, idOf, rounds));
      const row = (name, values, more) =>
        figure({
          workload: 'B4',
          name: `${count} sessions, ${ids} ids: ${name}`,
          unit: 'ms',
          rounds: values,
          told: isMost,
          ...more,
        });
      rows.push(
        row('the list, once open', found.after.list, isMost ? { target: { atMost: 5 } } : {}),
        row('the list before the upkeep', found.before.list),
        row('open store to list / opening LevelDB alone', found.after.ms, { floors: found.after.floor }),
        row(
          'the same in a new process',
          found.cold.map(({ ms }) => ms),
          { floors: found.cold.map(({ floor }) => floor) },
        ),
        row('the first start, with its log', [found.first]),
        row('upkeep: durable-turn compact', [found.upkeep]),
      );
    }
  }
  return rows;
}

/** Keys that a start reads, as LevelDB is asked for them: they must not grow with what is stored. */
export async function keysRead({ few, many }) {
  const read = [];
  for (const sessions of [few, many]) {
    read.push(
      await inFolder(async (folder) => {
        await build(folder, sessions, IDS['time-ordered']);
        return countReads(() => openToList(join(folder, 'db')));
      }),
    );
  }
  const row = (name, value, target) => figure({ workload: 'B4', name, unit: '', rounds: [value], target, count: true });
  return [
    row('keys read by a start that finds ten interrupted turns', read[1], { atMost: 100 }),
    row(`the same with ${many} sessions / with ${few}`, read[1] / read[0], { atMost: 1 }),
  ];
}
