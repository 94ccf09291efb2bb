// Machines as other people write them, with everything an XState 5 machine may hold that our own charts do without:
// parallel states, actors, inline functions, wild cards, history of both kinds, names that mean something to markup.
import { and, assign, createMachine, fromPromise, log, not, raise, setup, stateIn } from 'xstate';

/** Named functions are shown by their name, all others as `ƒ`. */
function isWorkday(): boolean {
  return true;
}

export const shop = setup({
  types: { context: {} as { tries: number }, events: {} as { type: string } },
  actors: { loadCart: fromPromise(async () => 1), pay: fromPromise(async () => 1) },
  guards: { hasItems: () => true, isMember: () => false },
  delays: { patience: ({ context }) => 1_000 * 2 ** context.tries, never: 2 ** 31 - 1 },
  actions: { notify: () => undefined },
}).createMachine({
  id: 'shop',
  context: { tries: 0 },
  initial: 'loading',
  on: {
    'admin.*': { actions: 'notify' },
    '*': { actions: [log('unknown')] },
    quit: { target: '.closed' },
  },
  states: {
    loading: {
      tags: ['busy', 'first contact'],
      invoke: {
        src: 'loadCart',
        onDone: [{ guard: 'hasItems', target: 'open', actions: assign({ tries: 0 }) }, { target: 'closed' }],
        onError: {
          guard: ({ context }) => context.tries < 3,
          target: 'loading',
          reenter: true,
          actions: assign({ tries: ({ context }) => context.tries + 1 }),
        },
      },
      after: { 5000: 'closed', patience: { actions: 'notify' } },
      exit: [() => undefined, 'notify'],
    },
    open: {
      type: 'parallel',
      description: 'Two things at the same time.',
      onDone: 'closed',
      states: {
        cart: {
          initial: 'editing',
          states: {
            editing: {
              entry: raise({ type: 'cart.opened' }),
              on: {
                add: { guard: and(['hasItems', not('isMember'), stateIn('#payment')]), actions: assign({ tries: 1 }) },
                checkout: { target: ['#shop.open.cart.frozen', '#shop.open.money.paying'] },
                same: { target: 'editing', reenter: true },
              },
            },
            frozen: { on: { thaw: 'editing', forbidden: {} }, after: { never: 'sold' } },
            sold: { type: 'final' },
          },
        },
        money: {
          id: 'payment',
          initial: 'waiting',
          states: {
            waiting: { on: { start: { guard: isWorkday, target: 'paying' } } },
            paying: {
              invoke: { id: 'till', src: 'pay', onDone: 'paid', onError: 'waiting', onSnapshot: { actions: 'notify' } },
            },
            paid: { type: 'final' },
            before: { type: 'history' },
          },
        },
      },
    },
    suspended: {
      always: [{ guard: 'isMember', target: 'open' }],
      on: { resume: '#shop.open.money.before', everything: 'whereItWas' },
    },
    whereItWas: { type: 'history', history: 'deep', target: 'open' },
    closed: { type: 'final', output: { ok: true } },
  },
});

/** What people call their states must not become markup, nor leave its box. */
export const oddNames = createMachine({
  id: 'odd "names" & <b>',
  initial: '<script>alert(1)</script>',
  states: {
    '<script>alert(1)</script>': {
      description: 'Ends a comment --> and a title </title>, with `ticks` and a | pipe.',
      on: { 'a|b;c:d': '状态机的名字', '"quoted"': { target: 'end', guard: () => true } },
    },
    状态机的名字: { on: { '🚀': 'a state with a very long name that says everything about what it is for' } },
    end: { type: 'final' },
    'a state with a very long name that says everything about what it is for': { on: { end: 'end' } },
  },
});

/** The least there can be. */
export const bare = createMachine({});
