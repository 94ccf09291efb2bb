// `npm run prove:kill`: a thousand SIGKILLs of real processes on real LevelDB, and what an independent receiver counted.
// Writes its part of RESULTS.md. Exit code 1 where an effect was doubled or lost, or a marker was wrong.
import { parseArgs } from 'node:util';
import { installService } from '../package.js';
import { Processes } from '../processes.js';
import { countOf, orRefused } from './arguments.js';
import { dieAt, type PlaceResult } from './deaths.js';
import { figure, writePart } from './results.js';

const asked = orRefused(() => {
  const { values } = parseArgs({
    options: { kills: { type: 'string', default: '1000' }, seed: { type: 'string', default: '1' } },
  });
  return { kills: countOf('kills', values.kills), seed: countOf('seed', values.seed, 0) };
}, 'npm run prove:kill -- --kills 1000 --seed 1');

const KILLS_OF_A_PLACE = 25;
/** Two places at a time: while one process works, the other may start. */
const AT_ONCE = 2;

async function killAll(kills: number, seed: number): Promise<readonly PlaceResult[]> {
  const service = await installService();
  const processes = new Processes(service);
  const results: PlaceResult[] = [];
  let left = kills;
  let nth = 0;
  const work = async (): Promise<void> => {
    while (left > 0) {
      const here = Math.min(KILLS_OF_A_PLACE, left);
      left -= here;
      nth += 1;
      const mine = seed * 1_000 + nth;
      const result = await dieAt(service, processes, mine, here);
      results.push(result);
      for (const fault of result.faults) console.error(`place ${mine}: ${fault}`);
      const sum = results.reduce((total, { kills: killed }) => total + killed, 0);
      console.error(`${figure(sum)} kills, ${results.reduce((total, { doubled }) => total + doubled, 0)} doubled`);
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  } finally {
    await processes.endAll();
    service.remove();
  }
  return results;
}

function textOf(results: readonly PlaceResult[], seconds: number): string {
  const sum = (of: (result: PlaceResult) => number): string =>
    figure(results.reduce((total, result) => total + of(result), 0));
  const cells = [
    sum(({ kills }) => kills),
    sum(({ turns }) => turns),
    sum(({ effects }) => effects),
    sum(({ doubled }) => doubled),
    sum(({ lost }) => lost),
    sum(({ wrongMarkers }) => wrongMarkers),
  ];
  const more = process.argv.slice(2);
  return [
    '## Real deaths',
    '',
    `\`npm run prove:kill${more.length === 0 ? '' : ` -- ${more.join(' ')}`}\`: ${Math.round(seconds)} s.`,
    '',
    '| kills | turns | effects | doubled | lost | markers wrong |',
    '| --- | --- | --- | --- | --- | --- |',
    `| ${cells.join(' | ')} |`,
  ].join('\n');
}

const began = performance.now();
const results = await killAll(asked.kills, asked.seed);
const text = textOf(results, (performance.now() - began) / 1000);
console.log(text);
const bad = results.some(
  ({ doubled, lost, wrongMarkers, faults }) => doubled + lost + wrongMarkers + faults.length > 0,
);
if (!bad) writePart('deaths', text);
process.exitCode = bad ? 1 : 0;
