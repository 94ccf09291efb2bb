// Reads imports and plain code out of the text of a source or emitted file, for the tests about layering and about the
// package. It knows the lexical rules of TypeScript and nothing about this project; floors.test.ts tests it.

/** A word before which `/` begins a regular expression, where after any other word it divides. */
const REGEX_FOLLOWS = /(?:^|[^\w$.])(?:return|typeof|case|in|of|do|else|void|delete|throw|new|await|yield)$/;

/**
 * The source with comments and the contents of strings and regular expressions replaced by spaces, so that prose
 * never looks like code. The length stays the same: a position here is a position in the source.
 */
export function codeOnly(source: string): string {
  const out = source.split('');
  const blank = (from: number, to: number) => {
    for (let k = from; k < to && k < out.length; k += 1) if (out[k] !== '\n') out[k] = ' ';
  };
  /** For each open `${`, how many braces are open inside it. */
  const substitutions: number[] = [];
  let significant = '';
  let i = 0;

  const skipTemplate = () => {
    const start = i;
    while (i < source.length && source[i] !== '`') {
      if (source[i] === '\\') i += 1;
      else if (source.startsWith('${', i)) {
        blank(start, i);
        i += 2;
        substitutions.push(0);
        significant = '{';
        return;
      }
      i += 1;
    }
    blank(start, i);
    i += 1;
    significant = '`';
  };
  const skipQuoted = (quote: string) => {
    const start = ++i;
    while (i < source.length && source[i] !== quote && source[i] !== '\n') i += source[i] === '\\' ? 2 : 1;
    blank(start, i);
    i += 1;
    significant = quote;
  };
  const skipRegex = () => {
    const start = ++i;
    let inClass = false;
    while (i < source.length && source[i] !== '\n' && (inClass || source[i] !== '/')) {
      if (source[i] === '\\') i += 1;
      else if (source[i] === '[') inClass = true;
      else if (source[i] === ']') inClass = false;
      i += 1;
    }
    blank(start, i);
    i += 1;
    significant = '/';
  };
  const skipComment = (end: string) => {
    const found = source.indexOf(end, i + 2);
    const stop = found < 0 ? source.length : found + (end === '\n' ? 0 : end.length);
    blank(i, stop);
    i = stop;
  };

  if (source.startsWith('#!')) skipComment('\n');
  while (i < source.length) {
    const char = source.charAt(i);
    if (source.startsWith('//', i)) skipComment('\n');
    else if (source.startsWith('/*', i)) skipComment('*/');
    else if (char === "'" || char === '"') skipQuoted(char);
    else if (char === '`') {
      i += 1;
      skipTemplate();
    } else if (char === '/' && (/[(,=:[!&|?{};+\-*%<>~^]$|^$/.test(significant) || REGEX_FOLLOWS.test(significant)))
      skipRegex();
    else {
      const last = substitutions.length - 1;
      if (last >= 0 && char === '{') substitutions[last] = (substitutions[last] ?? 0) + 1;
      if (last >= 0 && char === '}') {
        if (substitutions[last] === 0) {
          substitutions.pop();
          i += 1;
          skipTemplate();
          continue;
        }
        substitutions[last] = (substitutions[last] ?? 0) - 1;
      }
      // The last few characters are enough to recognise the word or sign before a slash.
      if (/\s/.test(char)) significant = /\w$/.test(significant) ? significant : significant.trimEnd();
      else significant = (/[\w$]/.test(char) && /[\w$.]$/.test(significant) ? significant : '') + char;
      i += 1;
    }
  }
  return out.join('');
}

export interface Import {
  readonly specifier: string;
  /** What stands between the keyword and the specifier. */
  readonly clause: string;
}

/** Every static import and re-export, type-only ones too, every `import()` and every `require()`. */
export function importsOf(source: string): Import[] {
  const code = codeOnly(source);
  const found: Import[] = [];
  const statement = /(?<![\w$.])(?:import|export)\b((?:(?![;'"`(=]|\b(?:import|export)\b)[\s\S])*?)(['"])/g;
  for (const match of code.matchAll(statement)) {
    const clause = match[1] ?? '';
    // `export type X = 'a'` has no `from`, and only a bare `import 'x'` may go without one.
    const isBareImport = match[0].startsWith('import') && clause.trim() === '';
    if (!isBareImport && !/\bfrom\s*$/.test(clause)) continue;
    found.push({ clause: clause.trim(), specifier: literalAt(source, code, match.index + match[0].length - 1) });
  }
  for (const match of code.matchAll(/(?<![\w$.])(import|require)\s*\(\s*/g)) {
    found.push({ clause: `${match[1]}()`, specifier: literalAt(source, code, match.index + match[0].length) });
  }
  return found;
}

function literalAt(source: string, code: string, at: number): string {
  const quote = code.charAt(at);
  if (quote !== "'" && quote !== '"') return '<computed>';
  return source.slice(at + 1, code.indexOf(quote, at + 1));
}
