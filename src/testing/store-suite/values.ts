/**
 * Owns the tests of what may be stored (I14): every JSON value comes back as it was, anything else is refused with its
 * path, and ids are kept apart however strange they are.
 * Must not know a store.
 */
import { turnIdOf } from '../../core/ids.js';
import type { Json } from '../../core/json.js';
import type { Commit } from '../../core/ports.js';
import type { Random } from '../random.js';
import { isTrue, refused, same, sameNames } from './expectations.js';
import {
  appended,
  callOf,
  checkpointOf,
  commitAfter,
  headOf,
  inputOf,
  messageOf,
  outcomeOf,
  reviewOf,
  textsOf,
  turnOf,
} from './made-records.js';
import type { StoreCase } from './store-case.js';

/** An own property of this name, as JSON.parse makes it. */
const PROTO = JSON.parse('{"__proto__":{"polluted":true},"constructor":1,"toString":null}') as Json;

const nested = (depth: number): Json => {
  let value: Json = 'the innermost';
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { in: value };
  return value;
};

/** Values that stores have lost or changed (case C25). */
const HARD: readonly Json[] = [
  false,
  true,
  0,
  '',
  null,
  [],
  {},
  [null],
  { '': '' },
  { a: null, b: false, c: 0, d: '' },
  [[], {}, [[]], { a: {} }],
  PROTO,
  Number.MAX_SAFE_INTEGER,
  Number.MIN_VALUE,
  Number.MAX_VALUE,
  -1.5e-300,
  0.1 + 0.2,
  '\u0000',
  '\u0001\u001f\u007f\u2028\u2029\ufeff',
  '\ufffd\ufffe\uffff',
  '\u{1F600}\u{10FFFF}',
  'e\u0301 \u00e9',
  '"\\/\b\f\n\r\t',
  '{"type":"Buffer","data":[1]}',
  { type: 'Buffer', data: [1, 2] },
  { $date: 0, xstate$$type: 1 },
  '2020-01-01T00:00:00.000Z',
  'x'.repeat(100_000),
  Array.from({ length: 2000 }, (_, index) => index),
  nested(300),
];

const CHARACTERS = ['a', '"', '\\', '\n', '\u0000', '\u00e4', '\u{1F600}', '!', '/', '.', ' ', '\u2028', '0'];
const text = (random: Random): string => Array.from({ length: random.below(12) }, () => random.of(CHARACTERS)).join('');

function number(random: Random): number {
  const value = (random.below(2_000_001) - 1_000_000) * 10 ** (random.below(40) - 20);
  // There is no -0 in JSON.
  return value === 0 ? 0 : value;
}

function jsonOf(random: Random, depth: number): Json {
  const kind = random.below(depth === 0 ? 4 : 6);
  if (kind === 0) return random.of(HARD.slice(0, 5));
  if (kind === 1) return number(random);
  if (kind < 4) return text(random);
  const parts = Array.from({ length: random.below(5) }, () => jsonOf(random, depth - 1));
  return kind === 4 ? parts : Object.fromEntries(parts.map((part) => [text(random), part]));
}

/** The value in every place of a commit that takes one. */
function commitOf(sessionId: string, value: Json): Commit {
  const turn = turnOf(sessionId);
  const call = callOf(turn, 0, { input: value, notes: [value], output: { type: 'json', value } });
  const head = headOf(sessionId, { context: value, count: 1, dispatched: 1, waitingInput: 1 });
  const message = messageOf('a', '0');
  return {
    ...commitAfter(undefined, sessionId),
    head,
    transcript: { kind: 'append', from: 0, messages: [withOptions(message, value)] },
    checkpoint: { ...checkpointOf(head), snapshot: value },
    calls: { put: [call], remove: [] },
    inbox: { put: [{ ...inputOf(sessionId, 0), context: value }], remove: [] },
    outcomes: [{ ...outcomeOf(turn), context: value, answer: value }],
    reviews: { put: [{ ...reviewOf(call), input: value, notes: [value, value] }], remove: [] },
  };
}

const withOptions = (stored: ReturnType<typeof messageOf>, value: Json): ReturnType<typeof messageOf> =>
  ({ ...stored, message: { ...stored.message, providerOptions: { own: { value } } } }) as typeof stored;

/** Stores the value everywhere and compares what is read; `read` may open the store again in between. */
async function roundTrip(commit: Commit, store: { load: StoreLoad; outcome: StoreOutcome }, what: string) {
  const { head, transcript, checkpoint, calls, inbox, outcomes, reviews } = commit;
  const expected = {
    head,
    messages: transcript?.messages,
    checkpoint,
    calls: calls?.put,
    inbox: inbox?.put,
    reviews: reviews?.put,
  };
  same(await store.load(head.sessionId), expected, what);
  same(await store.outcome(turnOf(head.sessionId)), outcomes?.[0], `${what}, in an outcome`);
}
type StoreLoad = (sessionId: string) => Promise<unknown>;
type StoreOutcome = (turnId: string) => Promise<unknown>;

const hard: StoreCase = {
  name: 'I14: gives back the values that stores are known to change, in every place that takes a value',
  async run({ store }) {
    for (const [index, value] of HARD.entries()) {
      const commit = commitOf(`s${index}`, value);
      await store.commit(commit);
      await roundTrip(commit, store, `value ${index}`);
    }
    isTrue(!('polluted' in {}), 'a stored __proto__ reached Object.prototype');
  },
};

const fuzzed: StoreCase = {
  name: 'I14: gives back random values, in every place that takes a value',
  async run({ store, random }) {
    const commits = Array.from({ length: 60 }, (_, index) => commitOf(`s${index}`, jsonOf(random, 4)));
    await Promise.all(commits.map((commit) => store.commit(commit)));
    for (const commit of commits) await roundTrip(commit, store, JSON.stringify(commit.head.context));
  },
};

class Money {
  readonly cents = 1;
}

function unstorable(): readonly (readonly [string, unknown])[] {
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  return [
    ['NaN', Number.NaN],
    ['Infinity', Number.POSITIVE_INFINITY],
    ['-0', -0],
    ['undefined', undefined],
    ['a bigint', 1n],
    ['a function', () => 1],
    ['a symbol', Symbol('s')],
    ['a Date', new Date(0)],
    ['a Map', new Map()],
    ['a Set', new Set()],
    ['an Error', new Error('e')],
    ['a class instance', new Money()],
    ['bytes', new Uint8Array(1)],
    ['a hole', new Array(1)],
    ['a cycle', cycle],
    ['an object with toJSON()', { toJSON: () => 1 }],
    ['a lone surrogate', '\ud800'],
    ['a key with a lone surrogate', { '\udc00': 1 }],
  ];
}

const refusals: StoreCase = {
  name: 'I14: refuses a value that is not JSON with its path, before anything is written (case C25)',
  async run({ store }) {
    const first = appended(undefined, 's', ['a']);
    await store.commit(first);
    for (const [what, value] of unstorable()) {
      const next = appended(first.head, 's', ['b']);
      const checkpoint = { ...checkpointOf(next.head), snapshot: { deep: [value] } as never };
      const error = await refused(store.commit({ ...next, checkpoint }), what, 'TURN_INVALID_VALUE');
      isTrue(error.message.includes('snapshot.deep[0]'), `${what}: the message has no path: ${error.message}`);
      const input = { ...inputOf('s', 0), context: value as never };
      const late = { ...next, inbox: { put: [inputOf('s', 1), input], remove: [] } };
      await refused(store.commit(late), `${what} in an input`, 'TURN_INVALID_VALUE');
    }
    same(await store.head('s'), first.head, 'head');
    same(textsOf(await store.messages('s')), ['a'], 'messages');
    same(await store.inbox('s'), [], 'inbox');
  },
};

const STRANGE = [
  'a',
  'a/1',
  'a!1',
  'a!0000000000!0000000000',
  'a.b',
  'a%2Eb',
  'a%',
  'A',
  '../../etc',
  '\u0000',
  '\u00e4\u00f6',
  'e\u0301',
  '\u00e9',
  '\u{1F600}',
  '\uffff',
  ' ',
  ' a',
  'a ',
  'x'.repeat(512),
  '__proto__',
  'constructor',
  'null',
  '0',
  "'; drop table sessions; --",
];

const strange: StoreCase = {
  name: 'I14: keeps sessions and messages apart however strange their ids are',
  async run({ store, random }) {
    const drawn = Array.from({ length: 25 }, () => `${text(random)}${random.below(1000)}`);
    const ids = [...new Set([...STRANGE, ...drawn])];
    const outcome = (id: string) => outcomeOf(turnIdOf(id, 'u'));
    await Promise.all(
      ids.map((id) =>
        store.commit({
          ...appended(undefined, id, [`text of ${id}`]),
          seen: [{ messageId: id, turnId: turnIdOf(id, 'u') }],
          inbox: { put: [inputOf(id, 0)], remove: [] },
          outcomes: [outcome(id)],
        }),
      ),
    );
    for (const id of ids) {
      const name = JSON.stringify(id);
      same(textsOf(await store.messages(id)), [`text of ${id}`], `messages of ${name}`);
      same(await store.seen(id, id), { messageId: id, turnId: turnIdOf(id, 'u') }, `seen of ${name}`);
      same(await store.seen(id, `${id}another`), undefined, `seen of another message of ${name}`);
      same(await store.inbox(id), [inputOf(id, 0)], `inbox of ${name}`);
      same(await store.outcome(turnIdOf(id, 'u')), outcome(id), `outcome of ${name}`);
    }
    sameNames(
      (await store.markers('agent')).map(({ sessionId }) => sessionId),
      ids,
      'markers',
    );
    sameNames(await store.waitingInput('agent'), ids, 'waitingInput');
  },
};

const wrongIds: StoreCase = {
  name: 'I14: refuses an id that cannot be told from another once it is stored, and stores nothing of it',
  async run({ store }) {
    const first = commitAfter(undefined, 's');
    for (const id of ['', 'a\ud800', 'x'.repeat(513), '\u00e4'.repeat(257)]) {
      await refused(
        store.commit({ ...first, head: { ...first.head, sessionId: id } }),
        `the id ${JSON.stringify(id.slice(0, 9))}`,
      );
    }
    same(await store.markers('agent'), [], 'markers');
  },
};

export const VALUES: readonly StoreCase[] = [hard, fuzzed, refusals, strange, wrongIds];
