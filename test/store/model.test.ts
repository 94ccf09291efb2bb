// Random histories against a model that is nothing but lists in memory: whatever happens, what is on disk equals it.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Commit } from '../../src/core/ports.js';
import type { Head } from '../../src/core/records.js';
import type { LevelTurnStore } from '../../src/store/store.js';
import { appended, checkpointOf, commitAfter, compacted, rewritten, textsOf, turnOf } from './fixtures.js';
import { expectMarkersAgree, expectNoGarbage, inWorld, WORLDS, type World } from './world.js';

type Change = 'remove' | 'append' | 'rewrite' | 'compact' | 'start' | 'end' | 'outcomeDue' | 'outcomeTaken';
interface Edit {
  readonly session: string;
  readonly change: Change;
  readonly size: number;
}
type Step = { readonly edits: readonly Edit[] } | 'close' | 'crash';

interface Session {
  head: Head | undefined;
  texts: string[];
  archive: string[];
}

const edit = fc.record<Edit>({
  session: fc.constantFrom('a', 'a/1', '\u00e4'),
  change: fc.constantFrom<Change>(
    'append',
    'append',
    'rewrite',
    'compact',
    'start',
    'end',
    'outcomeDue',
    'outcomeTaken',
    'remove',
  ),
  // More than 500 do not fit into one batch and are staged.
  size: fc.oneof({ weight: 5, arbitrary: fc.nat(4) }, { weight: 1, arbitrary: fc.integer({ min: 498, max: 1100 }) }),
});
const step = fc.oneof<fc.Arbitrary<Step>[]>(
  fc.array(edit, { minLength: 1, maxLength: 8 }).map((edits) => ({ edits })),
  fc.constant('close'),
  fc.constant('crash'),
);

let written = 0;

/** Moves the model on; what the store has to do is told, so that all of it can be asked for at the same time. */
function apply(model: Map<string, Session>, { session: id, change, size }: Edit): (store: LevelTurnStore) => unknown {
  if (change === 'remove') {
    model.set(id, { head: undefined, texts: [], archive: [] });
    return (store) => store.remove(id);
  }
  const session = model.get(id) ?? { head: undefined, texts: [], archive: [] };
  model.set(id, session);
  const texts = Array.from({ length: size }, () => `${++written}`);
  const commit = commitOf(session, id, change, texts);
  if (change === 'append') session.texts = [...session.texts, ...texts];
  // A compaction keeps what was in the list beside it.
  if (change === 'compact') session.archive = [...session.archive, ...session.texts];
  if (change === 'rewrite' || change === 'compact') session.texts = texts;
  session.head = commit.head;
  return (store) => store.commit({ ...commit, checkpoint: checkpointOf(commit.head) });
}

function commitOf(session: Session, id: string, change: Exclude<Change, 'remove'>, texts: readonly string[]): Commit {
  const { head } = session;
  switch (change) {
    case 'append':
      return appended(head, id, texts);
    case 'rewrite':
      return rewritten(head, id, texts);
    case 'compact':
      return compacted(head, id, texts, session.texts);
    case 'start':
      return commitAfter(head, id, { inProgress: true, turnId: turnOf(id, (head?.revision ?? 0) + 1) });
    case 'end':
      return commitAfter(head, id, { inProgress: false });
    case 'outcomeDue':
      return commitAfter(head, id, { inProgress: false, outcomesDue: [turnOf(id, 1), turnOf(id, 2)] });
    case 'outcomeTaken':
      return commitAfter(head, id, { outcomesDue: (head?.outcomesDue ?? []).slice(1) });
  }
}

async function expectModel(store: LevelTurnStore, model: Map<string, Session>): Promise<void> {
  for (const [id, { head, texts, archive }] of model) {
    const records = await store.load(id);
    expect(textsOf(await store.archive(id))).toEqual(archive);
    expect(records?.head).toEqual(head);
    expect(textsOf(records?.messages ?? [])).toEqual(texts);
    expect((records?.messages ?? []).map(({ meta }) => meta.id)).toEqual(texts.map((_, i) => String(i)));
    expect(records?.checkpoint ?? null).toEqual(head === undefined ? null : checkpointOf(head));
  }
  const listed: Head[] = [];
  for await (const head of store.sessions('agent')) listed.push(head);
  const heads = [...model.values()].flatMap(({ head }) => (head === undefined ? [] : [head]));
  const byId = (a: Head, b: Head) => (a.sessionId < b.sessionId ? -1 : 1);
  expect(listed.sort(byId)).toEqual(heads.sort(byId));
  const due = [...model].filter(([, { head }]) => head?.inProgress || (head?.outcomesDue.length ?? 0) > 0);
  const markers = await store.markers('agent');
  expect(markers.map(({ sessionId }) => sessionId).sort()).toEqual(due.map(([id]) => id).sort());
}

async function play(world: World, steps: readonly Step[]): Promise<void> {
  const model = new Map<string, Session>();
  let store = await world.open();
  for (const action of steps) {
    if (typeof action === 'object') {
      const edits = action.edits.map((one) => apply(model, one));
      await Promise.all(edits.map((edit) => edit(store)));
      await expectMarkersAgree(world);
      continue;
    }
    // Everything that was committed is durable, so it makes no difference how a process ends.
    if (action === 'close') await store.close();
    await world.crash();
    store = await world.open();
    await expectMarkersAgree(world);
    await expectNoGarbage(world);
    await expectModel(store, model);
  }
  await expectModel(store, model);
  await store.close();
}

describe.each(WORLDS)('a history of commits over %s', (name) => {
  it('I2, I3: leaves the markers and the lists of the model, after every commit and every reopening', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), (steps) =>
        inWorld(name, (world) => play(world, steps)),
      ),
      { numRuns: name === 'memory' ? 40 : 12 },
    );
  });
});
