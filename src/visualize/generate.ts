/**
 * Owns `npm run visualize`: it brings visualizations/ up to date, or with `--check` says what is stale and fails.
 * Must not know how anything in there is made. It is for this repository; users have `durable-turn visualize`.
 */
import { fileURLToPath } from 'node:url';
import { staleFiles, writeFiles } from './folder.js';
import { ownFiles } from './own-files.js';

/** From dist/src/visualize. */
const FOLDER = fileURLToPath(new URL('../../../visualizations/', import.meta.url));

const generated = (file: string): boolean => /\.(?:svg|md|mmd|scxml|html)$|\.machine\.ts$/.test(file);

async function main(args: readonly string[]): Promise<number> {
  const wrong = args.filter((arg) => arg !== '--check');
  if (wrong.length > 0) {
    process.stderr.write(`visualize: unknown argument ${wrong[0]}; it takes --check or nothing\n`);
    return 2;
  }
  const files = await ownFiles();
  if (!args.includes('--check')) {
    const touched = writeFiles(FOLDER, files, generated);
    for (const { file, why } of touched)
      process.stdout.write(`${why === 'left over' ? 'removed' : 'wrote'} visualizations/${file}\n`);
    if (touched.length === 0) process.stdout.write(`visualizations/: all ${files.size} files are up to date\n`);
    return 0;
  }
  const stale = staleFiles(FOLDER, files, generated);
  for (const { file, why } of stale) process.stderr.write(`stale: visualizations/${file} (${why})\n`);
  if (stale.length > 0) process.stderr.write('Run `npm run visualize` and commit the result.\n');
  return stale.length > 0 ? 1 : 0;
}

process.exitCode = await main(process.argv.slice(2));
