// Runs the built command line as a user does, and shows that the demo's verdict can be "no": a demo that cannot fail
// would prove nothing.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { planKills } from '../../src/cli/demo/kill-plan.js';
import { demoOptions } from '../../src/cli/demo/options.js';
import { paintFor } from '../../src/cli/demo/paint.js';
import { writtenAgain } from '../../src/cli/demo/report.js';
import { expectedEffects } from '../../src/cli/demo/script.js';
import { wrap } from '../../src/cli/demo/timeline.js';
import { exitCodeOf, judge, type World } from '../../src/cli/demo/verdict.js';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const main = join(root, 'dist', 'bundle', 'main.js');

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly errors: string;
}

function start(args: readonly string[]) {
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const ran = new Promise<Ran>((resolve) => child.on('close', (code) => resolve({ code, out, errors })));
  return { child, ran, printed: () => out };
}

const run = (...args: readonly string[]): Promise<Ran> => start(args).ran;

async function until(what: () => boolean, ms = 120_000): Promise<void> {
  for (const end = Date.now() + ms; !what(); ) {
    if (Date.now() > end) throw new Error('it did not happen in time');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const folderIn = (out: string): string => /^ {2}folder +(.+)$/m.exec(out)?.[1] as string;

/** The children of a process, where the system lets one look. */
function childrenOf(parent: number): readonly string[] {
  if (!existsSync('/proc/self/stat')) return [];
  return readdirSync('/proc').filter((pid) => {
    try {
      return (
        /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1] === `${parent}`
      );
    } catch {
      return false;
    }
  });
}

describe('durable-turn demo', () => {
  it('kills the service in the batch, recovers, and finds each effect exactly once', async () => {
    const { code, out, errors } = await run('demo');
    expect(errors).toBe('');
    expect(out).toContain('---- SIGKILL  service 1');
    expect(out).toContain('Had taken effect, but no result was told yet:');
    expect(out).toContain('interrupted_turn_resuming, gate "attempt"');
    expect(out).toContain('interrupted_turn_resumed, gate "resumed"');
    expect(out).toContain('reconcile: the receiver has its key');
    expect(out).toMatch(/post runners +receiver +2 +2 +- +-/);
    expect(out).toMatch(/publish front-page +receiver +1 +1 +- +-/);
    expect(out).toMatch(/^each effect exactly once \(11 effects, 0 lost, 0 doubled, 2 kills\)$/m);
    expect(code).toBe(0);
    const lines = out.split('\n');
    expect(lines.filter((line) => line.length > 100)).toEqual([]);
    // Nobody's terminal: no colours.
    expect(out).not.toContain('\u001b');
    expect(out).toContain('removed at the end where all goes well; --keep leaves it');
    expect(existsSync(folderIn(out))).toBe(false);
  });

  it('leaves its folder where that is asked for, with commands that look at it', async () => {
    const { code, out } = await run('demo', '--keep');
    expect(code).toBe(0);
    expect(out).not.toContain('removed');
    try {
      const commands = [...out.matchAll(/^ {2}npx durable-turn (\w+) "(.+)"(?: (.+))?$/gm)];
      expect(commands.map(([, name]) => name)).toEqual(['list', 'show', 'verify']);
      for (const [, name = '', folder = '', ...more] of commands) {
        const looked = await run(name, folder, ...more.filter((word) => word !== undefined));
        expect({ name, ...looked }).toMatchObject({ name, code: 0, errors: '' });
        expect(looked.out, name).not.toBe('');
      }
    } finally {
      rmSync(folderIn(out), { recursive: true, force: true });
    }
  });

  it('asks a person, is killed while they are waited for, and goes on after the restart', async () => {
    const { code, out } = await run('demo', '--kill-at', '5000');
    const told = [
      'asks a person: publish front-page',
      'parked: nothing runs until a person decides',
      '---- SIGKILL  service 1',
      'Waiting for a person, and no call was running: publish front-page',
      'recover(): 0 resumed, 0 held, 1 parked, 0 abandoned',
      'found parked, gate "person", 0 attempts spent',
      'decides: yes, "It reads well.": publish front-page',
      'allowed by ann: publish front-page',
      'dispatched: publish front-page',
      'took effect: publish front-page',
      'outcome: completed',
    ];
    const places = told.map((words) => out.indexOf(words));
    expect(places).not.toContain(-1);
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(code).toBe(0);
  });

  it('holds for kills at random', async () => {
    const { code, out } = await run('demo', '--rounds', '3', '--kill-at', 'random');
    expect(out).toContain('3 rounds, each with a fresh folder and up to 2 kills and one more while it is parked.');
    expect(out).toMatch(/^3 of 3 rounds: each effect exactly once \(33 effects, 0 lost, 0 doubled, \d+ kills?\)$/m);
    expect(code).toBe(0);
  });

  it('kills at the moment that was asked for, and says how to do it again', async () => {
    const { code, out } = await run('demo', '--kill-at', '5');
    expect(out).toContain('Again: durable-turn demo --kill-at 5');
    // What the service told while the signal was on its way came before its death as well.
    expect(out).toMatch(/behind moment ([5-9]|[1-9]\d) /);
    expect(out.split('\n').filter((line) => line.length > 100)).toEqual([]);
    expect(code).toBe(0);
  });

  it('says so when the turn ends before the moment of the kill', async () => {
    const { code, out } = await run('demo', '--kill-at', '5000');
    expect(out).toContain('No kill at moment 5000: the turn had ended before.');
    // The one of the parked turn is in every round.
    expect(out).toContain(', 1 kill)');
    expect(code).toBe(0);
  });

  for (const [signal, expected] of [
    ['SIGINT', 130],
    ['SIGKILL', null],
  ] as const) {
    it.skipIf(process.platform === 'win32')(`leaves no process behind ${signal}`, async () => {
      const { child, ran, printed } = start(['demo', '--kill-at', '5000']);
      await until(() => printed().includes('model called'));
      const children = childrenOf(child.pid as number);
      if (existsSync('/proc/self/stat')) expect(children.length).toBe(2);
      child.kill(signal);
      expect((await ran).code).toBe(expected);
      const isAlive = (pid: string): boolean => existsSync(`/proc/${pid}`);
      await until(() => !children.some(isAlive));
      if (signal === 'SIGKILL') rmSync(folderIn(printed()), { recursive: true, force: true });
      else expect(existsSync(folderIn(printed()))).toBe(false);
    });
  }
});

describe('the command line', () => {
  it('shows its help and its version', async () => {
    expect(await run('--help')).toMatchObject({ code: 0, out: expect.stringContaining('visualize') });
    expect(await run('demo', '--help')).toMatchObject({ code: 0, out: expect.stringContaining('--kill-at random') });
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(await run('--version')).toMatchObject({ code: 0, out: `${version}\n` });
  });

  it('refuses what it does not know', async () => {
    expect(await run('dmeo')).toMatchObject({ code: 2, errors: expect.stringContaining('dmeo') });
    expect(await run()).toMatchObject({ code: 2, errors: expect.stringContaining('name a command') });
  });

  for (const [args, told] of [
    [['--kill-at', 'never'], '--kill-at must be a whole number of at least 1, or random, not "never"'],
    [['--kill-at', '0'], '--kill-at must be'],
    [['--rounds', '0'], '--rounds must be a whole number of at least 1, not "0"'],
    [['--rounds', '2.5'], '--rounds must be'],
    [['--seed', '3'], '--seed goes with --kill-at random'],
    [['--turns', '3'], '--turns'],
    [['now'], 'now'],
  ] as const) {
    it(`names the option in demo ${args.join(' ')}`, async () => {
      const { code, out, errors } = await run('demo', ...args);
      expect({ code, out }).toEqual({ code: 2, out: '' });
      expect(errors).toContain(told);
    });
  }
});

/** A world in which everything happened once; each test breaks one thing in it. */
function goodWorld(): {
  posted: { key: string; to: string; text: string }[];
  files: Record<string, string | undefined>;
} {
  const posted: { key: string; to: string; text: string }[] = [];
  const files: Record<string, string | undefined> = {};
  for (const effect of expectedEffects()) {
    for (let n = 0; n < effect.times; n += 1) {
      if (effect.kind === 'posted') posted.push({ key: `${effect.name} ${n}`, to: effect.to, text: effect.text });
      else if (effect.kind === 'appended') files[effect.path] = `# Log\n\n${effect.line} [key-${n}]\n`;
      else files[effect.path] = effect.text;
    }
  }
  return { posted, files };
}

function verdictOn(change: (world: ReturnType<typeof goodWorld>) => void) {
  const world = goodWorld();
  change(world);
  const verdict = judge(expectedEffects(), world as World);
  const { doubled, lost } = verdict;
  return { doubled, lost, code: exitCodeOf([{ verdict, failure: null }]) };
}

describe('the verdict', () => {
  const runners = (world: ReturnType<typeof goodWorld>) => world.posted.filter(({ to }) => to === 'runners');

  it('is good where each effect happened once', () => {
    expect(verdictOn(() => undefined)).toEqual({ doubled: 0, lost: 0, code: 0 });
    expect(judge(expectedEffects(), goodWorld()).effects).toBe(11);
  });

  it('counts a key that came twice', () => {
    const twice = (world: ReturnType<typeof goodWorld>) => world.posted.push({ ...world.posted[0]! });
    expect(verdictOn(twice)).toEqual({ doubled: 1, lost: 0, code: 1 });
  });

  it('counts an effect that came again under another key', () => {
    const again = (world: ReturnType<typeof goodWorld>) => world.posted.push({ ...world.posted[0]!, key: 'new' });
    expect(verdictOn(again)).toEqual({ doubled: 1, lost: 0, code: 1 });
  });

  it('counts an effect that is missing', () => {
    expect(verdictOn((world) => world.posted.shift())).toEqual({ doubled: 0, lost: 1, code: 1 });
    expect(verdictOn(({ posted }) => posted.splice(0, posted.length))).toEqual({ doubled: 0, lost: 6, code: 1 });
  });

  it('sees through twins: the first one twice is not both once', () => {
    const shared = (world: ReturnType<typeof goodWorld>) => {
      const [first, second] = runners(world);
      (second as { key: string }).key = first?.key ?? '';
    };
    expect(verdictOn(shared)).toEqual({ doubled: 1, lost: 1, code: 1 });
  });

  it('counts lines in files by their keys', () => {
    const append = (line: string) => (world: ReturnType<typeof goodWorld>) => {
      world.files['deploys.log'] += line;
    };
    expect(verdictOn(append('1.4.0 on two small runners [key-0]\n'))).toMatchObject({ doubled: 1, lost: 0, code: 1 });
    expect(verdictOn((world) => (world.files['deploys.log'] = ''))).toMatchObject({ doubled: 0, lost: 1, code: 1 });
    expect(verdictOn((world) => (world.files['deploys.log'] = undefined))).toMatchObject({ lost: 1, code: 1 });
  });

  it('wants written files as they should be', () => {
    expect(verdictOn((world) => (world.files['status.json'] = '{'))).toMatchObject({ lost: 1, code: 1 });
  });

  it('does not overlook an effect that nobody asked for', () => {
    const alien = { key: 'k', to: 'nobody', text: 'hello' };
    expect(verdictOn((world) => world.posted.push(alien))).toEqual({ doubled: 1, lost: 0, code: 1 });
  });

  it('makes the exit code 1 for one bad round among good ones, a round that failed otherwise, and none at all', () => {
    const verdict = judge(expectedEffects(), goodWorld());
    const bad = judge(expectedEffects(), { posted: [], files: {} });
    expect(
      exitCodeOf([
        { verdict, failure: null },
        { verdict, failure: null },
      ]),
    ).toBe(0);
    expect(
      exitCodeOf([
        { verdict, failure: null },
        { verdict: bad, failure: null },
      ]),
    ).toBe(1);
    expect(exitCodeOf([{ verdict, failure: 'the turn came to rest as failed' }])).toBe(1);
    expect(exitCodeOf([])).toBe(1);
  });
});

describe('the parts', () => {
  it('draw the same kills from the same seed', () => {
    expect(planKills('random', 7)).toEqual(planKills('random', 7));
    const counts = Array.from({ length: 200 }, (_, seed) => planKills('random', seed).kills.length);
    expect(new Set(counts)).toEqual(new Set([1, 2]));
    expect(demoOptions(['--kill-at', 'random', '--seed', '7', '--rounds', '2'])).toEqual({
      killAt: 'random',
      seed: 7,
      rounds: 2,
      live: null,
      keep: false,
    });
  });

  it('draw no kill before the first call of the model', () => {
    const drawn = Array.from({ length: 500 }, (_, seed) => planKills('random', seed).kills).flat();
    const moments = drawn.map((kill) => ('moment' in kill ? kill.moment : Number.NaN));
    expect(Math.min(...moments)).toBe(4);
  });

  it('explain a write that took effect twice, and say nothing where none did', () => {
    const call = (label: string, ...landed: number[]) => ({ label, landed, spans: [], asked: [], state: '' });
    const lines = (...calls: readonly ReturnType<typeof call>[]) =>
      writtenAgain({ calls: new Map(calls.map((seen, index) => [`${index}`, seen])) }, expectedEffects());
    expect(lines(call('write_file NOTES.md', 1), call('post chat', 1, 2))).toEqual([]);
    expect(lines(call('write_file NOTES.md', 1, 2))).toEqual([
      '  Idempotent writes may run again with the same key and count once: write_file NOTES.md',
    ]);
  });

  it('colour only a terminal that wants it', () => {
    const bad = (isTTY: boolean, env: NodeJS.ProcessEnv) => paintFor({ isTTY }, env).bad('x');
    expect(bad(true, {})).toBe('\u001b[31mx\u001b[0m');
    expect([bad(false, {}), bad(true, { NO_COLOR: '1' }), bad(true, { TERM: 'dumb' })]).toEqual(['x', 'x', 'x']);
    expect(bad(true, { NO_COLOR: '' })).toBe('\u001b[31mx\u001b[0m');
  });

  it('wrap between names, never inside of one', () => {
    expect(wrap('took effect:', ['post chat', 'post mail'], 23)).toEqual(['took effect: post chat,', '  post mail']);
    expect(wrap('x'.repeat(30), [], 10)).toEqual(['xxxxxxx...']);
  });
});
