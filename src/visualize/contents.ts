/**
 * Owns what stands inside a state's box and on an edge: which lines, in which order.
 * Must not know positions or colours.
 */
import {
  type Chart,
  type ChartState,
  type ChartTransition,
  isEdge,
  outgoing,
  shortName,
  type Trigger,
} from './chart.js';
import { type Badge, blockWidth, FONT, type Piece, type Row, rowOf, type Tone } from './rows.js';
import { textWidth } from './text-width.js';
import { directiveOf, guardText, type Notation, plainActions, triggerText } from './wording.js';

export const TITLE_HEIGHT = 22;
const LINE_HEIGHT = 16;
const SMALL_LINE_HEIGHT = 14;
const DESCRIPTION_WIDTH = 180;
/** Characters of a resolved delay beyond which it gets lines of its own, and their width. */
const LONG_DELAY = 8;
const LONG_WIDTH = 120;

export interface BoxContent {
  readonly title: Row;
  readonly badges: Row;
  readonly lines: readonly Row[];
}

export function toneOf(trigger: Trigger): Tone {
  switch (trigger.kind) {
    case 'after':
      return 'time';
    case 'always':
      return 'always';
    case 'stateDone':
    case 'actorDone':
    case 'actorSnapshot':
      return 'done';
    case 'actorError':
      return 'error';
    default:
      return 'event';
  }
}

const text = (content: string, role: 'body' | 'muted' | 'note' | 'effect' | 'strong', tone?: Tone): Piece =>
  tone === undefined ? { kind: 'text', text: content, role } : { kind: 'text', text: content, role, tone };

function directiveBadge(actions: readonly string[], notation: Notation): Piece[] {
  const directive = directiveOf(actions, notation);
  if (directive === null) return [];
  const look: Badge = directive === notation.directives[0] ? 'forced' : 'debounced';
  return [{ kind: 'badge', text: directive, look }];
}

function triggerPieces(trigger: Trigger): Piece[] {
  const tone = toneOf(trigger);
  const words = text(triggerText(trigger), 'body', tone);
  return trigger.kind === 'after' ? [{ kind: 'clock' }, words] : [words];
}

const actionsText = (actions: readonly string[], notation: Notation): string => {
  const plain = plainActions(actions, notation);
  return plain.length === 0 ? '' : `/ ${plain.join(', ')}`;
};

function targetText(chart: Chart, transition: ChartTransition): string {
  if (transition.targets.length === 0) return '';
  const names = transition.targets.map((id) => (id === transition.source ? 'itself' : shortName(chart, id)));
  return `→ ${names.join(', ')}`;
}

/** A transition that has no edge of its own, on one line. */
function innerLine(transition: ChartTransition, notation: Notation): Row {
  const guard = transition.guard === null ? '' : `[${transition.guard}]`;
  const nothing = transition.targets.length === 0 && transition.actions.length === 0;
  const again = nothing ? 'ignored' : transition.targets.length === 0 ? '' : 're-enters';
  const rest = [guard, again, actionsText(transition.actions, notation)].filter((part) => part !== '').join(' ');
  const pieces = [
    ...triggerPieces(transition.trigger),
    ...(rest === '' ? [] : [text(rest, 'body')]),
    ...directiveBadge(transition.actions, notation),
  ];
  return rowOf(pieces, LINE_HEIGHT);
}

function candidateLine(chart: Chart, transition: ChartTransition, notation: Notation): Row {
  const tone = toneOf(transition.trigger);
  const words = [targetText(chart, transition), actionsText(transition.actions, notation)].filter((w) => w !== '');
  const pieces: Piece[] = [
    { kind: 'number', n: transition.priority, tone },
    text(guardText(transition) ?? 'always', guardText(transition) === 'else' ? 'note' : 'strong'),
    ...(words.length === 0 ? [] : [text(words.join(' '), 'body')]),
    // An edge carries its badge itself.
    ...(isEdge(transition) ? [] : directiveBadge(transition.actions, notation)),
  ];
  return rowOf(pieces, LINE_HEIGHT);
}

function transitionLines(chart: Chart, state: ChartState, notation: Notation): Row[] {
  return outgoing(chart, state.id).flatMap((transition) => {
    if (transition.candidates === 1) return isEdge(transition) ? [] : [innerLine(transition, notation)];
    const line = candidateLine(chart, transition, notation);
    if (transition.priority > 1) return [line];
    const header = [...triggerPieces(transition.trigger), text('– first guard that passes:', 'note')];
    return [rowOf(header, LINE_HEIGHT), line];
  });
}

/** The root says what the chart is about; what the others are is a tooltip, unless the notation wants it in the box. */
function descriptionLines(state: ChartState, notation: Notation, width: number): Row[] {
  if (state.description === null) return [];
  if (state.parent === null) return [rowOf([text(state.description, 'muted')], LINE_HEIGHT)];
  if (!notation.descriptions) return [];
  return wrapped(state.description, Math.max(width, DESCRIPTION_WIDTH)).map((line) =>
    rowOf([text(line, 'muted')], SMALL_LINE_HEIGHT),
  );
}

function wrapped(words: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of words.split(/\s+/).filter((part) => part !== '')) {
    const last = lines.at(-1);
    const longer = `${last} ${word}`;
    if (last === undefined || textWidth(longer, FONT.muted.size) > width) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}

export function boxContent(chart: Chart, state: ChartState, notation: Notation): BoxContent {
  const title: Piece[] = [{ kind: 'text', text: state.parent === null ? chart.id : state.key, role: 'title' }];
  const badges = state.tags.map((tag): Piece => ({ kind: 'badge', text: tag, look: tag === 'idle' ? 'idle' : 'tag' }));
  if (state.type === 'parallel') badges.push({ kind: 'badge', text: 'parallel', look: 'tag' });
  if (state.parent === null && chart.version !== null) title.push(text(`version ${chart.version}`, 'muted'));
  const effect = (word: string, names: readonly string[]): Row[] =>
    plainActions(names, notation).length === 0 && directiveOf(names, notation) === null
      ? []
      : [
          rowOf(
            [
              text(word, 'muted'),
              text(plainActions(names, notation).join(', '), 'effect'),
              ...directiveBadge(names, notation),
            ],
            LINE_HEIGHT,
          ),
        ];
  const lines = [
    ...effect('entry /', state.entry),
    ...effect('exit /', state.exit),
    ...state.invokes.map((name) => rowOf([text('invoke', 'muted'), text(name, 'effect', 'done')], LINE_HEIGHT)),
    ...transitionLines(chart, state, notation),
  ];
  return {
    title: rowOf(title, TITLE_HEIGHT),
    badges: rowOf(badges, TITLE_HEIGHT),
    lines: [...descriptionLines(state, notation, blockWidth(lines)), ...lines],
  };
}

/** The lines on the edge of a transition; none where the edge speaks for itself. */
export function edgeContent(transition: ChartTransition, notation: Notation): Row[] {
  const { trigger, candidates, guard, actions } = transition;
  const tone = toneOf(trigger);
  const badge = directiveBadge(actions, notation);
  const listed = candidates > 1;
  const first: Piece[] = listed ? [{ kind: 'number', n: transition.priority, tone }] : [];
  if (trigger.kind === 'always' && listed) return [rowOf([...first, ...badge], LINE_HEIGHT)];
  // What a delay comes to may be long, and a label is better tall than wide.
  const long = trigger.kind === 'after' && (trigger.resolved ?? '').length > LONG_DELAY ? trigger.resolved : null;
  if (trigger.kind === 'after' && long !== null) first.push(...triggerPieces({ ...trigger, resolved: null }));
  else if (trigger.kind !== 'always') first.push(...triggerPieces(trigger));
  const rows = first.length > 0 ? [rowOf(first, LINE_HEIGHT)] : [];
  for (const line of wrapped(long ?? '', LONG_WIDTH)) rows.push(rowOf([text(line, 'body', tone)], SMALL_LINE_HEIGHT));
  // The list inside the box says the rest.
  if (!listed && guard !== null) rows.push(rowOf([text(`[${guard}]`, 'body', tone)], SMALL_LINE_HEIGHT));
  const doing = listed ? '' : actionsText(actions, notation);
  if (doing !== '') rows.push(rowOf([text(doing, 'muted')], SMALL_LINE_HEIGHT));
  if (badge.length > 0) rows.push(rowOf(badge, LINE_HEIGHT));
  return rows;
}

/** Between two transitions that share one label. */
export const SEPARATOR: Row = { pieces: [], width: 0, height: 5 };

export function initialContent(actions: readonly string[], notation: Notation): Row[] {
  const doing = actionsText(actions, notation);
  const badge = directiveBadge(actions, notation);
  const words = doing === '' ? [] : [rowOf([text(doing, 'muted')], SMALL_LINE_HEIGHT)];
  return [...words, ...(badge.length > 0 ? [rowOf(badge, LINE_HEIGHT)] : [])];
}
