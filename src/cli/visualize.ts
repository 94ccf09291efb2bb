/**
 * Owns the sub-command `durable-turn visualize <module> [--export name] [--out folder]`: it finds the machine in a
 * module of the user's and writes its picture, its tables and its other forms.
 * Must not know how they are made.
 */
import { existsSync } from 'node:fs';
import { isAbsolute, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import type { AnyStateMachine } from 'xstate';
import { chartFiles } from '../visualize/chart-files.js';
import { writeFiles } from '../visualize/folder.js';
import { isMachine } from '../visualize/xstate-fields.js';

const USAGE = `Usage: durable-turn visualize <module> [--export name] [--out folder]

Writes the chart of an XState 5 machine as SVG, Markdown tables, mermaid, SCXML and one literal.

  <module>       a file, or the name of a package, that exports the machine; it is loaded and run
  --export name  which export is the machine; without it, the only one there is
  --out folder   where to write; default: charts
`;

/** What a user can do something about is told in a line, without a stack. */
class Refusal extends Error {
  readonly exitCode: 1 | 2;

  constructor(exitCode: 1 | 2, message: string, cause?: unknown) {
    super(message, { cause });
    this.exitCode = exitCode;
  }
}

/** The first line: Node adds a list of who imported whom. */
const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : `${error}`).split('\n')[0] ?? '';

interface Request {
  readonly module: string;
  readonly name: string | null;
  readonly out: string;
}

function requestOf(args: readonly string[]): Request | null {
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(args);
  } catch (error) {
    // The first sentence: Node adds advice about arguments that begin with a dash.
    const what = reasonOf(error).split('. ')[0];
    throw new Refusal(2, `${what} (durable-turn visualize --help shows all options)`, error);
  }
  const { values, positionals } = parsed;
  if (values.help) return null;
  const [module, more] = positionals;
  if (module === undefined) throw new Refusal(2, 'name the module that exports the machine');
  if (more !== undefined) throw new Refusal(2, `one module at a time, and ${more} is another one`);
  return { module, name: values.export ?? null, out: values.out };
}

const parse = (args: readonly string[]) =>
  parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      export: { type: 'string' },
      out: { type: 'string', default: 'charts' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });

/** A name that is a file here means that file; any other one is left to Node. */
function specifierOf(module: string): string {
  const file = resolve(module);
  if (existsSync(file)) return pathToFileURL(file).href;
  if (module.startsWith('.') || isAbsolute(module)) throw new Refusal(2, `there is no file ${module}`);
  return module;
}

async function load(module: string): Promise<Record<string, unknown>> {
  const specifier = specifierOf(module);
  try {
    return await import(specifier);
  } catch (error) {
    const hint = /\.[cm]?tsx?$/.test(module) ? ' (a TypeScript file has to be compiled first)' : '';
    throw new Refusal(1, `${module} could not be loaded${hint}: ${reasonOf(error)}`, error);
  }
}

function machineIn(exports: Record<string, unknown>, { module, name }: Request): AnyStateMachine {
  // A CommonJS module shows its exports under `default` as well.
  const inner = exports.default;
  const all = typeof inner === 'object' && inner !== null && !isMachine(inner) ? { ...inner, ...exports } : exports;
  const machines = new Map<string, AnyStateMachine>();
  for (const [key, value] of Object.entries(all)) if (isMachine(value)) machines.set(key, value);
  const names = [...machines.keys()].join(', ');
  if (name !== null) {
    const chosen = machines.get(name);
    if (chosen !== undefined) return chosen;
    throw new Refusal(2, `${module} exports no machine ${name}${names === '' ? '' : `; it has ${names}`}`);
  }
  const [first, ...others] = new Set(machines.values());
  if (first === undefined) throw new Refusal(2, `${module} exports no machine of XState 5`);
  if (others.length > 0)
    throw new Refusal(2, `${module} exports several machines: choose one with --export (${names})`);
  return first;
}

async function run(request: Request): Promise<void> {
  const machine = machineIn(await load(request.module), request);
  const files = await chartFiles(machine);
  const folder = resolve(request.out);
  writeFiles(folder, files, () => false);
  const shown = relative(process.cwd(), folder) || '.';
  for (const file of files.keys()) process.stdout.write(`${shown}/${file}\n`);
}

/** Answers the exit code: 0, or 1 when there is nothing to draw, or 2 when the arguments make no sense. */
export async function visualize(args: string[]): Promise<number> {
  try {
    const request = requestOf(args);
    if (request === null) process.stdout.write(USAGE);
    else await run(request);
    return 0;
  } catch (error) {
    process.stderr.write(`durable-turn visualize: ${reasonOf(error)}\n`);
    return error instanceof Refusal ? error.exitCode : 1;
  }
}
