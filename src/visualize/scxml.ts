/**
 * Owns the SCXML form of a chart: its structure, in the W3C's format, for tools that read that.
 * Must not know XState. Guards and actions are names; what they do is not in a chart.
 */
import { type Chart, type ChartState, type ChartTransition, outgoing, rootOf, stateOf } from './chart.js';
import { escapeXml } from './svg-parts.js';
import { delayText } from './wording.js';

/** Actions are elements of a namespace of their own, so that no interpreter takes a name for a script. */
const ACTIONS = 'urn:durable-turn:actions';

/** SCXML wants the ids of its states to be XML ids. */
const xmlId = (id: string): string => id.replace(/[^\w.-]/g, '_').replace(/^(?![A-Za-z_])/, '_');

const attributes = (list: Readonly<Record<string, string | null>>): string =>
  Object.entries(list)
    .map(([name, value]) => (value === null || value === '' ? '' : ` ${name}="${escapeXml(value)}"`))
    .join('');

const timerEvent = (transition: ChartTransition): string =>
  transition.trigger.kind === 'after' ? `after.${transition.trigger.delay}.${xmlId(transition.source)}` : '';

function eventName(transition: ChartTransition): string | null {
  const { trigger } = transition;
  switch (trigger.kind) {
    case 'event':
      return trigger.name;
    case 'after':
      return timerEvent(transition);
    case 'always':
      return null;
    case 'stateDone':
      return `done.state.${xmlId(transition.source)}`;
    case 'actorDone':
      return `done.invoke.${trigger.actor}`;
    case 'actorError':
      return `error.invoke.${trigger.actor}`;
    case 'actorSnapshot':
      return `snapshot.invoke.${trigger.actor}`;
  }
}

const actionLines = (actions: readonly string[], pad: string): string[] =>
  actions.map((name) => `${pad}<dt:action${attributes({ name })}/>`);

function transitionLines(transition: ChartTransition, pad: string): string[] {
  const head = `${pad}<transition${attributes({
    event: eventName(transition),
    cond: transition.guard,
    target: transition.targets.map(xmlId).join(' '),
    type: transition.targets.length > 0 && !transition.reenter ? 'internal' : null,
  })}`;
  if (transition.actions.length === 0) return [`${head}/>`];
  return [`${head}>`, ...actionLines(transition.actions, `${pad}  `), `${pad}</transition>`];
}

const block = (element: string, lines: readonly string[], pad: string): string[] =>
  lines.length === 0 ? [] : [`${pad}<${element}>`, ...lines, `${pad}</${element}>`];

function stateLines(chart: Chart, state: ChartState, pad: string): string[] {
  const inner = `${pad}  `;
  const id = xmlId(state.id);
  if (state.type === 'history') return [`${pad}<history${attributes({ id, type: state.history })}/>`];
  const own = outgoing(chart, state.id);
  const timers = own.filter((transition) => transition.trigger.kind === 'after' && transition.priority === 1);
  const sends = timers.map((transition) => {
    const delay = transition.trigger.kind === 'after' ? transition.trigger.delay : '';
    const event = timerEvent(transition);
    const length = /^\d+$/.test(delay) ? { delay: `${delay}ms` } : { delayexpr: delayText(delay, null) };
    return `${inner}  <send${attributes({ id: event, event, ...length })}/>`;
  });
  const cancels = timers.map((transition) => `${inner}  <cancel${attributes({ sendid: timerEvent(transition) })}/>`);
  const start = state.initial === null ? [] : initialLines(state.initial, inner);
  const lines = [
    ...start,
    ...block('onentry', [...sends, ...actionLines(state.entry, `${inner}  `)], inner),
    ...block('onexit', [...cancels, ...actionLines(state.exit, `${inner}  `)], inner),
    ...state.invokes.map((name) => `${inner}<invoke${attributes(invokeParts(name))}/>`),
    ...own.flatMap((transition) => transitionLines(transition, inner)),
    ...state.children.flatMap((child) => stateLines(chart, stateOf(chart, child), inner)),
  ];
  const element = state.type === 'parallel' || state.type === 'final' ? state.type : 'state';
  if (lines.length === 0) return [`${pad}<${element}${attributes({ id })}/>`];
  return [`${pad}<${element}${attributes({ id })}>`, ...lines, `${pad}</${element}>`];
}

/** An invoke is written as `id (source)`, or only by its source where nobody gave it an id. */
function invokeParts(name: string): { id: string; src: string } {
  const [, id = name, src = name] = /^(.*) \((.*)\)$/.exec(name) ?? [];
  return { id, src };
}

function initialLines(initial: NonNullable<ChartState['initial']>, pad: string): string[] {
  const target = initial.targets.map(xmlId).join(' ');
  const { actions } = initial;
  const transition =
    actions.length === 0
      ? [`${pad}  <transition${attributes({ target })}/>`]
      : [
          `${pad}  <transition${attributes({ target })}>`,
          ...actionLines(actions, `${pad}    `),
          `${pad}  </transition>`,
        ];
  return block('initial', transition, pad);
}

export function scxmlOf(chart: Chart): string {
  const root = rootOf(chart);
  const name = attributes({ name: chart.id, initial: xmlId(root.id) });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<scxml xmlns="http://www.w3.org/2005/07/scxml" xmlns:dt="${ACTIONS}" version="1.0"${name}>`,
    ...stateLines(chart, root, '  '),
    '</scxml>',
    '',
  ].join('\n');
}
