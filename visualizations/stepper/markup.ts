/**
 * Owns how text becomes markup: everything that is shown goes through here and is escaped.
 * Must not know what is shown.
 */

/** Markup that was made here, so that a text cannot be taken for it by mistake. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = Markup | string | number | null | false | readonly Part[];

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function written(part: Part): string {
  if (part instanceof Markup) return part.text;
  if (Array.isArray(part)) return part.map(written).join('');
  if (part === null || part === false) return '';
  return `${part}`.replace(/[&<>"']/g, (char) => ESCAPES[char] ?? char);
}

/** A template whose holes are escaped unless they are markup already. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(strings.map((text, k) => text + written(parts[k] ?? null)).join(''));
}

export const NOTHING = new Markup('');

/** A moment of the simulated clock, or a length of time. */
export function timeText(ms: number): string {
  const units = [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'min'],
    [1_000, 's'],
  ] as const;
  let rest = Math.round(ms);
  const parts: string[] = [];
  for (const [size, unit] of units) {
    if (rest >= size) parts.push(`${Math.floor(rest / size)} ${unit}`);
    rest %= size;
  }
  if (rest > 0) parts.push(`${rest} ms`);
  return parts.join(' ') || '0 s';
}
