// B1, B2 and B6: one turn in one session, its cost beside that of the same bytes, and what it writes.
import { bytesOf, inFolder, isCommit, rawWrites, recordBatches, straightWrites } from './disk.mjs';
import { figure } from './figures.mjs';
import {
  fixedModel,
  fixedTool,
  inMemory,
  KILOBYTES_2,
  runTurn,
  textOf,
  timedModel,
  timeTurn,
  withEngine,
} from './turns.mjs';

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

/** A turn in a session with so many bytes of history. */
function timeWithHistory(iterations, effect, historyBytes) {
  const model = timedModel(iterations);
  return inFolder((folder) =>
    withEngine(folder, { model, tools: { work: fixedTool(effect) } }, async (engine) => {
      if (historyBytes > 0) await engine.importSession('s', historyOf(historyBytes));
      return timeTurn(engine, model, 's');
    }),
  );
}

/** The same turn without a disk: what is left is JavaScript, and it never waits. */
function timeInMemory(iterations, effect) {
  const model = timedModel(iterations);
  return inMemory({ model, tools: { work: fixedTool(effect) } }, (engine) => timeTurn(engine, model, 's'));
}

function historyOf(bytes) {
  const message = (n) => ({
    role: n % 2 === 0 ? 'user' : 'assistant',
    content: [{ type: 'text', text: textOf(KILOBYTES_2, n) }],
  });
  return Array.from({ length: Math.ceil(bytes / KILOBYTES_2) }, (_, n) => message(n));
}

/** B1 in a process that runs for a while: V8 compiles hot code in steps, over some thousand iterations. */
export async function effectful({ iterations, rounds, warmUp, counts }) {
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
  const young = await timeWithHistory(iterations, 'external', 0);
  for (let done = 0; done < warmUp; done += iterations) await timeWithHistory(iterations, 'external', 0);
  for (let round = 0; round < rounds; round += 1) {
    times.floor.push(sum(await straightWrites(own)) / iterations);
    const { msEach, cpuMsEach } = await timeWithHistory(iterations, 'external', 0);
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

/** B1 with a history: nothing of an iteration may cost what the transcript has grown to. */
export async function longHistory({ iterations, rounds, megabytes }) {
  await timeWithHistory(iterations, 'external', 0);
  const times = new Map(megabytes.map((size) => [size, { ms: [], cpu: [] }]));
  for (let round = 0; round < rounds; round += 1) {
    for (const size of megabytes) {
      const { msEach, cpuMsEach } = await timeWithHistory(iterations, 'external', size * 1024 * 1024);
      times.get(size).ms.push(msEach);
      times.get(size).cpu.push(cpuMsEach);
    }
  }
  const without = times.get(0);
  const last = megabytes.at(-1);
  return megabytes.slice(1).flatMap((size) => [
    figure({
      workload: 'B1',
      name: `iteration behind ${size} MB of history / behind none`,
      unit: 'ms',
      rounds: times.get(size).ms,
      floors: without.ms,
      ...(size === last ? { target: { atMost: 1.2 } } : {}),
    }),
    figure({
      workload: 'B1',
      name: `CPU behind ${size} MB of history / behind none`,
      unit: 'ms',
      rounds: times.get(size).cpu,
      floors: without.cpu,
    }),
  ]);
}

/** Iterations of a turn as B1 has it; a debounce takes longer than that, so commits are counted over a long one. */
const SHORT = 200;

/** In a debounce of 2 s a turn without effects writes a checkpoint and the outcome of the call that it found under way. */
const COMMITS_PER_SECOND = 2 / 2;

/** B2. Without effects the debounce decides what is written, not the number of iterations. */
export async function harmless({ iterations, rounds, warmUp }) {
  const found = { perSecond: [], cpu: [], long: [], ms: [] };
  for (let done = 0; done < warmUp; done += SHORT) await timeWithHistory(SHORT, 'none', 0);
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
    found.cpu.push((await timeWithHistory(SHORT, 'none', 0)).cpuMsEach);
  }
  const row = (name, unit, values, target) =>
    figure({ workload: 'B2', name, unit, rounds: values, ...(target === undefined ? {} : { target }) });
  return [
    row('commits per second', '/s', found.perSecond, { atMost: COMMITS_PER_SECOND }),
    row(`CPU per iteration of a turn of ${SHORT}`, 'ms', found.cpu, { atMost: 0.3 }),
    row(`CPU per iteration of a turn of ${iterations}`, 'ms', found.long),
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
        name: `bytes written / bytes of new content, effect '${effect}'`,
        unit: '',
        rounds: [ratios.at(-1)],
        ...(effect === 'none' ? { target: { atMost: 1.5 } } : {}),
        count: true,
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
