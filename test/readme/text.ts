// Reads the README as data: its sections, code blocks, tables and links. No test looks at its prose.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const readme = readFileSync(join(root, 'README.md'), 'utf8');
export const source = (path: string): string => readFileSync(join(root, path), 'utf8');

export interface Block {
  readonly language: string;
  readonly code: string;
  /** The nearest heading above it. */
  readonly section: string;
}

interface Part {
  readonly heading: string;
  readonly lines: readonly string[];
}

const FENCE = /^```(\w*)$/;

/** What stands between two headings; a # within a code block is no heading. */
export const parts: readonly Part[] = readParts();

function readParts(): Part[] {
  const found: { heading: string; lines: string[] }[] = [{ heading: '', lines: [] }];
  let fenced = false;
  for (const line of readme.split('\n')) {
    if (FENCE.test(line)) fenced = !fenced;
    const heading = fenced ? null : /^#+ (.+)$/.exec(line);
    if (heading === null) found.at(-1)?.lines.push(line);
    else found.push({ heading: heading[1] as string, lines: [] });
  }
  if (fenced) throw new Error('a code block of the README is not closed');
  return found;
}

export function partOf(heading: string): Part {
  const matching = parts.filter((part) => part.heading === heading);
  if (matching.length !== 1) throw new Error(`the README has ${matching.length} sections "${heading}"`);
  return matching[0] as Part;
}

export const blocks: readonly Block[] = parts.flatMap(({ heading, lines }) => {
  const found: Block[] = [];
  let open: { language: string; lines: string[] } | null = null;
  for (const line of lines) {
    const fence = FENCE.exec(line);
    if (open !== null && fence !== null) {
      found.push({ language: open.language, code: `${open.lines.join('\n')}\n`, section: heading });
      open = null;
    } else if (open !== null) open.lines.push(line);
    else if (fence !== null) open = { language: fence[1] as string, lines: [] };
  }
  return found;
});

export function blockIn(section: string, language: string): string {
  const found = blocks.find((block) => block.section === section && block.language === language);
  if (found === undefined) throw new Error(`section "${section}" has no ${language} block`);
  return found.code;
}

/** The rows of the first table of a section whose first column has this head, without head and rule. */
export function tableIn(section: string, firstColumn: string): readonly (readonly string[])[] {
  const { lines } = partOf(section);
  const start = lines.findIndex((line) => line.startsWith(`| ${firstColumn} |`));
  if (start === -1) throw new Error(`section "${section}" has no table of ${firstColumn}`);
  const rows = lines.slice(start + 2);
  const end = rows.findIndex((line) => !line.startsWith('|'));
  return rows.slice(0, end === -1 ? undefined : end).map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
}

/** What stands in backticks in the first cell of each row. */
export const namesIn = (rows: readonly (readonly string[])[]): readonly string[] =>
  rows.flatMap(([first]) => [...(first ?? '').matchAll(/`([^`]+)`/g)].map((match) => match[1] as string));

/** 90,000 is written with commas for people. */
export const numberIn = (cell: string | undefined): number => Number((cell ?? '').replaceAll(',', ''));

/** The anchor a heading has on GitHub. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');

export const anchors: ReadonlySet<string> = new Set(parts.map(({ heading }) => anchorOf(heading)));

export const links: readonly string[] = [...readme.replace(/^```[\s\S]*?^```$/gm, '').matchAll(/\]\(([^)\s]+)\)/g)].map(
  (match) => match[1] as string,
);

export interface Member {
  readonly name: string;
  readonly required: boolean;
}

/** What an interface declares itself, methods included: lines with two spaces in front, up to its closing brace. */
export function membersOf(path: string, name: string): readonly Member[] {
  const from = source(path).split(new RegExp(`^export interface ${name}\\b`, 'm'))[1];
  const body = from?.split('\n}')[0];
  if (body === undefined) throw new Error(`${path} has no interface ${name}`);
  const lines = body.matchAll(/^ {2}(?:readonly )?(\w+)(\??)[:(<]/gm);
  return [...lines].map((match) => ({ name: match[1] as string, required: match[2] === '' }));
}

/** The words of a union of texts. */
export function unionIn(path: string, name: string): readonly string[] {
  const union = new RegExp(`^export type ${name} =([^;]+);`, 'm').exec(source(path))?.[1];
  if (union === undefined) throw new Error(`${path} has no union ${name}`);
  return [...union.matchAll(/'([\w-]+)'/g)].map((match) => match[1] as string);
}

const OPTION_TYPES: { readonly [type: string]: string } = {
  FollowOptions: 'src/engine/follow.ts',
  RecoverOptions: 'src/engine/turn-engine.ts',
  CancelOptions: 'src/engine/turn-handles.ts',
  ApprovalDecision: 'src/engine/approvals.ts',
};

/** The arguments of a method of the engine: those that are objects of options by their fields, `?` behind what may be left out. */
export function argumentsOf(method: string): string {
  const signature = new RegExp(`^ {2}${method}\\((.*)\\): `, 'm').exec(source('src/engine/turn-engine.ts'))?.[1];
  if (signature === undefined) throw new Error(`TurnEngine has no method ${method}`);
  const list = [...signature.matchAll(/(\w+)(\??): (\{.*?\}|[^,{]+)(?:, |$)/g)].map(([, name, free, type = '']) => {
    const fields = fieldsIn(type);
    return fields === undefined ? `${name}${free}` : `{ ${fields.join(', ')} }${free}`;
  });
  return `(${list.join(', ')})`;
}

function fieldsIn(type: string): readonly string[] | undefined {
  // What a call came to, and who says so: the settlements differ in what they need.
  if (type === 'SettleBy') return ['outcome', 'output?', 'error?', 'by', 'attended?'];
  const path = OPTION_TYPES[type];
  if (path !== undefined) return membersOf(path, type).map(({ name, required }) => `${name}${required ? '' : '?'}`);
  if (!type.startsWith('{')) return undefined;
  return [...type.matchAll(/(?:\{|;) (?:readonly )?(\w+\??)[:(]/g)].map((match) => match[1] as string);
}
