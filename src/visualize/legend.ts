/**
 * Owns the lines below a picture that say how to read it; they name only what the picture has.
 * Must not know where states stand.
 */
import { isInside } from './arrows.js';
import { type Chart, type ChartTransition, isEdge } from './chart.js';
import { toneOf } from './contents.js';
import type { Box } from './layout.js';
import { type Piece, type Row, rowOf, type Tone } from './rows.js';
import { arrowHead, drawRow, rect, round } from './svg-parts.js';
import { directiveOf, type Notation } from './wording.js';

const ROW_HEIGHT = 22;
const ITEM_GAP = 22;
const MARGIN = 14;
const MARK_GAP = 7;

interface Item {
  readonly markWidth: number;
  readonly mark: (x: number, middle: number) => string;
  readonly row: Row;
}

export interface Legend {
  readonly height: number;
  /** Where each entry stands, relative to the top left corner of the legend. */
  readonly boxes: readonly Box[];
  readonly draw: (left: number, top: number) => string;
}

const words = (text: string): Row => rowOf([{ kind: 'text', text, role: 'muted' }], ROW_HEIGHT);
const noMark = (): string => '';

const shape = (className: string, text: string, inner = ''): Item => ({
  markWidth: 26,
  mark: (x, middle) => {
    const box = { x, y: middle - 7, width: 26, height: 14 };
    const inside = { x: x + 2.5, y: middle - 4.5, width: 21, height: 9 };
    return rect(box, className, 4) + (inner === '' ? '' : rect(inside, inner, 2));
  },
  row: words(text),
});

const line = (tone: Tone, text: string): Item => ({
  markWidth: 26,
  mark: (x, middle) =>
    `<g class="edge ${tone}"><path d="M${round(x)} ${round(middle)}H${round(x + 24)}"/>${arrowHead({ x, y: middle }, { x: x + 26, y: middle })}</g>`,
  row: words(text),
});

const sign = (piece: Piece, text: string): Item => ({
  markWidth: 0,
  mark: noMark,
  row: rowOf([piece, { kind: 'text', text, role: 'muted' }], ROW_HEIGHT),
});

const disc = (className: string, r: number, text: string): Item => ({
  markWidth: 12,
  mark: (x, middle) => `<circle class="${className}" cx="${round(x + 6)}" cy="${round(middle)}" r="${r}"/>`,
  row: words(text),
});

const history = (words_: string, mark: string): Item => ({
  markWidth: 20,
  mark: (x, middle) =>
    `<circle class="box" cx="${round(x + 10)}" cy="${round(middle)}" r="9"/>` +
    `<text class="digit plain" x="${round(x + 10)}" y="${round(middle + 3)}">${mark}</text>`,
  row: words(words_),
});

function stateItems(chart: Chart): Item[] {
  const items: Item[] = [];
  if (chart.states.some((state) => state.initial !== null)) items.push(disc('dot', 6, 'starts here'));
  const inward = ({ source, targets }: ChartTransition) => targets.some((target) => isInside(chart, target, source));
  if (chart.transitions.filter(isEdge).some(inward)) items.push(disc('ring', 5, 'from anywhere in the box'));
  const has = (test: (state: Chart['states'][number]) => boolean) => chart.states.some(test);
  if (has((s) => s.transient)) items.push(shape('box transient', 'transient: never rested in'));
  if (has((s) => s.type === 'final')) items.push(shape('box final', 'final', 'box inner'));
  if (has((s) => s.type === 'parallel')) items.push(shape('group region', 'one of several regions at the same time'));
  if (has((s) => s.history === 'deep')) items.push(history('goes back to where it was, at every depth', 'H*'));
  if (has((s) => s.history === 'shallow')) items.push(history('goes back to where it was', 'H'));
  return items;
}

const TONE_WORDS: Readonly<Record<Tone, string>> = {
  event: 'event',
  time: 'time-out',
  always: 'taken at once',
  done: 'done',
  error: 'error',
};

function arrowItems(chart: Chart): Item[] {
  const edges = chart.transitions.filter(isEdge);
  const tones = new Set<Tone>(edges.map((transition) => toneOf(transition.trigger)));
  const items = [...tones].map((tone) => line(tone, TONE_WORDS[tone]));
  if (chart.transitions.some((transition) => transition.candidates > 1)) {
    items.push(
      sign({ kind: 'number', n: 1, tone: 'event' }, 'the order in which guards are asked; the first that passes wins'),
    );
  }
  return items;
}

function badgeItems(chart: Chart, notation: Notation): Item[] {
  const used = new Set<string>();
  const note = (actions: ChartTransition['actions']) => {
    const directive = directiveOf(actions, notation);
    if (directive !== null) used.add(directive);
  };
  for (const { actions } of chart.transitions) note(actions);
  for (const { entry, exit, initial } of chart.states) [entry, exit, initial?.actions ?? []].forEach(note);
  const items = notation.directives
    .filter((directive) => used.has(directive))
    .map((text) =>
      text === notation.directives[0]
        ? sign({ kind: 'badge', text, look: 'forced' }, 'checkpoint before anything goes on')
        : sign({ kind: 'badge', text, look: 'debounced' }, 'checkpoint, debounced'),
    );
  const tags = new Set(chart.states.flatMap((state) => state.tags));
  for (const [text, meaning] of Object.entries(notation.tags)) {
    if (tags.has(text)) items.push(sign({ kind: 'badge', text, look: text === 'idle' ? 'idle' : 'tag' }, meaning));
  }
  return items;
}

export function legendOf(chart: Chart, notation: Notation, width: number): Legend {
  const items = [...stateItems(chart), ...arrowItems(chart), ...badgeItems(chart, notation)];
  const boxes: Box[] = [];
  let [x, y] = [MARGIN, 4];
  for (const { markWidth, row } of items) {
    const itemWidth = (markWidth === 0 ? 0 : markWidth + MARK_GAP) + row.width;
    if (x > MARGIN && x + itemWidth > width - MARGIN) [x, y] = [MARGIN, y + ROW_HEIGHT];
    boxes.push({ x, y, width: itemWidth, height: ROW_HEIGHT });
    x += itemWidth + ITEM_GAP;
  }
  const draw = (left: number, top: number): string =>
    items
      .map(({ mark, markWidth, row }, k) => {
        const box = boxes[k] as Box;
        const middle = top + box.y + ROW_HEIGHT / 2;
        const textX = left + box.x + (markWidth === 0 ? 0 : markWidth + MARK_GAP);
        return mark(left + box.x, middle) + drawRow(row, textX, top + box.y);
      })
      .join('');
  return { height: y + ROW_HEIGHT + 8, boxes, draw };
}
