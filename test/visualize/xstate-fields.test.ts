// Holds the fields of XState that no documentation promises. When a version moves one of them, this fails first, and
// src/visualize/xstate-fields.ts is the one place to change.
import { describe, expect, it } from 'vitest';
import { createMachine } from 'xstate';
import { turnMachine } from '../../machines/index.js';
import { outgoing, pathOf, shortName, stateOf } from '../../src/visualize/chart.js';
import { durationText, withDelays } from '../../src/visualize/delays.js';
import { delayMs, isMachine, namedConfig, readMachine, transitionIds } from '../../src/visualize/xstate-fields.js';
import { bare, shop } from './foreign-machines.js';

const chart = readMachine(shop);
const of = (path: string) => {
  const state = chart.states.find(({ id }) => pathOf(chart, id) === path);
  if (state === undefined) throw new Error(`no ${path}`);
  return { state, transitions: outgoing(chart, state.id) };
};

describe('reading a machine', () => {
  it('finds every state with its kind', () => {
    const kinds = Object.fromEntries(chart.states.map(({ id, type }) => [pathOf(chart, id), type]));
    expect(kinds).toMatchObject({
      shop: 'compound',
      loading: 'atomic',
      open: 'parallel',
      'open.cart.sold': 'final',
      'open.money.before': 'history',
      whereItWas: 'history',
    });
    expect([of('open.money.before').state.history, of('whereItWas').state.history]).toEqual(['shallow', 'deep']);
  });

  it('leaves out what XState adds for timers, and keeps what an author raised', () => {
    expect(of('loading').state.entry).toEqual([]);
    expect(of('loading').state.exit).toEqual(['ƒ', 'notify']);
    expect(of('open.cart.editing').state.entry).toEqual(['raise(cart.opened)']);
  });

  it('tells actors, their ends and their errors', () => {
    expect([of('loading').state.invokes, of('open.money.paying').state.invokes]).toEqual([
      ['loadCart'],
      ['till (pay)'],
    ]);
    const triggers = of('open.money.paying').transitions.map(({ trigger }) => trigger);
    expect(triggers).toEqual([
      { kind: 'actorDone', actor: 'till' },
      { kind: 'actorError', actor: 'till' },
      { kind: 'actorSnapshot', actor: 'till' },
    ]);
    expect(of('open').transitions.map(({ trigger }) => trigger.kind)).toEqual(['stateDone']);
  });

  it('numbers the candidates of one event in the order in which they are asked', () => {
    const [first, second, third] = of('loading').transitions;
    expect([first?.priority, second?.priority, third?.priority]).toEqual([1, 2, 1]);
    expect([first?.candidates, second?.candidates, third?.candidates]).toEqual([2, 2, 1]);
  });

  it('names guards, also composed ones, and shows inline functions as ƒ', () => {
    const guards = chart.transitions.map(({ guard }) => guard).filter((guard) => guard !== null);
    expect(guards).toEqual(['hasItems', 'ƒ', 'and(hasItems, not(isMember), in payment)', 'ƒ isWorkday', 'isMember']);
  });

  it('tells delays by name or in milliseconds', () => {
    const delays = chart.transitions.flatMap(({ trigger }) => (trigger.kind === 'after' ? [trigger.delay] : []));
    expect(delays).toEqual(['5000', 'patience', 'never']);
  });

  it('calls a state transient only when it cannot be rested in', () => {
    expect(of('suspended').state.transient).toBe(false);
    const turn = readMachine(turnMachine);
    const transient = turn.states.filter((state) => state.transient).map(({ key }) => key);
    expect(transient).toEqual(['injectingMessage', 'recovering']);
  });

  it('finds several targets of one transition', () => {
    const checkout = of('open.cart.editing').transitions.find(({ targets }) => targets.length > 1);
    expect(checkout?.targets.map((id) => shortName(chart, id))).toEqual(['frozen', 'paying']);
  });

  it('keeps the literal of our own chart: every phase, effect and directive', () => {
    const turn = readMachine(turnMachine);
    expect(stateOf(turn, 'running').initial).toEqual({ targets: ['setup'], actions: ['checkpointNow'] });
    expect(stateOf(turn, 'awaitingApproval').entry).toEqual(['runCalls', 'askPerson']);
    expect(stateOf(turn, 'awaitingLLM').tags).toEqual(['idle']);
    expect(stateOf(turn, 'lastPhase')).toMatchObject({ type: 'history', history: 'deep' });
  });

  it('gives the transitions that XState takes the ids they have in the chart', () => {
    expect(new Set(transitionIds(shop).values())).toEqual(new Set(chart.transitions.map(({ id }) => id)));
    expect(transitionIds(shop).size).toBe(chart.transitions.length);
  });
});

describe('telling a machine from something else', () => {
  it('takes machines, whoever made them, and nothing else', () => {
    expect([shop, bare, turnMachine, turnMachine.provide({})].map(isMachine)).toEqual([true, true, true, true]);
    expect([null, undefined, {}, () => 1, 'turn', { root: {} }, turnMachine.config].some(isMachine)).toBe(false);
  });
});

describe('what a delay comes to', () => {
  it('is a number, what a function says about the first context, or unknown', () => {
    expect([delayMs(shop, '5000', undefined), delayMs(shop, 'patience', undefined)]).toEqual([5_000, 1_000]);
    expect(delayMs(shop, 'noSuchDelay', undefined)).toBe(null);
    const failing = createMachine({ after: { late: { actions: 'x' } } }).provide({
      delays: { late: () => Number.NaN },
    });
    expect(delayMs(failing, 'late', undefined)).toBe(null);
  });

  it('follows what an application provides', () => {
    const provided = turnMachine.provide({ delays: { setupTimeout: 5_000 } });
    expect(delayMs(provided, 'setupTimeout', undefined)).toBe(5_000);
  });

  it('is written with the largest unit that is exact', () => {
    const texts = [50, 1_000, 90_000, 540_000, 3_600_000, 172_800_000, 1_500, 2 ** 31 - 1].map(durationText);
    expect(texts).toEqual(['50 ms', '1 s', '90 s', '9 min', '1 h', '2 d', '1500 ms', 'off']);
  });

  it('names what differs between the ways of starting, and takes given words where they are given', () => {
    const variants = [1, 2].map((tries) => ({ label: `try ${tries}`, input: tries }));
    const machine = createMachine({
      context: ({ input }: any) => ({ input }),
      after: { patience: { actions: 'a' }, given: { actions: 'b' } },
    }).provide({ delays: { patience: ({ context }: any) => context.input * 1_000, given: 1 } } as any);
    const { transitions } = withDelays(readMachine(machine), machine, variants, { given: 'as long as it takes' });
    const resolved = transitions.map(({ trigger }) => (trigger.kind === 'after' ? trigger.resolved : null));
    expect(resolved).toEqual(['1 s, try 2: 2 s', 'as long as it takes']);
  });
});

describe('the config with names', () => {
  it('keeps every key but values, and holds no function', () => {
    const named = namedConfig(turnMachine);
    expect(Object.keys(named)).toEqual(['id', 'version', 'description', 'options', 'initial', 'states']);
    expect(JSON.parse(JSON.stringify(namedConfig(shop)))).toEqual(namedConfig(shop));
  });

  it('keeps states and events that are called like a value', () => {
    const named = namedConfig(
      createMachine({ initial: 'context', states: { context: { on: { input: 'output' } }, output: {} } }),
    );
    expect(named).toEqual({ initial: 'context', states: { context: { on: { input: 'output' } }, output: {} } });
  });
});
