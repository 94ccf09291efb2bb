// Makes a program out of the sources for tests that need another process or thread: Node 20 cannot run TypeScript,
// and the build of the package may be older than the sources.
import { mkdtempSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** @returns The path of a module that plain Node can run. The folder is the caller's to remove. */
export async function bundle(name: string): Promise<{ readonly folder: string; readonly program: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'durable-turn-bundle-'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction');
  await build({
    configFile: false,
    root,
    logLevel: 'silent',
    build: {
      ssr: join(root, 'test', 'store', name),
      outDir: join(folder, 'out'),
      emptyOutDir: false,
      minify: false,
      rollupOptions: { output: { entryFileNames: 'program.mjs' } },
    },
  });
  return { folder, program: join(folder, 'out', 'program.mjs') };
}
