// B9: recorded runs of agents, gone through again as turns: real sizes and real text, with a model and tools that
// answer at once. Form of a file: { steps: [{ text, toolCalls: [{ toolCallId, toolName, input }], results: [{ output }] }] }.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { jsonSchema, tool } from 'durable-turn';
import { inFolder, isCommit, recordBatches, straightWrites } from './disk.mjs';
import { figure } from './figures.mjs';
import { runTurn, withEngine } from './turns.mjs';

/** Recorded runs of a folder. @throws {Error} where there are none, or one cannot be read. */
export function readRuns(folder) {
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
  const runs = names.sort().map((name) => ({ name, ...readRun(join(folder, name)) }));
  const found = runs.filter(({ steps }) => steps?.length > 0);
  if (found.length > 0) return found;
  throw new Error(`there is no recorded run in "${folder}": { steps: [...] } in a .json file.`);
}

function readRun(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new Error(`"${file}" is no recorded run: ${error.message}`);
  }
}

/** The nth answer of the run; `asked` hears when it is wanted. */
const modelOf = ({ steps }, asked) => ({
  id: 'recorded',
  async call(_request, { modelCall }) {
    asked();
    const { text, toolCalls } = steps[modelCall] ?? { text: 'done', toolCalls: [] };
    const calls = toolCalls.map((call) => ({ type: 'tool-call', ...call }));
    return {
      content: [...(text ? [{ type: 'text', text }] : []), ...calls],
      finish: { reason: calls.length > 0 ? 'tool-calls' : 'stop' },
      usage: { input: {}, output: {} },
    };
  },
});

/** Each tool gives what was recorded for its call: an engine's call id ends with answer and place. */
function toolsOf({ steps }) {
  const recorded = tool({
    description: 'Recorded.',
    input: jsonSchema({ type: 'object' }),
    effect: 'external',
    execute: (_input, { callId }) => {
      const [answer, place] = callId.split('.').slice(-2).map(Number);
      return steps[answer - 1].results[place]?.output ?? '';
    },
  });
  const names = new Set(steps.flatMap(({ toolCalls }) => toolCalls.map(({ toolName }) => toolName)));
  return Object.fromEntries([...names].map((name) => [name, recorded]));
}

const inNewFolder = (run, model) => {
  const options = { model, tools: toolsOf(run), loopDetector: false };
  return inFolder((folder) => withEngine(folder, options, (engine) => runTurn(engine, 's')));
};

async function timeRun(run) {
  const moments = [];
  await inNewFolder(
    run,
    modelOf(run, () => moments.push(performance.now())),
  );
  return { ms: moments.at(-1) - moments[0], iterations: moments.length - 1 };
}

/** Its commits without those of the input and of the outcome. */
async function recordRun(run) {
  const { batches } = await recordBatches(() =>
    inNewFolder(
      run,
      modelOf(run, () => undefined),
    ),
  );
  return batches.filter(isCommit).slice(1, -1);
}

export async function recordedRuns({ rounds, runs }) {
  const commits = [];
  for (const run of runs) commits.push(await recordRun(run));
  const found = { ours: [], floor: [] };
  for (let round = 0; round < rounds; round += 1) {
    const sum = { ms: 0, iterations: 0, floor: 0 };
    for (const [n, run] of runs.entries()) {
      const { ms, iterations } = await timeRun(run);
      const floor = (await straightWrites(commits[n])).reduce((total, each) => total + each, 0);
      for (const [name, value] of Object.entries({ ms, iterations, floor })) sum[name] += value;
    }
    found.ours.push(sum.ms / sum.iterations);
    found.floor.push(sum.floor / sum.iterations);
  }
  const name = `iteration of ${runs.length} recorded runs / its synced batches`;
  const overhead = found.ours.map((ms, round) => ms - found.floor[round]);
  return [
    figure({ workload: 'B9', name, unit: 'ms', rounds: found.ours, floors: found.floor, told: true }),
    figure({ workload: 'B9', name: 'overhead of an iteration', unit: 'ms', rounds: overhead, told: true }),
  ];
}
