// `npm run bench`: what the library costs, each figure beside its floor measured in the same run.
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { asMarkdown, asText } from './table.mjs';
import { LIMITS, SIZES, WORKLOADS } from './workloads.mjs';

const USAGE = `npm run bench -- [options]

  --only B1,B3            some of the workloads
  --quick                 small sizes: to see that it runs, not to quote
  --counts                only what is the same on every machine
  --check                 exit code 1 when a target is not met
  --json <file>           the figures as JSON as well
  --markdown              figures with a target as Markdown, and what stops those that miss it
  --trajectories <folder> recorded runs of agents, for B9
`;

function asked() {
  try {
    return parseArgs({
      options: {
        only: { type: 'string' },
        quick: { type: 'boolean', default: false },
        counts: { type: 'boolean', default: false },
        check: { type: 'boolean', default: false },
        json: { type: 'string' },
        markdown: { type: 'boolean', default: false },
        trajectories: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    process.stderr.write(`${error.message}\n\n${USAGE}`);
    process.exit(2);
  }
}

const options = asked();
if (options.help) {
  process.stdout.write(USAGE);
  process.exit();
}

const size = options.quick || options.counts ? 'quick' : 'full';
const ids = options.only?.split(',') ?? Object.keys(WORKLOADS);
const unknown = ids.filter((id) => !Object.hasOwn(WORKLOADS, id));
if (unknown.length > 0) {
  process.stderr.write(`There is no workload ${unknown.join(', ')}; there are ${Object.keys(WORKLOADS).join(', ')}.\n`);
  process.exit(2);
}

const rows = [];
for (const id of ids) {
  const { counts, trajectories } = options;
  for (const [name, run] of Object.entries(WORKLOADS[id])) {
    if (counts && !run.countsOnly) continue;
    process.stderr.write(`${id} ${name}\n`);
    rows.push(...(await run({ ...SIZES[size][name], counts, trajectories })));
  }
}
const shown = options.counts ? rows.filter(({ count }) => count) : rows;

const machine = { node: process.version, cpus: cpus().map(({ model }) => model.trim()), platform: process.platform };
process.stdout.write(`${options.markdown ? asMarkdown(shown, machine, LIMITS) : asText(shown)}\n`);
if (options.json !== undefined) {
  writeFileSync(
    options.json,
    `${JSON.stringify({ at: new Date().toISOString(), size, machine, rows: shown }, null, 2)}\n`,
  );
}
const missed = shown.filter(({ met }) => met === false);
if (options.check && missed.length > 0) {
  process.stderr.write(`${missed.length} of ${shown.length} figures miss their target.\n`);
  process.exitCode = 1;
}
