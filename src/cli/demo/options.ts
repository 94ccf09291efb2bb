/**
 * Owns the options of `durable-turn demo`: what they mean, and what is said about a wrong one.
 * Must not know what they lead to.
 */
import { parseArgs } from 'node:util';
import { type KillAt, MOST_KILLS } from './kill-plan.js';
import type { Live } from './story.js';

export const USAGE = `Usage: durable-turn demo [--kill-at <n|random>] [--rounds <n>] [--seed <n>]
                         [--base-url <url> --model <name>] [--keep]

Runs a turn in a service process, kills the service with SIGKILL, starts it again, lets the turn finish, and asks an
independent receiver and the files whether each effect happened exactly once. Every round kills it once more, while
the turn is parked: a person decides after the restart. No network, no key: the model follows a script.

  --kill-at n       kill at the n-th moment of the timeline
  --kill-at random  kill at a random moment and a random delay behind it, up to ${MOST_KILLS} times in a round
                    (default: once, in the middle of the parallel batch)
  --rounds n        so many rounds, each in a fresh folder (default: 1, with its timeline)
  --base-url url    ask a real model instead of the script, at any OpenAI-compatible server (such as
                    http://127.0.0.1:11434/v1). It needs the package @ai-sdk/openai-compatible, and reads the key
                    of the server, if it has one, from DEMO_API_KEY
  --model name      the model to ask there; it is told what to do, and may do something else
  --keep            leave the folder, and say which commands look at it (default: it is removed where all went well)
  --seed n          the first round's seed for --kill-at random; each further round adds 1

Exit code: 0, or 1 if any effect was lost or doubled, a turn failed or had no effect at all (nothing was tested then),
or 2 for a wrong option.
`;

export interface DemoOptions {
  readonly killAt: KillAt;
  readonly rounds: number;
  /** Given, or drawn by whoever needs one. */
  readonly seed: number | null;
  /** null: the model follows the script. */
  readonly live: Live | null;
  /** The folder stays, whatever the verdict. */
  readonly keep: boolean;
}

/** What a user typed and can mend. */
export class WrongOption extends Error {}

const OPTIONS = {
  'kill-at': { type: 'string' },
  rounds: { type: 'string' },
  seed: { type: 'string' },
  'base-url': { type: 'string' },
  model: { type: 'string' },
  keep: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** null: the user asks for help. @throws {WrongOption} names the option and the fix. */
export function demoOptions(args: readonly string[]): DemoOptions | null {
  const values = parsed(args);
  if (values.help === true) return null;
  const killAt = values['kill-at'];
  const random = killAt === 'random';
  if (values.seed !== undefined && !random) throw new WrongOption('--seed goes with --kill-at random: add it');
  const counted = random || killAt === undefined ? undefined : whole('--kill-at', killAt, 1, ', or random');
  return {
    killAt: random ? 'random' : (counted ?? 'batch'),
    rounds: whole('--rounds', values.rounds ?? '1', 1),
    seed: values.seed === undefined ? null : whole('--seed', values.seed, 0),
    live: liveFrom(values['base-url'], values.model),
    keep: values.keep === true,
  };
}

function liveFrom(baseUrl: string | undefined, model: string | undefined): Live | null {
  if (baseUrl === undefined && model === undefined) return null;
  if (baseUrl === undefined || model === undefined || model === '') {
    throw new WrongOption('--base-url and --model go together: give both');
  }
  if (!URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol)) {
    throw new WrongOption(`--base-url must be an http or https URL, not "${baseUrl}"`);
  }
  return { baseUrl, model };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: false }).values;
  } catch (error) {
    throw new WrongOption(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

const MOST = 1_000_000_000;

function whole(option: string, text: string, least: number, or = ''): number {
  const number = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= least && number <= MOST) return number;
  throw new WrongOption(`${option} must be a whole number of at least ${least}${or}, not "${text}"`);
}
