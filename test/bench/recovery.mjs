// B5: a start that takes up a thousand interrupted turns, each with a transcript worth reading.
import { join } from 'node:path';
import { Level } from 'level';
import { RECOVERY_CONCURRENCY } from '../../dist/machines/limits.js';
import { inFolder } from './disk.mjs';
import { figure } from './figures.mjs';
import { heldBytes } from './memory.mjs';
import { countReads } from './reads.mjs';
import { AGENT, Builder, interrupted } from './stores.mjs';
import { withEngine } from './turns.mjs';

const DONE = {
  content: [{ type: 'text', text: 'done' }],
  finish: { reason: 'stop' },
  usage: { input: {}, output: {} },
};

/** @param asking Hears which turn asks the model: nothing else may run in what is measured. */
async function recoverAll(folder, turns, asking = async () => undefined) {
  let asked = 0;
  let last = 0;
  const model = {
    id: 'done',
    async call() {
      asked += 1;
      last = performance.now();
      await asking(asked);
      return DONE;
    },
  };
  return withEngine(join(folder, 'db'), { agent: AGENT, model }, async (engine) => {
    const began = performance.now();
    const { resumed } = await engine.recover();
    await Promise.all(resumed.map((turn) => turn.outcome));
    if (asked !== turns) throw new Error(`${asked} of ${turns} turns asked the model`);
    return (last - began) / turns;
  });
}

/** The first bytes of a record are its own, JSON comes behind them. */
const PAYLOAD_AT = 11;

/** What nobody can do without: every message of a session read in the largest pages and parsed, nothing checked. */
async function readMessages(db, sessionId) {
  const range = { gt: `!message!${sessionId}!`, lt: `!message!${sessionId}"`, highWaterMarkBytes: 1 << 20 };
  const iterator = db.iterator(range);
  let messages = 0;
  for (let page = await iterator.nextv(1_000); page.length > 0; page = await iterator.nextv(1_000)) {
    for (const [, value] of page) JSON.parse(value.toString('utf8', PAYLOAD_AT));
    messages += page.length;
  }
  await iterator.close();
  return messages;
}

/** Reading the same messages straight from classic-level, as many sessions at once as `recover()` takes up. */
async function readAll(folder, turns, messages) {
  const db = new Level(join(folder, 'db'), { keyEncoding: 'utf8', valueEncoding: 'buffer' });
  await db.open();
  const began = performance.now();
  let [next, read] = [0, 0];
  const work = async () => {
    while (next < turns) {
      const found = await readMessages(db, `session-${next++}`);
      read += found;
    }
  };
  await Promise.all(Array.from({ length: RECOVERY_CONCURRENCY }, work));
  const msEach = (performance.now() - began) / turns;
  await db.close();
  if (read !== turns * messages) throw new Error(`${read} messages were read, not ${turns * messages}`);
  return msEach;
}

/** A folder in which so many turns were cut off. */
function interruptedTurns(turns, messages, work) {
  return inFolder(async (folder) => {
    const builder = await Builder.in(folder);
    for (let n = 0; n < turns; n += 1) await builder.add(interrupted(`session-${n}`, messages));
    await builder.close();
    return work(folder);
  });
}

/** The floor comes first: reading changes nothing. */
const timed = (turns, messages) =>
  interruptedTurns(turns, messages, async (folder) => {
    const floor = await readAll(folder, turns, messages);
    return { floor, ours: await recoverAll(folder, turns) };
  });

/** The most that is held at one of these moments: near the end everything kept for the turns before would be there. */
const MOMENTS = [0.5, 0.6, 0.7, 0.8, 0.9];

const heldMegabytes = (turns, messages) =>
  interruptedTurns(turns, messages, async (folder) => {
    const moments = new Set(MOMENTS.map((part) => Math.ceil(turns * part)));
    const before = await heldBytes();
    let most = 0;
    await recoverAll(folder, turns, async (asked) => {
      if (moments.has(asked)) most = Math.max(most, (await heldBytes()) - before);
    });
    return most / 2 ** 20;
  });

/** Throws where a turn is not taken up: what a folder looks like here must be what the engine writes. */
async function countRecovery(messages) {
  const reads = [];
  for (const turns of [10, 20]) {
    const all = await interruptedTurns(turns, messages, (folder) => countReads(() => recoverAll(folder, turns)));
    reads.push(all / turns);
  }
  const row = (name, value, target) => figure({ workload: 'B5', name, unit: '', rounds: [value], target, count: true });
  return [
    row(`keys read for each turn taken up, beside its ${messages} messages`, reads[1] - messages, { atMost: 10 }),
    row('the same with 20 turns / with 10', reads[1] / reads[0], { atMost: 1 }),
  ];
}

export async function recovery({ turns, messages, rounds, counts }) {
  if (counts) return countRecovery(4);
  const found = { ours: [], floor: [], held: [], fewer: [] };
  await timed(Math.ceil(turns / 10), messages);
  for (let round = 0; round < rounds; round += 1) {
    const { ours, floor } = await timed(turns, messages);
    found.ours.push(ours);
    found.floor.push(floor);
    found.fewer.push(await heldMegabytes(Math.ceil(turns / 4), messages));
    found.held.push(await heldMegabytes(turns, messages));
  }
  const perSecond = found.ours.map((msEach) => 1000 / msEach);
  const row = (name, unit, rounds_, more) => figure({ workload: 'B5', name, unit, rounds: rounds_, ...more });
  return [
    row(`${turns} turns of ${messages} messages, to the first model call`, '/s', perSecond, {
      target: { atLeast: 300 },
    }),
    row('each of them / its messages read and parsed alone', 'ms', found.ours, { floors: found.floor, told: true }),
    row(`most memory held, ${turns} turns / a quarter of them`, 'MB', found.held, {
      floors: found.fewer,
      target: { atMost: 1.5 },
    }),
  ];
}
