// `npm run prove`: tries every crash point of every scenario, alone and in pairs, and random schedules; prints what it
// found, and writes it to RESULTS.md. Exit code 1 where an effect was doubled or lost or an invariant broken.
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { countOf, orRefused } from './arguments.js';
import { catalogue } from './catalogue/index.js';
import { exhaustiveUnits, type Plan, randomUnits, TOTAL } from './plan.js';
import { runUnits } from './pool.js';
import { figure, simulationText, writePart } from './results.js';
import { addTally, noTally, type Tally, type Unit } from './units.js';

const USAGE = `npm run prove                      at least 200,000 schedules, written to test/crash/RESULTS.md
npm run prove -- --full            at least 1,000,000
npm run prove -- --quick           every single crash point; prints and writes nothing but --json
npm run prove -- --schedules 50000 so many, at least; the exhaustive part is always whole
npm run prove -- --seed 7          other random schedules than those of seed 1
npm run prove -- --only "a cancel" one scenario, nothing random
npm run prove -- --seed 7 --path 3:0:1   one random schedule again, as a failure prints it`;

const read = () =>
  parseArgs({
    options: {
      full: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
      seed: { type: 'string', default: '1' },
      path: { type: 'string' },
      only: { type: 'string' },
      schedules: { type: 'string' },
      workers: { type: 'string', default: String(Math.min(2, availableParallelism())) },
    },
  });

const { values } = orRefused(read, USAGE);
const workers = orRefused(() => countOf('workers', values.workers), USAGE);
const size: Plan['size'] = values.full ? 'full' : values.quick ? 'quick' : 'normal';
const plan: Plan = orRefused(() => {
  const total = values.schedules === undefined ? TOTAL[size] : countOf('schedules', values.schedules);
  return { size, seed: countOf('seed', values.seed, 0), total };
}, USAGE);

const sum = noTally();
const kinds: Record<string, Tally> = {};
const singles = new Map<string, number>();
let told = performance.now();

function done(unit: Unit, tally: Tally): void {
  addTally(sum, tally);
  const kind = kinds[unit.kind] ?? noTally();
  kinds[unit.kind] = kind;
  addTally(kind, tally);
  if (unit.kind === 'singles') singles.set(unit.scenario, tally.singles);
  for (const { where, faults } of tally.failures) {
    console.error(`\n${where}\n  ${faults.slice(0, 5).join('\n  ')}`);
  }
  if (performance.now() - told < 15_000) return;
  told = performance.now();
  console.error(`${figure(sum.schedules)} schedules, ${sum.doubled} doubled, ${sum.lost} lost`);
}

async function proveAll(): Promise<void> {
  await runUnits(exhaustiveUnits(size), workers, done);
  await runUnits(randomUnits(plan, sum.schedules), workers, done);
}

/** In the order of the catalogue, whichever worker was faster. */
const inOrder = (): Map<string, number> =>
  new Map(catalogue.flatMap(({ name }) => (singles.has(name) ? [[name, singles.get(name) as number] as const] : [])));

function report(seconds: number): void {
  const { schedules, crashes, effects, doubled, lost, failures } = sum;
  const more = process.argv.slice(2);
  const command = `npm run prove${more.length === 0 ? '' : ` -- ${more.join(' ')}`}`;
  const ok = failures.length === 0;
  if (values.json) {
    const facts = { schedules, crashes, effects, doubled, lost, failures, singles: Object.fromEntries(inOrder()) };
    console.log(JSON.stringify(facts));
  } else {
    console.log(
      `${figure(schedules)} schedules, ${figure(crashes)} crashes, ${figure(effects)} effects: ` +
        `${doubled} doubled, ${lost} lost, ${failures.length} schedules with a broken invariant (${Math.round(seconds)} s)`,
    );
  }
  const whole = size !== 'quick' && values.only === undefined && values.path === undefined;
  if (ok && whole) {
    const text = simulationText({ command, seconds, workers, kinds, singles: inOrder(), sum });
    writePart('simulation', text);
    console.log('written to test/crash/RESULTS.md and README.md');
  }
  process.exitCode = ok ? 0 : 1;
}

function unitsOf(scenario: string): Unit[] {
  const units = exhaustiveUnits(size).filter((unit) => 'scenario' in unit && unit.scenario === scenario);
  if (units.length > 0) return units;
  throw new Error(`no scenario "${scenario}"; there are: ${catalogue.map(({ name }) => name).join(', ')}.`);
}

async function main(): Promise<void> {
  if (values.help) return console.log(USAGE);
  const began = performance.now();
  const only = values.only;
  if (values.path !== undefined) {
    await runUnits([{ kind: 'traffic', seed: plan.seed, schedules: 1, path: values.path }], 1, done);
  } else if (only !== undefined) {
    await runUnits(
      orRefused(() => unitsOf(only), USAGE),
      workers,
      done,
    );
  } else await proveAll();
  report((performance.now() - began) / 1000);
}

await main();
