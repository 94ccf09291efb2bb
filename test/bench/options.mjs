// Owns what may be asked of the bench: everything that makes no sense is refused before the first workload runs, since
// a run takes minutes. Must not know what is measured.
import { accessSync, constants, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readRuns } from './recorded-runs.mjs';
import { WORKLOADS } from './workloads.mjs';

export const USAGE = `npm run bench -- [options]

  --only B1,B3            some of the workloads
  --quick                 small sizes: to see that it runs, not to quote
  --counts                only counts that are the same on every machine, of small sizes: no times; part of npm test
  --check                 exit code 1 when a target is not met
  --json <file>           the figures as JSON as well
  --markdown              figures with a target as Markdown, and what stops those that miss it
  --trajectories <folder> recorded runs of agents, for B9
`;

/** What a user typed and can mend. */
export class WrongOption extends Error {}

/**
 * Options, the ids of the workloads to run, and the recorded runs where there are any.
 * @throws {WrongOption} names the option and the fix.
 */
export function benchOptions(args) {
  const options = parsed(args);
  if (options.help) return options;
  if (options.json !== undefined) checkTarget(options.json);
  const runs = options.trajectories === undefined ? undefined : runsIn(options.trajectories);
  return { ...options, runs, ids: idsOf(options) };
}

function parsed(args) {
  try {
    return parseArgs({
      args,
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
    throw new WrongOption(`${error.message}\n\n${USAGE}`);
  }
}

/** B9 measures what only `--trajectories` gives: not asked for by name, it is left out without. */
function idsOf({ only, counts, trajectories }) {
  const all = Object.keys(WORKLOADS);
  const asked = only?.split(',') ?? all;
  const unknown = asked.filter((id) => !all.includes(id)).map((id) => `"${id}"`);
  if (unknown.length > 0) {
    throw new WrongOption(`--only: there is no workload ${unknown.join(', ')}; there are ${all.join(', ')}.`);
  }
  const can = (id) => {
    if (counts) return Object.values(WORKLOADS[id]).some(({ countsOnly }) => countsOnly);
    return id !== 'B9' || trajectories !== undefined;
  };
  if (only === undefined) return all.filter(can);
  const cannot = asked.filter((id) => !can(id)).join(', ');
  if (cannot === '') return asked;
  throw new WrongOption(
    counts
      ? `--counts: nothing of ${cannot} is the same on every machine; it is of ${all.filter(can).join(', ')}.`
      : `${cannot} needs --trajectories <folder>: recorded runs of agents.`,
  );
}

function checkTarget(file) {
  const refuse = (why) => {
    throw new WrongOption(`--json: "${file}" cannot be written: ${why}.`);
  };
  const folder = dirname(resolve(file));
  const there = statSync(folder, { throwIfNoEntry: false });
  if (there?.isDirectory() !== true) refuse(`there is no folder "${folder}"`);
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory() === true || file === '') refuse('it is no file');
  try {
    accessSync(folder, constants.W_OK);
  } catch (error) {
    refuse(error.message);
  }
}

function runsIn(folder) {
  try {
    return readRuns(folder);
  } catch (error) {
    throw new WrongOption(`--trajectories: ${error.message}`);
  }
}
