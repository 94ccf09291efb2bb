/**
 * Owns `durable-turn demo` from its options to its exit code: the rounds, their folders, and that nothing is left
 * behind but what is to be kept. Must not know how a round is played or printed.
 */
import { randomInt } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { killChildren } from './children.js';
import { planKills } from './kill-plan.js';
import { liveStory, missingFor } from './live.js';
import { type DemoOptions, demoOptions, USAGE, WrongOption } from './options.js';
import { paintFor } from './paint.js';
import { Report } from './report.js';
import { Round, type RoundResult } from './round.js';
import { scriptedStory } from './script.js';
import { exitCodeOf } from './verdict.js';

/** Answers the exit code: 0, or 1 if any effect was lost or doubled or nothing was tested, or 2 for a wrong option. */
export async function demo(args: readonly string[]): Promise<number> {
  let options: DemoOptions | null;
  try {
    options = demoOptions(args);
  } catch (error) {
    if (!(error instanceof WrongOption)) throw error;
    process.stderr.write(`durable-turn demo: ${error.message}\n(durable-turn demo --help shows all options)\n`);
    return 2;
  }
  if (options === null) {
    process.stdout.write(USAGE);
    return 0;
  }
  const missing = await missingFor(options.live);
  if (missing !== null) {
    process.stderr.write(`durable-turn demo: ${missing}\n`);
    return 2;
  }
  return play(options);
}

async function play(options: DemoOptions): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'durable-turn-demo-'));
  const remove = (path: string): void => rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  const leave = endOnSignals(() => options.keep || remove(folder));
  const print = (line: string): void => void process.stdout.write(`${line}\n`);
  const story = options.live === null ? scriptedStory() : liveStory(options.live);
  const report = new Report(print, paintFor(process.stdout, process.env), options.rounds, story);
  report.begin(folder, options.keep);
  const results: RoundResult[] = [];
  const folderOf = (index: number): string => join(folder, `round-${index + 1}`);
  const seed = options.seed ?? randomInt(1_000_000);
  for (let index = 0; index < options.rounds; index += 1) {
    const roundFolder = folderOf(index);
    mkdirSync(roundFolder);
    const plan = planKills(options.killAt, seed + index);
    report.roundBegins(index + 1, plan);
    const round = new Round(roundFolder, plan, report, story);
    const result = await round.play();
    results.push(result);
    report.roundEnds(result, plan, round.unused, roundFolder);
    if (exitCodeOf([result]) === 0 && !options.keep) remove(roundFolder);
  }
  report.end(results);
  const code = exitCodeOf(results);
  const wrong = results.findIndex((result) => exitCodeOf([result]) !== 0);
  if (wrong >= 0 || options.keep) report.look(folderOf(Math.max(wrong, 0)));
  else remove(folder);
  leave();
  return code;
}

const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** Ctrl-C, a closed terminal, an error: no process is left, nor what `cleanUp` removes. The result ends the watch. */
function endOnSignals(cleanUp: () => void): () => void {
  process.on('exit', killChildren);
  const handlers = Object.entries(SIGNALS).map(([signal, code]) => {
    const handler = (): void => {
      killChildren();
      cleanUp();
      process.exit(code);
    };
    process.once(signal, handler);
    return [signal, handler] as const;
  });
  return () => {
    for (const [signal, handler] of handlers) process.off(signal, handler);
  };
}
