/**
 * Owns the picture of a turn: one row for the model and one for each call, time from left to right, kills across.
 * Must not know how the times were found.
 */
import type { Paint } from './paint.js';
import type { SeenCall, Witness } from './witness.js';

const LABEL = 27;
const COLUMNS = 100 - LABEL - 1;

const KILL = '|';

export function drawTurn(witness: Witness, to: number, paint: Paint): readonly string[] {
  const from = witness.starts[0] ?? 0;
  const scale = (at: number): number =>
    Math.max(0, Math.min(COLUMNS - 1, Math.floor(((at - from) / Math.max(1, to - from)) * COLUMNS)));
  const colour = (row: string): string =>
    row.replaceAll(KILL, paint.bad(KILL)).replaceAll('*', paint.good('*')).replaceAll('?', paint.strong('?'));
  const draw = (call: SeenCall): string => `${call.label.padEnd(LABEL)} ${colour(row(call, witness, scale))}`;
  return [
    `${' '.repeat(LABEL)} ${colour(processes(witness, scale))}`,
    draw(witness.model),
    ...[...witness.calls.values()].map(draw),
    '',
    paint.dim('= running   * took effect   ? asked what became of it   | SIGKILL   < cut off by it'),
  ];
}

function processes({ starts, kills }: Witness, scale: (at: number) => number): string {
  const cells = blank(kills, scale);
  for (const [index, at] of starts.entries()) write(cells, scale(at), `service ${index + 1}`);
  return cells.join('').trimEnd();
}

function row(call: SeenCall, { kills }: Witness, scale: (at: number) => number): string {
  const cells = blank(kills, scale);
  for (const { from, to, cut } of call.spans) {
    const last = scale(to ?? Number.MAX_SAFE_INTEGER);
    for (let cell = scale(from); cell <= last; cell += 1) if (cells[cell] !== KILL) cells[cell] = '=';
    if (cut && last > 0) cells[last - 1] = '<';
  }
  for (const at of call.asked) mark(cells, scale(at), '?');
  for (const at of call.landed) mark(cells, scale(at), '*');
  return cells.join('').trimEnd();
}

function blank(kills: readonly number[], scale: (at: number) => number): string[] {
  const cells = Array.from({ length: COLUMNS }, () => ' ');
  for (const at of kills) cells[scale(at)] = KILL;
  return cells;
}

/** A kill stays visible: what happened in the same column is drawn beside it. */
function mark(cells: string[], cell: number, sign: string): void {
  cells[cells[cell] === KILL && cell > 0 ? cell - 1 : cell] = sign;
}

function write(cells: string[], at: number, text: string): void {
  for (const [index, char] of [...text].entries()) {
    if (at + index < COLUMNS && cells[at + index] !== KILL) cells[at + index] = char;
  }
}
