// B9: recorded runs of agents, gone through again as turns: real sizes and real text, with a model and tools that
// answer at once. Form of a file: { steps: [{ text, toolCalls: [{ toolCallId, toolName, input }], results: [{ output }] }] }.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { jsonSchema, tool } from 'durable-turn';
import { inFolder } from './disk.mjs';
import { figure } from './figures.mjs';
import { runTurn, withEngine } from './turns.mjs';

const runsIn = (folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => ({ name, ...JSON.parse(readFileSync(join(folder, name), 'utf8')) }));

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

async function timeRun(run) {
  const moments = [];
  const model = modelOf(run, () => moments.push(performance.now()));
  const options = { model, tools: toolsOf(run), loopDetector: false };
  await inFolder((folder) => withEngine(folder, options, (engine) => runTurn(engine, 's')));
  return { ms: moments.at(-1) - moments[0], iterations: moments.length - 1 };
}

export async function recordedRuns({ rounds, trajectories }) {
  if (trajectories === undefined) return [];
  const runs = runsIn(trajectories).filter(({ steps }) => steps?.length > 0);
  const each = [];
  for (let round = 0; round <= rounds; round += 1) {
    let ms = 0;
    let iterations = 0;
    for (const run of runs) {
      const took = await timeRun(run);
      ms += took.ms;
      iterations += took.iterations;
    }
    if (round > 0) each.push(ms / iterations);
  }
  return [figure({ workload: 'B9', name: `iteration of ${runs.length} recorded runs`, unit: 'ms', rounds: each })];
}
