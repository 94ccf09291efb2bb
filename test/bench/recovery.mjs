// B5: a start that takes up a thousand interrupted turns, each with a transcript worth reading.
import { join } from 'node:path';
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

async function recoverAll(folder, turns) {
  const before = await heldBytes();
  let asked = 0;
  let last = 0;
  let held = 0;
  const model = {
    id: 'done',
    async call() {
      asked += 1;
      last = performance.now();
      // Near the end everything that is kept for the turns before would be there.
      if (asked === Math.ceil(turns * 0.9)) held = (await heldBytes()) - before;
      return DONE;
    },
  };
  return withEngine(join(folder, 'db'), { agent: AGENT, model }, async (engine) => {
    const began = performance.now();
    const { resumed } = await engine.recover();
    await Promise.all(resumed.map((turn) => turn.outcome));
    if (asked !== turns) throw new Error(`${asked} of ${turns} turns asked the model`);
    return { perSecond: turns / ((last - began) / 1000), heldMegabytes: held / 2 ** 20 };
  });
}

async function measure(turns, messages) {
  return inFolder(async (folder) => {
    const builder = await Builder.in(folder);
    for (let n = 0; n < turns; n += 1) await builder.add(interrupted(`session-${n}`, messages));
    await builder.close();
    return recoverAll(folder, turns);
  });
}

/** Throws where a turn is not taken up: what a folder looks like here must be what the engine writes. */
async function countRecovery(messages) {
  const reads = [];
  for (const turns of [10, 20]) reads.push((await countReads(() => measure(turns, messages))) / turns);
  const row = (name, value, target) => figure({ workload: 'B5', name, unit: '', rounds: [value], target, count: true });
  return [
    row(`keys read for each turn taken up, beside its ${messages} messages`, reads[1] - messages, { atMost: 10 }),
    row('the same with 20 turns / with 10', reads[1] / reads[0], { atMost: 1 }),
  ];
}

export async function recovery({ turns, messages, rounds, counts }) {
  if (counts) return countRecovery(4);
  const found = { perSecond: [], held: [], fewer: [] };
  await measure(Math.ceil(turns / 10), messages);
  for (let round = 0; round < rounds; round += 1) {
    found.fewer.push((await measure(Math.ceil(turns / 4), messages)).heldMegabytes);
    const { perSecond, heldMegabytes } = await measure(turns, messages);
    found.perSecond.push(perSecond);
    found.held.push(heldMegabytes);
  }
  const row = (name, unit, rounds_, more) => figure({ workload: 'B5', name, unit, rounds: rounds_, ...more });
  return [
    row(`${turns} turns of ${messages} messages, to the first model call`, '/s', found.perSecond, {
      target: { atLeast: 300 },
    }),
    row(`memory held, ${turns} turns / a quarter of them`, 'MB', found.held, {
      floors: found.fewer,
      target: { atMost: 1.5 },
    }),
  ];
}
