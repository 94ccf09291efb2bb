// B1, B2 and B6: one turn in one session, its cost beside that of the same bytes, and what it writes.
import { bytesOf, inFolder, isCommit, rawWrites, recordBatches, straightWrites } from './disk.mjs';
import { figure } from './figures.mjs';
import { fixedModel, fixedTool, inMemory, KILOBYTES_2, runTurn, timedModel, timeTurn, withEngine } from './turns.mjs';

const sum = (values) => values.reduce((total, value) => total + value, 0);

/** The commits of a turn, from its input to its outcome. */
async function recordTurn(iterations, effect) {
  const model = timedModel(iterations);
  const { batches } = await inFolder((folder) =>
    recordBatches(() =>
      withEngine(folder, { model, tools: { work: fixedTool(effect) } }, (engine) => runTurn(engine, 's')),
    ),
  );
  return batches.filter(isCommit);
}

/** A turn in a session of its own, in a database of its own. */
function timeOnDisk(iterations, effect) {
  const model = timedModel(iterations);
  return inFolder((folder) =>
    withEngine(folder, { model, tools: { work: fixedTool(effect) } }, (engine) => timeTurn(engine, model, 's')),
  );
}

/** The same turn without a disk: what is left is JavaScript, and it never waits. */
function timeInMemory(iterations, effect) {
  const model = timedModel(iterations);
  return inMemory({ model, tools: { work: fixedTool(effect) } }, (engine) => timeTurn(engine, model, 's'));
}

/** B1 in a process that runs for a while: V8 compiles hot code in steps, over some thousand iterations. */
export async function effectful({ iterations, rounds, warmUp, counts }) {
  const young = counts ? undefined : await timeOnDisk(iterations, 'external');
  const recorded = await recordTurn(iterations, 'external');
  // The commits of the input and of the outcome are not those of an iteration.
  const own = recorded.slice(1, -1);
  const count = figure({
    workload: 'B1',
    name: 'synced commits per iteration',
    unit: '',
    rounds: [own.length / iterations],
    target: { atMost: 2 },
    count: true,
  });
  if (counts) return [count];
  const times = { ours: [], cpu: [], floor: [], memory: [], raw: [], json: [] };
  for (let done = 0; done < warmUp; done += iterations) await timeOnDisk(iterations, 'external');
  for (let round = 0; round < rounds; round += 1) {
    times.floor.push(sum(await straightWrites(own)) / iterations);
    const { msEach, cpuMsEach } = await timeOnDisk(iterations, 'external');
    times.ours.push(msEach);
    times.cpu.push(cpuMsEach);
    times.memory.push((await timeInMemory(iterations, 'external')).msEach);
    times.raw.push(sum(await rawWrites(own)) / iterations);
    times.json.push(stringifyMs(own) / iterations);
  }
  const row = (name, more) => figure({ workload: 'B1', name, unit: 'ms', ...more });
  return [
    row('iteration / its two synced batches', { rounds: times.ours, floors: times.floor, target: { atMost: 1.5 } }),
    row('iteration / the same with the store in memory', { rounds: times.ours, floors: times.memory, told: true }),
    row(`iteration of the first ${iterations} of a process`, { rounds: [young.msEach] }),
    row('iteration / raw write + fdatasync', { rounds: times.ours, floors: times.raw }),
    row('CPU per iteration / JSON.stringify of what it writes', { rounds: times.cpu, floors: times.json }),
    count,
  ];
}

/** What JSON alone costs: the values of the batches, stringified once more. The first bytes of a record are its own. */
function stringifyMs(batches) {
  const values = batches.flatMap(({ ops }) =>
    ops.filter(({ value }) => value !== undefined).map(({ value }) => JSON.parse(value.toString('utf8', 11))),
  );
  const began = performance.now();
  for (const value of values) JSON.stringify(value);
  return performance.now() - began;
}

/** Iterations of a turn as B1 has it; a debounce takes longer than that, so commits are counted over a long one. */
const SHORT = 200;

/** In a debounce of 2 s a turn without effects writes a checkpoint and the outcome of the call that it found under way. */
const COMMITS_PER_SECOND = 2 / 2;

/** B2. Without effects the debounce decides what is written, not the number of iterations. */
export async function harmless({ iterations, rounds, warmUp }) {
  const found = { perSecond: [], cpu: [], long: [], ms: [] };
  for (let done = 0; done < warmUp; done += SHORT) await timeOnDisk(SHORT, 'none');
  for (let round = 0; round < rounds; round += 1) {
    const model = timedModel(iterations);
    const { result, batches } = await inFolder((folder) =>
      recordBatches(() =>
        withEngine(folder, { model, tools: { work: fixedTool('none') } }, (engine) => timeTurn(engine, model, 's')),
      ),
    );
    // Without the commits of the input and of the outcome.
    const commits = batches.filter(isCommit).length - 2;
    found.perSecond.push(commits / (result.ms / 1000));
    found.long.push(result.cpuMsEach);
    found.ms.push(result.msEach);
    found.cpu.push((await timeOnDisk(SHORT, 'none')).cpuMsEach);
  }
  const row = (name, unit, values, target) =>
    figure({ workload: 'B2', name, unit, rounds: values, ...(target === undefined ? {} : { target }) });
  return [
    row('commits per second', '/s', found.perSecond, { atMost: COMMITS_PER_SECOND }),
    row(`CPU per iteration of a turn of ${SHORT}`, 'ms', found.cpu, { atMost: 0.3 }),
    { ...row(`CPU per iteration of a turn of ${iterations}`, 'ms', found.long), told: true },
    row('iteration', 'ms', found.ms),
  ];
}

/** Of a clock that every model call moves on. */
const CALL_MS = 100;

/** B2 on a clock of its own: how often a turn without effects is written is a number that no machine changes. */
export async function debounced({ iterations }) {
  let now = 1_000_000_000_000;
  const clock = {
    now: () => now,
    after: () => () => undefined,
  };
  const model = fixedModel(iterations, {
    asked: () => {
      now += CALL_MS;
    },
  });
  const { batches } = await inFolder((folder) =>
    recordBatches(() =>
      withEngine(folder, { clock, model, tools: { work: fixedTool('none') } }, (engine) => runTurn(engine, 's')),
    ),
  );
  const commits = batches.filter(isCommit).length - 2;
  return [
    figure({
      workload: 'B2',
      name: 'commits per second of a clock that each iteration moves by 0.1 s',
      unit: '',
      rounds: [commits / ((iterations * CALL_MS) / 1000)],
      target: { atMost: COMMITS_PER_SECOND },
      count: true,
    }),
  ];
}

/** B6. New content is what a person would call it: the answer and the result of its call. */
export async function written({ sizes }) {
  const rows = [];
  for (const effect of ['none', 'external']) {
    const ratios = [];
    for (const iterations of sizes) {
      const batches = await recordTurn(iterations, effect);
      ratios.push(sum(batches.map(bytesOf)) / (iterations * 2 * KILOBYTES_2));
    }
    rows.push(
      figure({
        workload: 'B6',
        name: `bytes handed to LevelDB / bytes of new content, effect '${effect}'`,
        unit: '',
        rounds: [ratios.at(-1)],
        ...(effect === 'none' ? { target: { atMost: 1.5 } } : {}),
        count: true,
        told: true,
      }),
      figure({
        workload: 'B6',
        name: `that of ${sizes.at(-1)} iterations / that of ${sizes[0]}, effect '${effect}'`,
        unit: '',
        rounds: [ratios.at(-1) / ratios[0]],
        target: { atMost: 1.02 },
        count: true,
      }),
    );
  }
  return rows;
}
