/**
 * Owns the mermaid form of a chart (stateDiagram-v2), for places that draw mermaid and nothing else.
 * Must not know XState. Mermaid has no history marks, ordered guards or badges; they become words.
 */
import {
  type Chart,
  type ChartState,
  type ChartTransition,
  isEdge,
  lineage,
  outgoing,
  rootOf,
  stateOf,
} from './chart.js';
import { guardText, triggerText } from './wording.js';

/** Characters that mermaid gives a meaning of its own, as the entities it takes instead. */
function plain(text: string): string {
  return text.replace(/[#;:{}"<>%]/g, (char) => `#${char.codePointAt(0)};`).replace(/\s+/g, ' ');
}

function identifiers(chart: Chart): Map<string, string> {
  const names = new Map<string, string>();
  const used = new Set<string>();
  for (const { id } of chart.states) {
    // A prefix, because words like `state`, `end` and `note` may not be names.
    const base = `s_${id.replace(/\W+/g, '_')}`;
    let name = base;
    for (let n = 2; used.has(name); n += 1) name = `${base}_${n}`;
    used.add(name);
    names.set(id, name);
  }
  return names;
}

function transitionText(transition: ChartTransition): string {
  const guard = guardText(transition);
  const parts = [
    transition.candidates > 1 ? `${transition.priority}.` : '',
    transition.trigger.kind === 'always' ? '' : triggerText(transition.trigger),
    guard === null ? '' : `[${guard}]`,
    transition.actions.length === 0 ? '' : `/ ${transition.actions.join(', ')}`,
  ];
  return plain(parts.filter((part) => part !== '').join(' '));
}

const INDENT = '  ';

class Writer {
  readonly #chart: Chart;
  readonly #names: ReadonlyMap<string, string>;
  readonly lines: string[] = ['stateDiagram-v2', `${INDENT}direction TB`];

  constructor(chart: Chart) {
    this.#chart = chart;
    this.#names = identifiers(chart);
  }

  #name(id: string): string {
    return this.#names.get(id) ?? id;
  }

  #inner(state: ChartState): string[] {
    const quiet = outgoing(this.#chart, state.id).filter((transition) => !isEdge(transition));
    return [
      ...(state.tags.length === 0 ? [] : [`#${state.tags.join(' #')}`]),
      ...(state.entry.length === 0 ? [] : [`entry / ${state.entry.join(', ')}`]),
      ...(state.exit.length === 0 ? [] : [`exit / ${state.exit.join(', ')}`]),
      ...state.invokes.map((name) => `invoke ${name}`),
    ]
      .map(plain)
      .concat(quiet.map(transitionText));
  }

  #title(state: ChartState): string {
    if (state.type === 'history') return state.history === 'deep' ? 'H*' : 'H';
    return [plain(state.key), ...this.#inner(state)].join('<br>');
  }

  state(state: ChartState, depth: number): void {
    const pad = INDENT.repeat(depth);
    const name = this.#name(state.id);
    this.lines.push(`${pad}state "${this.#title(state)}" as ${name}`);
    if (state.children.length > 0) {
      this.lines.push(`${pad}state ${name} {`);
      this.children(state, depth + 1);
      this.lines.push(`${pad}}`);
    }
    if (state.type === 'final') this.lines.push(`${pad}${name} --> [*]`);
  }

  children(state: ChartState, depth: number): void {
    const pad = INDENT.repeat(depth);
    for (const target of state.initial?.targets ?? []) {
      const actions = state.initial?.actions ?? [];
      this.lines.push(
        `${pad}[*] --> ${this.#name(target)}${actions.length === 0 ? '' : ` : ${plain(`/ ${actions.join(', ')}`)}`}`,
      );
    }
    state.children.forEach((id, k) => {
      if (state.type === 'parallel' && k > 0) this.lines.push(`${pad}--`);
      this.state(stateOf(this.#chart, id), depth);
    });
    this.edges(state.id, depth);
  }

  /** The arrows that stand in the block of a state; in none where an end of them is the root itself. */
  edges(home: string | null, depth: number): void {
    for (const transition of this.#chart.transitions.filter(isEdge)) {
      for (const target of transition.targets) {
        if (this.#home(transition.source, target) === home) this.#edge(transition, target, INDENT.repeat(depth));
      }
    }
  }

  #edge(transition: ChartTransition, target: string, pad: string): void {
    const text = transitionText(transition);
    this.lines.push(
      `${pad}${this.#name(transition.source)} --> ${this.#name(target)}${text === '' ? '' : ` : ${text}`}`,
    );
  }

  /** The innermost state around both ends: mermaid takes an arrow in the block of one of its own ends for a cycle. */
  #home(source: string, target: string): string | null {
    const around = lineage(this.#chart, target).map((state) => state.id);
    const both = lineage(this.#chart, source).find(({ id }) => id !== source && id !== target && around.includes(id));
    return both?.id ?? null;
  }
}

export function mermaidOf(chart: Chart): string {
  const writer = new Writer(chart);
  writer.state(rootOf(chart), 1);
  writer.edges(null, 1);
  return `${writer.lines.join('\n')}\n`;
}
