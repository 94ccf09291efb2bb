// Makes a clone ready to run: installs when node_modules is not what the lock file says, and builds when the sources
// are not the ones that were built. It is silent when there is nothing to do and prints one line for each step
// otherwise, on standard error, so that the output of the command that follows stays its own.
//
// This file has to parse on old versions of Node, so that they get a message instead of a syntax error. Hence no
// optional chaining, no `??`, no top-level await, and no imports but the ones that Node brings along.
import * as childProcess from 'node:child_process';
import * as crypto from 'node:crypto';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import * as url from 'node:url';

const OLDEST_NODE = [20, 19];

const root = path.dirname(path.dirname(url.fileURLToPath(import.meta.url)));
const modulesDir = path.join(root, 'node_modules');
const modulesStamp = path.join(modulesDir, '.durable-turn-lock');
const distDir = path.join(root, 'dist');
const distStamp = path.join(distDir, '.sources');
const lockPath = path.join(root, '.ci', '.prepare.lock');

// The holder of the lock touches it this often, and one that was not touched for this long was left by a process
// that is gone.
const LOCK_TOUCH_MS = 1000;
const LOCK_STALE_MS = 20000;
const LOCK_POLL_MS = 100;

function say(line) {
  process.stderr.write(`prepare: ${line}\n`);
}

function refuseOldNode() {
  const parts = process.versions.node.split('.').map(Number);
  if (parts[0] > OLDEST_NODE[0] || (parts[0] === OLDEST_NODE[0] && parts[1] >= OLDEST_NODE[1])) return;
  say(`durable-turn needs Node ${OLDEST_NODE.join('.')} or newer, and this is Node ${process.versions.node}.`);
  process.exit(1);
}

function readText(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
    throw error;
  }
}

// ---- What should be there -------------------------------------------------------------------------------------

function hashOf(parts) {
  const hash = crypto.createHash('sha256');
  for (const part of parts) hash.update(`${part.length}:`).update(part);
  return hash.digest('hex');
}

/** Native packages differ between platforms, and a checkout can be shared between a host and a container. */
function wantedModules() {
  const lock = readText(path.join(root, 'package-lock.json'));
  if (lock === null) throw new Error('package-lock.json is missing');
  return hashOf([lock, process.platform, process.arch]);
}

function sourceFiles(dir) {
  let entries;
  try {
    entries = fs.readdirSync(path.join(root, dir), { withFileTypes: true });
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw error;
  }
  let files = [];
  for (const entry of entries) {
    const name = `${dir}/${entry.name}`;
    if (entry.isDirectory()) files = files.concat(sourceFiles(name));
    else if (/\.[cm]?tsx?$|\.json$/.test(entry.name)) files.push(name);
  }
  return files;
}

function wantedBuild() {
  const files = ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json', '.ci/bundle.mjs']
    .concat(sourceFiles('machines'), sourceFiles('src'))
    .sort();
  const parts = [];
  for (const file of files) parts.push(file, readText(path.join(root, file)) || '');
  return hashOf(parts);
}

function modulesAreCurrent() {
  return readText(modulesStamp) === wantedModules();
}

function buildIsCurrent() {
  return readText(distStamp) === wantedBuild();
}

// ---- One process at a time ------------------------------------------------------------------------------------

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function processIsAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code !== 'ESRCH';
  }
}

function lockIsStale(content, touchedAt) {
  if (Date.now() - touchedAt > LOCK_STALE_MS) return true;
  const holder = content.split(' ');
  return holder.length === 3 && holder[1] === os.hostname() && !processIsAlive(Number(holder[2]));
}

/** Whether the lock was left behind and is now out of the way. The rename lets only one of those who wait win. */
function removeStaleLock() {
  const content = readText(lockPath);
  if (content === null) return true;
  let touchedAt;
  try {
    touchedAt = fs.statSync(lockPath).mtimeMs;
  } catch (_gone) {
    return true;
  }
  if (!lockIsStale(content, touchedAt)) return false;
  const aside = `${lockPath}.${process.pid}.stale`;
  try {
    fs.renameSync(lockPath, aside);
  } catch (_taken) {
    return false;
  }
  // Another process may have removed the stale lock and taken a fresh one between the look and the rename: put
  // that one back.
  const wasStale = readText(aside) === content;
  if (wasStale) fs.unlinkSync(aside);
  else fs.renameSync(aside, lockPath);
  return wasStale;
}

async function acquireLock() {
  const mine = `${crypto.randomBytes(8).toString('hex')} ${os.hostname()} ${process.pid}`;
  let waiting = false;
  for (;;) {
    try {
      fs.writeFileSync(lockPath, mine, { flag: 'wx' });
      break;
    } catch (error) {
      // Windows reports a file that is just being deleted as EPERM or EBUSY.
      if (error.code !== 'EEXIST' && error.code !== 'EPERM' && error.code !== 'EBUSY') throw error;
      if (error.code !== 'EEXIST' && !fs.existsSync(lockPath)) throw error;
    }
    if (removeStaleLock()) continue;
    if (!waiting) {
      waiting = true;
      say('another process is installing or building, waiting for it');
    }
    await sleep(LOCK_POLL_MS);
  }
  const touch = setInterval(() => {
    try {
      fs.utimesSync(lockPath, new Date(), new Date());
    } catch (_gone) {
      // The lock was taken for stale, for example after the machine slept. The work goes on: both steps are
      // repeatable.
    }
  }, LOCK_TOUCH_MS);
  return () => {
    clearInterval(touch);
    if (readText(lockPath) === mine) fs.unlinkSync(lockPath);
  };
}

// ---- The steps ------------------------------------------------------------------------------------------------

/** Runs a command, keeps what it prints, and shows that only when the command fails. */
function run(what, command, args, options) {
  return new Promise((resolve, reject) => {
    const child = childProcess.spawn(
      command,
      args,
      Object.assign({ cwd: root, stdio: ['ignore', 'pipe', 'pipe'] }, options),
    );
    const output = [];
    child.stdout.on('data', (chunk) => output.push(chunk));
    child.stderr.on('data', (chunk) => output.push(chunk));
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === 0) return resolve();
      process.stderr.write(Buffer.concat(output));
      reject(new Error(`${what} failed (${signal || `exit code ${code}`})`));
    });
  });
}

function isForThisPlatform(entry) {
  return (!entry.os || entry.os.includes(process.platform)) && (!entry.cpu || entry.cpu.includes(process.arch));
}

/** Whether npm itself recorded an installation of exactly this lock file, as after `npm ci` by hand. */
function npmInstalledTheLock() {
  const installed = readText(path.join(modulesDir, '.package-lock.json'));
  if (installed === null) return false;
  const there = JSON.parse(installed).packages;
  const wanted = JSON.parse(readText(path.join(root, 'package-lock.json'))).packages;
  for (const name of Object.keys(there)) {
    if (!wanted[name]) return false;
  }
  for (const name of Object.keys(wanted)) {
    if (name === '') continue;
    // npm leaves out optional packages that are for other platforms.
    if (!there[name] && !wanted[name].optional) return false;
    if (there[name] && there[name].integrity !== wanted[name].integrity) return false;
    if (there[name] && !isForThisPlatform(there[name])) return false;
    if (there[name] && !fs.existsSync(path.join(root, name, 'package.json'))) return false;
  }
  return true;
}

async function install() {
  const wanted = wantedModules();
  if (!npmInstalledTheLock()) {
    say('installing the packages of package-lock.json (npm ci)');
    fs.rmSync(modulesStamp, { force: true });
    const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
    const env = Object.assign({}, process.env);
    // A dry run of `npm pack` or `npm publish` must not turn the installation that it needs into a dry run.
    delete env.npm_config_dry_run;
    delete env.npm_config_global;
    const npm = process.env.npm_execpath;
    if (npm && /npm-cli\.js$/.test(npm)) await run('npm ci', process.execPath, [npm].concat(args), { env });
    else if (process.platform === 'win32') await run('npm ci', 'npm.cmd', args, { env, shell: true });
    else await run('npm ci', 'npm', args, { env });
  }
  fs.writeFileSync(modulesStamp, wanted);
}

/** Windows refuses to rename a directory while another program looks into it, which passes. */
async function renameDir(from, to) {
  for (let attempt = 0; ; attempt += 1) {
    try {
      fs.renameSync(from, to);
      return;
    } catch (error) {
      const passes = error.code === 'EPERM' || error.code === 'EBUSY' || error.code === 'EACCES';
      if (!passes || attempt >= 20) throw error;
      await sleep(100);
    }
  }
}

function removeLeftovers() {
  for (const name of fs.readdirSync(root)) {
    if (/^dist\.(new|old)-/.test(name)) fs.rmSync(path.join(root, name), { recursive: true, force: true });
  }
}

/** Builds beside dist and swaps, so that a failed build, or a file that is gone, leaves nothing behind in dist. */
async function build() {
  say('building machines/ and src/ into dist/ (tsc, vite)');
  removeLeftovers();
  const wanted = wantedBuild();
  const fresh = path.join(root, `dist.new-${process.pid}`);
  const old = path.join(root, `dist.old-${process.pid}`);
  const tsc = path.join(modulesDir, 'typescript', 'bin', 'tsc');
  try {
    await run('tsc', process.execPath, [
      tsc,
      '-p',
      'tsconfig.build.json',
      '--outDir',
      path.basename(fresh),
      '--pretty',
      'false',
    ]);
    await run('vite', process.execPath, [path.join(root, '.ci', 'bundle.mjs'), path.join(fresh, 'bundle')]);
    fs.writeFileSync(path.join(fresh, '.sources'), wanted);
    if (fs.existsSync(distDir)) await renameDir(distDir, old);
    await renameDir(fresh, distDir);
  } finally {
    removeLeftovers();
  }
}

async function prepare() {
  if (modulesAreCurrent() && buildIsCurrent()) return;
  const release = await acquireLock();
  try {
    if (!modulesAreCurrent()) await install();
    if (!buildIsCurrent()) await build();
  } finally {
    release();
  }
}

refuseOldNode();
prepare().catch((error) => {
  say(error.message);
  process.exit(1);
});
