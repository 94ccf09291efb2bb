/**
 * Owns colours: on a terminal that wants them, and nowhere else.
 * Must not know what is printed.
 */

export interface Paint {
  good(text: string): string;
  bad(text: string): string;
  dim(text: string): string;
  strong(text: string): string;
}

/** https://no-color.org: any value that is not empty means no. */
export function paintFor(stream: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): Paint {
  const coloured = stream.isTTY === true && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb';
  const wrap =
    (code: number) =>
    (text: string): string =>
      coloured ? `\u001b[${code}m${text}\u001b[0m` : text;
  return { good: wrap(32), bad: wrap(31), dim: wrap(2), strong: wrap(1) };
}
