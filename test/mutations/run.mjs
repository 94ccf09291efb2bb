// Breaks the code on purpose, one break at a time, in a copy of the tree, and looks whether the tests notice:
// `npm run mutations`, or with a word, only those whose sentence or file holds it. Prints each break that survives and
// exits with 1 where there is one.
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MUTATIONS } from './list.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
/** As many as an ordinary machine has cores to spare. */
const WORKERS = 2;
/** Longer than the tests of one break take: a break that makes one hang is noticed as well. */
const LIMIT_MS = 180_000;
/** Longer than all of them take without a break. */
const UNBROKEN_MS = 900_000;
const COPIED = ['machines', 'src', 'test', '.ci', 'package.json', 'tsconfig.json', 'vitest.config.ts'];

function makeCopy() {
  const copy = mkdtempSync(join(tmpdir(), 'mutations-'));
  for (const name of COPIED) cpSync(join(root, name), join(copy, name), { recursive: true });
  // A test that imports the package as its users do gets the built one, without the break.
  for (const name of ['node_modules', 'dist']) symlinkSync(join(root, name), join(copy, name), 'dir');
  return copy;
}

/** Whether these test files pass in the copy; and what they said. */
function test(copy, files, limitMs = LIMIT_MS) {
  return new Promise((resolve) => {
    const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
    const options = ['run', ...files, '--bail=1', '--maxWorkers=1', '--reporter=dot', '--testTimeout=30000'];
    // A group of its own: what hangs is a worker of vitest, which would outlive it.
    const child = spawn(process.execPath, [vitest, ...options], {
      cwd: copy,
      detached: true,
      env: { ...process.env, NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    child.stdout.on('data', (data) => {
      said += data;
    });
    child.stderr.on('data', (data) => {
      said += data;
    });
    const late = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), limitMs);
    child.on('close', (code) => {
      clearTimeout(late);
      resolve({ passed: code === 0, said });
    });
  });
}

/** The copy as it would be with the break in it; gives back how to undo that. */
function apply(copy, { file, search, replace }) {
  const path = join(copy, file);
  const before = readFileSync(path, 'utf8');
  const parts = before.split(search);
  if (parts.length !== 2) throw new Error(`${file}: "${search}" is there ${parts.length - 1} times; it has to be once`);
  writeFileSync(path, parts.join(replace));
  return () => writeFileSync(path, before);
}

/** Every file that is named: where one of them fails without a break, a failure with one says nothing. */
async function checkUnbroken(all, files) {
  const check = async (copy, n) => {
    const own = files.filter((_, at) => at % all.length === n);
    const { passed, said } = await test(copy, own, UNBROKEN_MS);
    if (!passed) throw new Error(`the tests fail without any break:\n${said.slice(-4_000)}`);
  };
  await Promise.all(all.map(check));
}

async function work(copy, queue, survivors) {
  for (let mutation = queue.shift(); mutation !== undefined; mutation = queue.shift()) {
    const undo = apply(copy, mutation);
    const { passed } = await test(copy, mutation.tests);
    undo();
    if (passed) survivors.push(mutation);
    console.log(`${passed ? 'SURVIVED' : 'caught  '}  ${mutation.file}: ${mutation.breaks}`);
  }
}

const word = process.argv[2] ?? '';
const chosen = MUTATIONS.filter(({ breaks, file }) => `${file} ${breaks}`.includes(word));
if (chosen.length === 0) {
  process.stderr.write(
    `No break has "${word}" in its sentence or file, so nothing would be tested; see test/mutations.\n`,
  );
  process.exit(2);
}
const copies = [];
const began = Date.now();
try {
  for (let n = 0; n < Math.min(WORKERS, chosen.length); n += 1) copies.push(makeCopy());
  const files = [...new Set(chosen.flatMap(({ tests }) => tests))];
  await checkUnbroken(copies, files);
  console.log(`${files.length} test files pass without a break`);
  const queue = [...chosen];
  const survivors = [];
  await Promise.all(copies.map((copy) => work(copy, queue, survivors)));
  const minutes = ((Date.now() - began) / 60_000).toFixed(1);
  console.log(`${chosen.length - survivors.length} caught, ${survivors.length} survived, ${minutes} minutes`);
  if (survivors.length > 0) process.exitCode = 1;
} finally {
  for (const copy of copies) rmSync(copy, { recursive: true, force: true });
}
