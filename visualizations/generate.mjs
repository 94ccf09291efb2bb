/**
 * Owns `npm run visualize`: it brings this folder up to date, or with `--check` says what is stale and fails.
 * Must not know how anything in here is made. It is for this repository; users have `durable-turn visualize`.
 * The script builds first: the generator is part of the compiled package.
 */
import { fileURLToPath } from 'node:url';
import { staleFiles, writeFiles } from '../dist/src/visualize/folder.js';
import { ownFiles } from '../dist/src/visualize/own-files.js';
import { stepperPage } from './stepper-page.mjs';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const PAGE = 'index.html';

/** Whether a file of this folder comes out of the generator, so that one it no longer makes is found. */
const generated = (file) => /\.(?:svg|md|mmd|scxml|html)$|\.machine\.ts$/.test(file);

async function main(args) {
  const wrong = args.filter((arg) => arg !== '--check');
  if (wrong.length > 0) {
    process.stderr.write(`visualize: unknown argument ${wrong[0]}; it takes --check or nothing\n`);
    return 2;
  }
  const files = await ownFiles();
  files.set(PAGE, await stepperPage(files));
  if (args.includes('--check')) {
    const stale = staleFiles(FOLDER, files, generated);
    for (const { file, why } of stale) process.stderr.write(`stale: visualizations/${file} (${why})\n`);
    if (stale.length > 0) process.stderr.write('Run `npm run visualize` and commit the result.\n');
    else process.stdout.write(`visualizations/: all ${files.size} files are up to date\n`);
    return stale.length > 0 ? 1 : 0;
  }
  const touched = writeFiles(FOLDER, files, generated);
  for (const { file, why } of touched) {
    process.stdout.write(`${why === 'left over' ? 'removed' : 'wrote'} visualizations/${file}\n`);
  }
  if (touched.length === 0) process.stdout.write(`visualizations/: all ${files.size} files are up to date\n`);
  return 0;
}

process.exitCode = await main(process.argv.slice(2));
