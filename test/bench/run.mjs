// `npm run bench`: what the library costs, each figure beside its floor measured in the same run.
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { benchOptions, USAGE, WrongOption } from './options.mjs';
import { asMarkdown, asText } from './table.mjs';
import { LIMITS, SIZES, WORKLOADS } from './workloads.mjs';

function asked() {
  try {
    return benchOptions(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof WrongOption)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
}

const options = asked();
if (options.help) {
  process.stdout.write(USAGE);
  process.exit();
}

const size = options.quick || options.counts ? 'quick' : 'full';
const rows = [];
for (const id of options.ids) {
  const { counts, runs } = options;
  for (const [name, run] of Object.entries(WORKLOADS[id])) {
    if (counts && !run.countsOnly) continue;
    process.stderr.write(`${id} ${name}\n`);
    rows.push(...(await run({ ...SIZES[size][name], counts, runs })));
  }
}
const shown = options.counts ? rows.filter(({ count }) => count) : rows;

const machine = { node: process.version, cpus: cpus().map(({ model }) => model.trim()), platform: process.platform };
const table = options.markdown ? asMarkdown(shown, machine, size, LIMITS) : asText(shown, size);
process.stdout.write(`${table}\n`);
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
