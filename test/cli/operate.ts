// The commands of the operator in this process, which is quicker than a new one: what they say, and their exit code.
import { expect, vi } from 'vitest';
import { operate } from '../../src/cli/operator/command.js';

export interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly errors: string;
}

export async function ranHere(...[name = '', ...args]: readonly string[]): Promise<Ran> {
  const said = { out: '', errors: '' };
  const listen = (stream: NodeJS.WriteStream, as: 'out' | 'errors') =>
    vi.spyOn(stream, 'write').mockImplementation((text) => {
      said[as] += text;
      return true;
    });
  const spies = [listen(process.stdout, 'out'), listen(process.stderr, 'errors')];
  try {
    return { code: (await operate(name, args)) ?? null, ...said };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

/** What a command says in JSON, line by line. */
export async function toldHere(...args: readonly string[]): Promise<any[]> {
  const { code, out, errors } = await ranHere(...args, '--json');
  expect({ code, errors }).toEqual({ code: 0, errors: '' });
  return out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}
