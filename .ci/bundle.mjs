// Makes of the sources what the package ships: a few files for each entry point, in place of the 200 modules a person
// reads. Node resolves, reads, parses and links each module apart, and that was three quarters of what an import took.
//
//   node .ci/bundle.mjs <folder>
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

/** What package.json names, and the processes that the demo starts from the folder of its own code. */
const ENTRIES = {
  index: 'src/index.ts',
  machines: 'machines/index.ts',
  level: 'src/store/level-store.ts',
  testing: 'src/testing/index.ts',
  paths: 'src/testing/path-tests.ts',
  'ai-sdk': 'src/ai-sdk/index.ts',
  visualize: 'src/visualize/index.ts',
  main: 'src/cli/main.ts',
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
