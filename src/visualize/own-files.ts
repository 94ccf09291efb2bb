/**
 * Owns what `npm run visualize` makes of this project's own charts: every file of visualizations/ by name.
 * Must not know the disk.
 */
import { pathsOf } from '../testing/paths.js';
import { chartFiles } from './chart-files.js';
import { chartOf } from './options.js';
import { OWN_CHARTS } from './own-charts.js';
import { pathList } from './path-list.js';
import { reviewPage } from './review-page.js';

export async function ownFiles(): Promise<Map<string, string>> {
  const files = new Map([['README.md', reviewPage()]]);
  for (const [name, { machine, options, paths }] of Object.entries(OWN_CHARTS)) {
    for (const [file, content] of await chartFiles(machine, options)) files.set(file, content);
    files.set(`${name}.paths.md`, pathList(chartOf(machine, options), name, pathsOf(machine, paths)));
  }
  return files;
}
