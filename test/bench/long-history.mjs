// B1 with a history: nothing of an iteration may cost what the transcript has grown to. Each size has a process of its
// own: what a large one leaves in the heap must not be paid for by the small one it is compared with.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { figure } from './figures.mjs';

const PROGRAM = fileURLToPath(new URL('./history-process.mjs', import.meta.url));

/** A process that has its history and is warm; gives the times of one more turn whenever it is asked. */
async function processWith(megabytes, iterations, warmUp) {
  const child = fork(PROGRAM, [megabytes, iterations, warmUp].map(String));
  await once(child, 'message');
  return {
    async turn() {
      child.send('turn');
      const [times] = await once(child, 'message');
      return times;
    },
    async end() {
      child.send('end');
      await once(child, 'exit');
    },
  };
}

export async function longHistory({ iterations, rounds, warmUp, megabytes }) {
  const sizes = [];
  for (const size of megabytes) {
    sizes.push({ size, ms: [], cpu: [], process: await processWith(size, iterations, warmUp) });
  }
  // Round by round, so that a machine that becomes slower does so for all of them.
  for (let round = 0; round < rounds; round += 1) {
    for (const { ms, cpu, process } of sizes) {
      const { msEach, cpuMsEach } = await process.turn();
      ms.push(msEach);
      cpu.push(cpuMsEach);
    }
  }
  for (const { process } of sizes) await process.end();
  const [without, ...others] = sizes;
  const row = (name, more) => figure({ workload: 'B1', name, unit: 'ms', ...more });
  return others.flatMap(({ size, ms, cpu }, nth) => [
    row(`iteration behind ${size} MB of history / behind none`, {
      rounds: ms,
      floors: without.ms,
      ...(nth === others.length - 1 ? { target: { atMost: 1.2 } } : { told: true }),
    }),
    row(`CPU behind ${size} MB of history / behind none`, { rounds: cpu, floors: without.cpu }),
  ]);
}
