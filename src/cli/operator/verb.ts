/**
 * Owns what the commands of the operator have in common: their arguments, their refusals and their exit codes.
 * Must not know what any of them does.
 */
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { messageOf, TurnError } from '../../core/errors.js';
import { Output } from './output.js';

/**
 * 0 and these: damage was found or the command failed; the arguments make no sense; a service has the folder open; the
 * folder is repaired and something of it is lost, which a script must tell from a repair that failed.
 */
export const FAILED = 1;
export const WRONG_ARGUMENTS = 2;
export const IN_USE = 3;
export const LOST = 4;
/** Those of a shell for what a signal ended: SIGHUP, SIGINT, SIGTERM. */
type EndedBySignal = 129 | 130 | 143;
export type ExitCode = 0 | typeof FAILED | typeof WRONG_ARGUMENTS | typeof IN_USE | typeof LOST | EndedBySignal;

/** What was asked: the arguments by the names of the verb. */
export interface Request {
  readonly folder: string;
  /** Behind the folder. */
  readonly names: readonly string[];
  readonly options: Readonly<Record<string, string | boolean | undefined>>;
}

export interface Verb {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** Behind `durable-turn <name>`, as in `<folder> <session>`. What is in brackets may be left out. */
  readonly takes: readonly string[];
  readonly options?: readonly {
    readonly name: string;
    readonly type: 'string' | 'boolean';
    /** What stands for the value of a string. */
    readonly value?: string;
    readonly what: string;
  }[];
  /** More for `--help`. */
  readonly explains: string;
  run(request: Request, output: Output): Promise<ExitCode>;
}

/** Told in a line, without a stack. */
export class Refusal extends Error {
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}

export async function perform(verb: Verb, args: readonly string[]): Promise<ExitCode> {
  // Arguments that make no sense are told in the form that was asked for, as everything is.
  let output = new Output(process.stdout, process.stderr, args.includes('--json'));
  let folder = '';
  try {
    const { positionals, values } = parsed(verb, args);
    output = new Output(process.stdout, process.stderr, values.json === true);
    if (values.help === true) {
      await output.text(usageOf(verb));
      return 0;
    }
    const [first = '', ...names] = checked(verb, positionals);
    folder = first;
    return await verb.run({ folder, names, options: values as Request['options'] }, output);
  } catch (error) {
    const exitCode = exitCodeOf(error);
    const message = exitCode === IN_USE ? inUse(folder) : (messageOf(error).split('\n')[0] ?? '');
    const code = error instanceof TurnError ? error.code : undefined;
    const line = `durable-turn ${verb.name}: ${message}`;
    output.warn(output.json ? JSON.stringify({ error: message, code, exitCode }) : line);
    return exitCode;
  }
}

function parsed(verb: Verb, args: readonly string[]) {
  const options: NonNullable<ParseArgsConfig['options']> = {
    json: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  };
  for (const { name, type } of verb.options ?? []) options[name] = { type };
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options });
  } catch (error) {
    const names = optionsOf(verb).map(([name]) => name);
    // Behind an unknown option Node gives advice about arguments that begin with a dash.
    const what = messageOf(error).replace(/(?<=^Unknown option .*)\. .*/s, '');
    const line = what.replaceAll('\n', ' ').replace(/\.$/, '');
    throw new Refusal(WRONG_ARGUMENTS, `${line}; ${verb.name} has ${names.join(', ')}`);
  }
}

function checked(verb: Verb, positionals: readonly string[]): readonly string[] {
  const missing = verb.takes.find((name, index) => name.startsWith('<') && (positionals[index] ?? '') === '');
  if (missing !== undefined) throw new Refusal(WRONG_ARGUMENTS, `${missing} is missing: ${lineOf(verb)}`);
  const extra = positionals[verb.takes.length];
  if (extra !== undefined) throw new Refusal(WRONG_ARGUMENTS, `${extra} is too much: ${lineOf(verb)}`);
  return positionals;
}

function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof Refusal) return error.exitCode;
  return error instanceof TurnError && error.code === 'TURN_STORE_LOCKED' ? IN_USE : FAILED;
}

/** The store tells those who write programs what to do; who has a command can stop the service. */
const inUse = (folder: string): string =>
  `"${folder}" is in use: stop the service that has it open, or wait for the other command, and try again`;

const lineOf = (verb: Verb): string => ['durable-turn', verb.name, ...verb.takes].join(' ');

/** Each with what it does, those of all commands last. */
const optionsOf = (verb: Verb): readonly (readonly [string, string])[] => [
  ...(verb.options ?? []).map(({ name, value, what }): [string, string] => [
    `--${name}${value === undefined ? '' : ` <${value}>`}`,
    what,
  ]),
  ['--json', 'JSON instead of text, one value a line; errors on stderr as JSON'],
  ['--help', 'this text'],
];

function usageOf(verb: Verb): string {
  const options = optionsOf(verb);
  const width = Math.max(...options.map(([name]) => name.length));
  const lines = options.map(([name, what]) => `  ${name.padEnd(width)}  ${what}`);
  const codes =
    'Exit codes: 0 all is well, 1 damage was found or it failed, 2 wrong arguments, 3 a service has the folder open,\n' +
    '4 the folder is repaired and something of it is lost, 129, 130 or 143 a signal ended it.';
  return [`Usage: ${lineOf(verb)} [options]`, '', verb.explains, '', ...lines, '', codes, ''].join('\n');
}
