/**
 * Owns how a transition is put into words, the same in pictures, tables and diagrams.
 * Must not know where the words go.
 */
import type { ChartTransition, Trigger } from './chart.js';

/** What a chart's authors mean by some of their names. */
export interface Notation {
  /** Actions that order a checkpoint, the forced one first: drawn as badges. */
  readonly directives: readonly string[];
  /** What tags mean, for the legend. */
  readonly tags: Readonly<Record<string, string>>;
  /** Whether boxes show what states are; otherwise only their tooltips do. */
  readonly descriptions: boolean;
}

export const DEFAULT_NOTATION: Notation = {
  directives: ['checkpointNow', 'checkpoint'],
  tags: {},
  descriptions: true,
};

/** A whole number is a count of milliseconds; everything else is the name of a delay. */
export function delayText(delay: string, resolved: string | null): string {
  const name = /^\d+$/.test(delay) ? `${delay} ms` : delay;
  return resolved === null ? name : `${name} ${resolved}`;
}

export function triggerText(trigger: Trigger): string {
  switch (trigger.kind) {
    case 'event':
      return trigger.name === '*' ? '* (any other event)' : trigger.name;
    case 'after':
      return `after ${delayText(trigger.delay, trigger.resolved)}`;
    case 'always':
      return 'always';
    case 'stateDone':
      return 'done';
    case 'actorDone':
      return `done(${trigger.actor})`;
    case 'actorError':
      return `error(${trigger.actor})`;
    case 'actorSnapshot':
      return `snapshot(${trigger.actor})`;
  }
}

/** The guard, or `else` for the branch that is taken when no other one was. */
export function guardText(transition: ChartTransition): string | null {
  if (transition.guard !== null) return transition.guard;
  return transition.candidates > 1 && transition.priority === transition.candidates ? 'else' : null;
}

export function directiveOf(actions: readonly string[], notation: Notation): string | null {
  // The stronger one counts where an author wrote both.
  return notation.directives.find((directive) => actions.includes(directive)) ?? null;
}

export function plainActions(actions: readonly string[], notation: Notation): string[] {
  return actions.filter((action) => !notation.directives.includes(action));
}

export function countOf(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`;
}
