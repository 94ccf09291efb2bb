// Owns the turns that are measured: a model of fixed answers, one tool, and the moments of each model call.
// Must not know what is made of the moments. Nothing in here may cost what it measures: no copies, no checks.
import { createTurnEngine, jsonSchema, tool } from 'durable-turn';
import { memoryStore, openLevelStore } from 'durable-turn/level';

export const KILOBYTES_2 = 2048;

/** Text of a size that does not compress to nothing and differs from any other `seed`. */
export function textOf(bytes, seed) {
  const line = `${seed}: the quick brown fox reads a file, finds the line it looked for and goes on. `;
  return line.repeat(Math.ceil(bytes / line.length)).slice(0, bytes);
}

const NO_DELTAS = { finish: { reason: 'tool-calls' }, usage: { input: { total: 1000 }, output: { total: 500 } } };

/** Answers of 2 KB with one call each, for `iterations` answers, then a last one. Tells when it was asked. */
export function fixedModel(iterations, { asked = () => undefined } = {}) {
  const texts = Array.from({ length: iterations }, (_, n) => textOf(KILOBYTES_2, n));
  return {
    id: 'fixed',
    async call(request, { sessionId, modelCall }) {
      asked(sessionId, modelCall, request);
      if (modelCall >= iterations) {
        return { ...NO_DELTAS, finish: { reason: 'stop' }, content: [{ type: 'text', text: 'done' }] };
      }
      return {
        ...NO_DELTAS,
        content: [
          { type: 'text', text: texts[modelCall] },
          { type: 'tool-call', toolCallId: 'call_0', toolName: 'work', input: { n: modelCall } },
        ],
      };
    },
  };
}

/** A tool that does nothing and gives 2 KB. */
export function fixedTool(effect, bytes = KILOBYTES_2) {
  return tool({
    description: 'Works.',
    input: jsonSchema({ type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }),
    effect,
    execute: ({ n }) => textOf(bytes, -n),
  });
}

/** An engine on a database in the folder. */
export async function withEngine(folder, options, work) {
  return withStore(await openLevelStore({ path: folder }), options, work);
}

/** An engine that waits for no disk. */
export const inMemory = (options, work) => withStore(memoryStore(), options, work);

async function withStore(store, options, work) {
  const engine = createTurnEngine({ agent: 'bench', store, limits: { maxIterations: 0 }, ...options });
  try {
    return await work(engine, store);
  } finally {
    await engine.close({ graceMs: 0 });
    await store.close();
  }
}

/** One turn from its input to its outcome. */
export async function runTurn(engine, sessionId, messageId = 'm1') {
  const turn = await engine.startTurn({ sessionId, messageId, input: 'go', attended: false });
  const outcome = await turn.outcome;
  if (outcome.status !== 'completed') throw new Error(`the turn ended as ${outcome.status}: ${outcome.reason}`);
}

/** A turn of so many iterations: moments of its model calls, in ms, and the CPU it took. */
export async function timeTurn(engine, model, sessionId, messageId) {
  model.moments.length = 0;
  model.cpu.length = 0;
  await runTurn(engine, sessionId, messageId);
  const [moments, cpu] = [model.moments, model.cpu];
  const iterations = moments.length - 1;
  return {
    msEach: (moments.at(-1) - moments[0]) / iterations,
    cpuMsEach: (cpu.at(-1) - cpu[0]) / iterations,
    ms: moments.at(-1) - moments[0],
    iterations,
  };
}

const cpuMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

/** A fixed model that notes when it is asked; the time between two questions is one iteration. */
export function timedModel(iterations) {
  const moments = [];
  const cpu = [];
  const model = fixedModel(iterations, {
    asked: () => {
      moments.push(performance.now());
      cpu.push(cpuMs());
    },
  });
  return { ...model, moments, cpu };
}
