/**
 * Owns how moments, sizes, texts and sessions are put into words for the operator.
 * Must not know where they come from.
 */
import type { Message } from '../../core/messages.js';
import type { ApprovalRecord, Head } from '../../core/records.js';

export function moment(ms: number | null | undefined): string {
  if (typeof ms !== 'number' || !(Math.abs(ms) <= 8.64e15)) return '-';
  return new Date(ms).toISOString();
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

export function size(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; value >= 1000 && unit < UNITS.length - 1; unit += 1) value /= 1000;
  return `${unit === 0 ? value : value.toFixed(1)} ${UNITS[unit]}`;
}

/** Longer texts are cut for a person; `--json` has them whole. */
const SHOWN = 2_000;

export function cut(text: string, shown = SHOWN): string {
  if (text.length <= shown) return text;
  // A cut may fall into the middle of a character.
  return `${text.slice(0, shown).toWellFormed()} … (${text.length} characters; --json has them all)`;
}

export const oneLine = (text: string, shown = 100): string => {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= shown ? line : `${line.slice(0, shown).toWellFormed()}…`;
};

/** Cells of a line, each as wide as the column. What was stored makes no line of its own. */
export const row = (widths: readonly number[], cells: readonly (string | number)[]): string =>
  cells
    .map((cell, index) =>
      String(cell)
        .replaceAll('\n', '\\n')
        .padEnd(widths[index] ?? 0),
    )
    .join('  ')
    .trimEnd();

export const plural = (count: number, what: string, many = `${what}s`): string =>
  `${count} ${count === 1 ? what : many}`;

/** Of the longest that `stateOf` says. */
export const STATE_WIDTH = 'waits for a person: awaitingApproval'.length;

/** Where a session is, in a word or two. */
export function stateOf(head: Head): string {
  if (head.inProgress)
    return head.waiting === null ? `in progress: ${head.phase}` : `waits for a person: ${head.phase}`;
  if (head.waitingInput > 0) return 'input waits';
  const due = head.outcomesDue.length > 0 ? ', outcome due' : '';
  return `${head.ended?.kind ?? 'no turn yet'}${due}`;
}

const DECISIONS = {
  asked: 'no decision yet',
  allowed: 'allowed',
  used: 'allowed',
  refused: 'refused',
  expired: 'no decision in time',
} as const;

/** What a person said about a call, who, and why; and whether the call has made use of it. */
export function decisionOn({ state, by, reason }: ApprovalRecord): string {
  const who = by === undefined ? '' : ` by ${by}`;
  return `${DECISIONS[state]}${who}${state === 'used' ? ', used' : ''}${reason === undefined ? '' : `: ${reason}`}`;
}

/** A message as lines: each part a line or more, in the order of the message. */
export function linesOf({ content }: Message): readonly string[] {
  if (typeof content === 'string') return [content];
  return content.map((part) => {
    switch (part.type) {
      case 'text':
        return part.text;
      case 'reasoning':
        return `(thinks) ${part.text}`;
      case 'tool-call':
        return `calls ${part.toolName} ${JSON.stringify(part.input)}`;
      case 'tool-result':
        return `${part.toolName} gave ${JSON.stringify(part.output)}`;
      default:
        return `[${part.type}]`;
    }
  });
}
