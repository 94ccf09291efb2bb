/**
 * Owns the picture of a turn: one row for the model and one for each call, time from left to right, kills across.
 * Must not know how the times were found.
 */
import type { Paint } from './paint.js';
import type { SeenCall, Witness } from './witness.js';

const LABEL = 27;
const COLUMNS = 100 - LABEL - 1;

const KILL = '|';
const LEGEND = '= runs   . waits for a person   * took effect   ? asked what became of it   | SIGKILL   < cut off';

/** How much of the time between a kill and the next start is drawn: nothing happens in it. */
const DEAD_MS = 40;

export function drawTurn(witness: Witness, to: number, paint: Paint): readonly string[] {
  const from = witness.starts[0] ?? 0;
  const whole = Math.max(1, livedUntil(to, witness) - from);
  const scale = (at: number): number => {
    const column = Math.floor(((livedUntil(at, witness) - from) / whole) * COLUMNS);
    return Math.max(0, Math.min(COLUMNS - 1, column));
  };
  const colour = (row: string): string =>
    row.replaceAll(KILL, paint.bad(KILL)).replaceAll('*', paint.good('*')).replaceAll('?', paint.strong('?'));
  const draw = (call: SeenCall): string => `${call.label.padEnd(LABEL)} ${colour(row(call, witness, scale))}`;
  return [
    `${' '.repeat(LABEL)} ${colour(processes(witness, scale))}`,
    draw(witness.model),
    ...[...witness.calls.values()].map(draw),
    '',
    paint.dim(LEGEND),
  ];
}

/** The moment, with the time in which no service was there taken out. */
function livedUntil(at: number, { starts, kills }: Witness): number {
  let dead = 0;
  for (const kill of kills) {
    const start = Math.min(at, starts.find((moment) => moment > kill) ?? kill);
    dead += Math.max(0, start - kill - DEAD_MS);
  }
  return at - dead;
}

function processes({ starts, kills }: Witness, scale: (at: number) => number): string {
  const cells = blank(kills, scale);
  for (const [index, at] of starts.entries()) {
    const end = scale(kills.find((kill) => kill > at) ?? Number.MAX_SAFE_INTEGER);
    const name = `service ${index + 1}`;
    const column = cells[scale(at)] === KILL ? scale(at) + 1 : scale(at);
    write(cells, column, column + name.length <= end ? name : `${index + 1}`);
  }
  return cells.join('').trimEnd();
}

function row(call: SeenCall, { kills }: Witness, scale: (at: number) => number): string {
  const cells = blank(kills, scale);
  for (const { from, to, cut, waits } of call.spans) {
    const sign = waits ? '.' : '=';
    const last = to === null ? COLUMNS - 1 : scale(to);
    for (let cell = scale(from); cell <= last; cell += 1) if (cells[cell] !== KILL) cells[cell] = sign;
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
