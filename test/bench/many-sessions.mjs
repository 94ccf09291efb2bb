// B3: many sessions at once. Their commits wait at the same time, so they share batches; the floor is those batches.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { inFolder, isCommit, recordBatches, straightWrites } from './disk.mjs';
import { figure } from './figures.mjs';
import { fixedModel, fixedTool, runTurn, withEngine } from './turns.mjs';

function runAll(sessions, iterations) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const options = { model: fixedModel(iterations), tools: { work: fixedTool('external') } };
  return inFolder((folder) =>
    withEngine(folder, options, async (engine) => {
      delay.enable();
      const began = performance.now();
      await Promise.all(Array.from({ length: sessions }, (_, n) => runTurn(engine, `session-${n}`)));
      const ms = performance.now() - began;
      delay.disable();
      return { ms, p99: delay.percentile(99) / 1e6 };
    }),
  );
}

export async function grouped({ sessions, iterations, rounds, warmUp }) {
  const found = { ms: [], floor: [], writes: [], p99: [] };
  // As in B1, a process that runs for a while. Recording takes time, so that what is timed is not recorded.
  for (let n = 1; n < warmUp; n += 1) await runAll(sessions, iterations);
  const { batches } = await recordBatches(() => runAll(sessions, iterations));
  const own = batches.filter(isCommit);
  found.writes.push(own.length / (sessions * iterations));
  for (let round = 0; round < rounds; round += 1) {
    const { ms, p99 } = await runAll(sessions, iterations);
    found.ms.push(ms);
    found.p99.push(p99);
    found.floor.push((await straightWrites(own)).reduce((sum, each) => sum + each, 0));
  }
  const row = (name, unit, rounds_, more) => figure({ workload: 'B3', name, unit, rounds: rounds_, ...more });
  return [
    row(`${sessions} turns of ${iterations} iterations / their batches`, 'ms', found.ms, {
      floors: found.floor,
      target: { atMost: 3 },
    }),
    row('synced writes per iteration', '', found.writes, { target: { atMost: 0.15 } }),
    row('event-loop delay, 99th percentile', 'ms', found.p99, { target: { atMost: 20 } }),
  ];
}
