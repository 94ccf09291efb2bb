// The rules of the charts themselves, read from the literal. A rule is a function that names what breaks it, so that
// each can be shown a broken chart as well: a rule that cannot fail holds nothing. Together they are why the chart can
// be the runtime (I15): everything it does has a name in it.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { AnyStateMachine } from 'xstate';
import { callMachine, recoveryMachine, turnMachine } from '../../machines/index.js';
import { turnSetup } from '../../machines/turn.setup.js';
import {
  edgesOf,
  implementedNames,
  isAssign,
  type LooseConfig,
  lineOf,
  mutantOf,
  statesOf,
  usedNames,
} from './chart.js';

type Rule = (machine: AnyStateMachine) => string[];

const CHARTS: readonly (readonly [string, AnyStateMachine])[] = [
  ['turn', turnMachine],
  ['recovery', recoveryMachine],
  ['call', callMachine],
];

const PHASE_EFFECTS: Readonly<Record<string, readonly string[]>> = {
  setup: ['loadSession'],
  awaitingLLM: ['callModel'],
  compacting: ['compact'],
  awaitingApproval: ['runCalls', 'askPerson'],
  executingTools: ['runCalls'],
  awaitingReview: ['askPerson'],
  forceStop: ['callModel'],
  attempt: ['countAttempt'],
  checkpoint: ['decodeCheckpoint'],
  doubts: ['findDoubts'],
};
const EFFECTS = new Set(Object.values(PHASE_EFFECTS).flat());

const difference = (left: readonly string[], right: readonly string[]) => left.filter((name) => !right.includes(name));

const RULES: Readonly<Record<string, Rule>> = {
  // An invoked actor runs before anything can be committed, and again after a restore (TRAPS, XState 5).
  'has no invoke and no spawned actor': (machine) => [
    ...statesOf(machine).flatMap(({ id, invokes }) => (invokes === 0 ? [] : [id])),
    ...Object.keys(machine.implementations.actors),
  ],
  // A name can be replaced by `provide`, drawn, and read from a checkpoint's plan; a closure cannot.
  'has no function in its literal but `context`': (machine) =>
    functionsIn(machine.config).filter((path) => path !== 'context'),
  // A missing guard throws when it is asked, a missing delay fires at once, a missing action does nothing, silently.
  'implements every name it uses': (machine) => {
    const [used, known] = [usedNames(machine), implementedNames(machine)];
    return [
      ...difference(used.guards, known.guards),
      ...difference(used.actions, known.actions),
      ...difference(used.delays, known.delays),
    ];
  },
  'uses every name it implements': (machine) => {
    const [used, known] = [usedNames(machine), implementedNames(machine)];
    return [
      ...difference(known.guards, used.guards),
      ...difference(known.actions, used.actions),
      ...difference(known.delays, used.delays),
    ];
  },
  // A resume runs entries again: an assign there would change the context of every restored turn.
  'has assigns on transitions only': (machine) =>
    statesOf(machine).flatMap(({ id, entry, exit }) =>
      [...entry, ...exit].filter((name) => isAssign(machine, name)).map((name) => `${id}: ${name}`),
    ),
  'has effects in entries only, and nothing else there, and no exits': (machine) => [
    ...statesOf(machine).flatMap(({ id, entry, exit }) =>
      JSON.stringify(entry) === JSON.stringify(PHASE_EFFECTS[id] ?? []) && exit.length === 0 ? [] : [id],
    ),
    ...edgesOf(machine).flatMap((found) => (found.actions.some((name) => EFFECTS.has(name)) ? [lineOf(found)] : [])),
  ],
  // XState splits `#a.b` into the id `a` and the path `b`.
  'has ids without dots': (machine) =>
    statesOf(machine).flatMap(({ id, type }) => (id.includes('.') ? [`${type} ${id}`] : [])),
  'describes every state': (machine) =>
    statesOf(machine).flatMap(({ id, description }) => ((description ?? '').length > 10 ? [] : [id])),
  // A root `*` would swallow the time-outs of phases that were left.
  'has no wildcard': (machine) => edgesOf(machine).flatMap((found) => (found.on.includes('*') ? [lineOf(found)] : [])),
  // A guard that does not pass must always leave another way: a list of branches ends with one that needs nothing.
  'ends every list of branches with one that has no guard': (machine) =>
    statesOf(machine).flatMap(({ id }) => {
      const edges = edgesOf(machine).filter(({ from }) => from === id);
      return [...new Set(edges.map(({ on }) => on))].filter((on) => {
        const branches = edges.filter((found) => found.on === on);
        return (
          branches.length > 1 && branches.some(({ guard }, at) => (guard === null) !== (at === branches.length - 1))
        );
      });
    }),
};

function functionsIn(value: unknown, path = ''): string[] {
  if (typeof value === 'function') return [path];
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([key, inner]) => functionsIn(inner, path === '' ? key : `${path}.${key}`));
}

for (const [name, machine] of CHARTS) {
  describe(`the ${name} chart`, () => {
    for (const [sentence, rule] of Object.entries(RULES)) {
      it(sentence, () => {
        expect(rule(machine)).toEqual([]);
      });
    }
  });
}

describe('the rules of the charts', () => {
  const broken: Readonly<Record<string, (config: LooseConfig) => void>> = {
    'has no invoke and no spawned actor': (config) => {
      config.states.running.states.setup.invoke = { src: 'load' };
    },
    'has no function in its literal but `context`': (config) => {
      config.states.running.states.setup.after = { setupTimeout: { target: '#failed', guard: () => true } };
    },
    'implements every name it uses': (config) => {
      config.states.running.states.setup.after = { setupTimeOut: '#failed' };
    },
    'uses every name it implements': (config) => {
      config.states.running.on['input.arrived'].actions = [];
    },
    'has assigns on transitions only': (config) => {
      config.states.running.states.setup.entry.push('recordSuccess');
    },
    'has effects in entries only, and nothing else there, and no exits': (config) => {
      config.states.running.states.setup.on['session.loaded'].actions = ['callModel'];
    },
    'has ids without dots': (config) => {
      delete config.states.running.states.lastPhase.id;
    },
    'describes every state': (config) => {
      delete config.states.running.states.awaitingLLM.states.quiet.description;
    },
    'has no wildcard': (config) => {
      config.on = { '*': { actions: [] } };
    },
    'ends every list of branches with one that has no guard': (config) => {
      config.states.running.states.recovering.always.pop();
    },
  };

  for (const [sentence, rule] of Object.entries(RULES)) {
    it(`notice a chart of which it is not true that it ${sentence}`, () => {
      const change = broken[sentence];
      if (change === undefined) throw new Error('a rule without a broken chart');
      expect(rule(mutantOf(turnMachine, turnSetup.createMachine, change))).not.toEqual([]);
    });
  }
});

describe('the text of turn.machine.ts', () => {
  const source = readFileSync(new URL('../../machines/turn.machine.ts', import.meta.url), 'utf8');

  /** What is left of the literal when keys, strings, comments and punctuation are taken away. */
  function wordsOf(text: string): string[] {
    const bare = text
      .replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
      .replace(/'[^'\n]*'|"[^"\n]*"/g, '""')
      .replace(/(?:\w+|"")\s*:/g, '');
    const literal = /createMachine\(([\s\S]*)\);/.exec(bare)?.[1] ?? '<no literal>';
    return literal.match(/[^\s{}[\],"]+/g) ?? [];
  }

  it('is one literal without spreads and variables, because importers drop those silently', () => {
    expect([...new Set(wordsOf(source))].sort()).toEqual(['100', 'initialContext', 'true']);
  });

  it('is read in a way that finds a spread, a variable, a call and a template', () => {
    const found = (body: string) => wordsOf(`createMachine({ a: 1, ${body} });`).filter((word) => word !== '1');
    expect(found('...shared')).toEqual(['...shared']);
    expect(found('target: NEXT')).toEqual(['NEXT']);
    expect(found("target: next('a')")).not.toEqual([]);
    expect(found('target: `a`')).not.toEqual([]);
    expect(found("target: 'a', // it's prose\n 'b.c': { d: \"it's\" }")).toEqual([]);
  });
});
