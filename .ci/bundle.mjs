// Makes of the sources what the package ships: a few files for each entry point, in place of the 200 modules a person
// reads. Node resolves, reads, parses and links each module apart, and that was three quarters of what an import took.
//
//   node .ci/bundle.mjs <folder>
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));

/** The name of a file of the package; it has to be one of those that are made here. */
function nameOf(file, where) {
  const name = /^(?:\.\/)?dist\/bundle\/([\w-]+)\.js$/.exec(file)?.[1];
  if (name === undefined) throw new Error(`package.json: ${where} has to be ./dist/bundle/<name>.js, not ${file}`);
  return name;
}

/** An entry point is made of the source that its types come from. */
const entryPoints = Object.entries(manifest.exports)
  .filter(([, target]) => typeof target === 'object')
  .map(([subpath, { types, default: code }]) => [
    nameOf(code, `exports["${subpath}"].default`),
    types.replace(/^\.\/dist\/(.*)\.d\.ts$/, '$1.ts'),
  ]);

const ENTRIES = {
  ...Object.fromEntries(entryPoints),
  [nameOf(manifest.bin['durable-turn'], 'bin')]: 'src/cli/main.ts',
  // Processes that the demo starts from the folder of its own code.
  service: 'src/cli/demo/service.ts',
  receiver: 'src/cli/demo/receiver.ts',
};

/** The floors of the library: entry points share each of them, so that there is one copy of every class and table. */
const floors = ['machines', 'core', 'store', 'engine'].map((name) => ({
  name: `${name}-floor`,
  test: (id) => id.startsWith(path.join(root, name === 'machines' ? name : `src/${name}`) + path.sep),
}));

await build({
  configFile: false,
  root,
  logLevel: 'error',
  build: {
    ssr: true,
    outDir: path.resolve(process.argv[2]),
    target: 'es2023',
    minify: false,
    sourcemap: true,
    rolldownOptions: {
      input: ENTRIES,
      output: {
        entryFileNames: '[name].js',
        chunkFileNames: '[name].js',
        codeSplitting: { groups: floors },
      },
    },
  },
});
