// Bytes that are not what was written: told, kept, and never a reason for anything else to stop (I12).
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Commit, SessionRecords } from '../../src/core/ports.js';
import * as keys from '../../src/store/keys.js';
import { KINDS, type Kind } from '../../src/store/keys.js';
import { encodeRecord } from '../../src/store/records.js';
import type { LevelTurnStore } from '../../src/store/store.js';
import { del, put } from '../../src/store/tables.js';
import { bundle } from './bundle.js';
import {
  appended,
  callOf,
  checkpointOf,
  commitAfter,
  compacted,
  inputOf,
  outcomeOf,
  reviewOf,
  rewritten,
  textsOf,
  turnOf,
} from './fixtures.js';
import { everything, inWorld, makeWorld, temporaryFolder, WORLDS, type World } from './world.js';

const damage = (record: string) => ({
  code: 'TURN_DAMAGED',
  retryable: false,
  message: expect.stringContaining(record),
});

/** One session with a record of each kind, and a healthy one beside it. */
async function fill(store: LevelTurnStore): Promise<Commit> {
  const turn = turnOf('s');
  const call = callOf(turn, 0);
  const first = compacted(undefined, 's', ['a', 'b', 'c'], ['older']);
  const commit: Commit = {
    ...first,
    head: { ...first.head, dispatched: 2, settled: 1, waitingInput: 1 },
    checkpoint: checkpointOf(first.head),
    calls: { put: [call, callOf(turn, 1, { state: 'succeeded' })], remove: [] },
    inbox: { put: [inputOf('s', 0)], remove: [] },
    seen: [{ messageId: 'm', turnId: turn }],
    outcomes: [outcomeOf(turn)],
    reviews: { put: [reviewOf(call)], remove: [] },
  };
  await store.commit(commit);
  await store.commit(appended(undefined, 'healthy', ['x']));
  return commit;
}

/** What a start-up and another session do. */
async function expectTheOthersGoOn(world: World): Promise<LevelTurnStore> {
  const store = await world.open();
  await store.markers('agent');
  await store.waitingInput('agent');
  await store.reviews('agent');
  expect(textsOf(await store.messages('healthy'))).toContain('x');
  return store;
}

async function loadOrDamage(store: LevelTurnStore, sessionId: string): Promise<SessionRecords | 'damaged' | undefined> {
  return store.load(sessionId).catch((error: { code?: string }) => {
    expect(error.code).toBe('TURN_DAMAGED');
    return 'damaged' as const;
  });
}

describe.each(WORLDS)('damage in %s', (name) => {
  it('I12: a flipped bit anywhere gives the right value or is told, and stops nothing else', async () => {
    await inWorld(name, async (world) => {
      let store = await world.open();
      await fill(store);
      const intact = await store.load('s');
      await store.close();
      // The healthy session stays as it is.
      const records = (await world.inspect(everything)).filter(({ key }) => !key.includes('healthy'));
      expect(new Set(records.map(({ kind }) => kind)).size).toBe(KINDS.length - 2);
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...records), fc.nat(), async ({ kind, key, bytes }, at) => {
          const flipped = Buffer.from(bytes);
          const bit = at % (bytes.length * 8);
          flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
          await world.inspect((tables) => tables.write([put(kind, key, flipped)]));
          store = await expectTheOthersGoOn(world);
          const loaded = await loadOrDamage(store, 's');
          const told = ['head', 'message', 'turn', 'call', 'inbox', 'review'].includes(kind);
          expect(loaded).toEqual(told ? 'damaged' : intact);
          const archived = await store.archive('s').then(textsOf, (error: { code?: string }) => error.code);
          expect(archived).toEqual(kind === 'head' || kind === 'archive' ? 'TURN_DAMAGED' : ['older']);
          await store.close();
          await world.inspect((tables) => tables.write(records.map((r) => put(r.kind, r.key, r.bytes))));
        }),
        { numRuns: name === 'memory' ? 300 : 40 },
      );
    });
  });

  it.each(['missing', 'of another place', 'older than it was'] as const)('tells a record that is %s', async (how) => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      await fill(store);
      const [first, second] = [keys.messageKeys('s', 0)(1), keys.messageKeys('s', 0)(2)];
      const call = keys.callKey(callOf(turnOf('s'), 1).callId);
      await world.inspect(async (tables) => {
        if (how === 'missing') await tables.write([del('message', first)]);
        if (how === 'of another place') {
          await tables.write([put('message', first, (await tables.get('message', second)) as Buffer)]);
        }
        if (how === 'older than it was') {
          // A table that got lost brings back the state before: here, the call that was not settled yet.
          await tables.write([put('call', call, encodeRecord('call', call, 1, callOf(turnOf('s'), 1), 'call'))]);
        }
      });
      await expect(store.load('s')).rejects.toMatchObject(
        damage(how === 'older than it was' ? '2 dispatched and 0 settled' : 'message 1 of epoch 0'),
      );
      expect(textsOf(await store.messages('healthy'))).toEqual(['x']);
      await store.close();
    });
  });

  it('tells a message too many and one too few', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      await fill(store);
      const last = keys.messageKeys('s', 0)(2);
      const bytes = await world.inspect(async (tables) => (await tables.get('message', last)) as Buffer);
      await world.inspect((tables) => tables.write([del('message', last)]));
      await expect(store.messages('s')).rejects.toMatchObject(damage('2 messages where the head has 3'));
      const extra = keys.messageKeys('s', 0)(3);
      const made = encodeRecord('message', extra, 1, {}, 'extra');
      await world.inspect((tables) => tables.write([put('message', last, bytes), put('message', extra, made)]));
      await expect(store.messages('s')).rejects.toMatchObject(damage('4 messages where the head has 3'));
      await store.close();
    });
  });

  it('tells input that is missing and input that came back', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      await store.commit({
        ...commitAfter(undefined, 's', { waitingInput: 1 }),
        inbox: { put: [inputOf('s', 0)], remove: [] },
      });
      const [first, second] = [keys.inboxKey('s', 0, 'in0'), keys.inboxKey('s', 1, 'in1')];
      const bytes = await world.inspect(async (tables) => (await tables.get('inbox', first)) as Buffer);
      await world.inspect((tables) => tables.write([del('inbox', first)]));
      await expect(store.load('s')).rejects.toMatchObject(damage('0 records where the head has 1'));
      const old = encodeRecord('inbox', second, 1, { agent: 'agent', input: inputOf('s', 1) }, 'input');
      await world.inspect((tables) => tables.write([put('inbox', first, bytes), put('inbox', second, old)]));
      await expect(store.load('s')).rejects.toMatchObject(damage('2 records where the head has 1'));
      await store.close();
    });
  });

  it('tells a head that is older than its records', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      const first = appended(undefined, 's', ['a']);
      await store.commit(first);
      const key = keys.headKey('s');
      const old = await world.inspect(async (tables) => (await tables.get('head', key)) as Buffer);
      const second = commitAfter(first.head, 's');
      await store.commit({ ...second, checkpoint: checkpointOf(second.head) });
      await store.close();
      await world.inspect((tables) => tables.write([put('head', key, old)]));
      const again = await world.open();
      await expect(again.load('s')).rejects.toMatchObject(damage('newer than the head (1)'));
      await again.close();
    });
  });

  it('refuses to commit on a head that cannot be read, and goes on after its quarantine with the bytes kept', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      const commit = await fill(store);
      await store.close();
      const junk = Buffer.from('junk');
      const turn = await world.inspect(async (tables) => {
        await tables.write([put('head', keys.headKey('s'), junk)]);
        return tables.get('turn', keys.turnKey('s'));
      });
      const again = await world.open();
      await expect(again.head('s')).rejects.toMatchObject(damage('"s": the head'));
      await expect(again.commit(commitAfter(commit.head, 's'))).rejects.toMatchObject(damage('the head'));
      expect((await again.markers('agent')).map(({ sessionId }) => sessionId).sort()).toEqual(['healthy', 's']);
      await again.quarantine('s', 'the head has a wrong checksum \ud800');
      expect((await again.markers('agent')).map(({ sessionId }) => sessionId)).toEqual(['healthy']);
      await again.commit(appended(undefined, 's', ['new']));
      const kept = (await world.inspect(everything)).filter(({ kind }) => kind === 'quarantine');
      const keyOf = (kind: Kind, key: string) => keys.quarantineKey('s', 0, kind, key);
      expect(kept.find(({ key }) => key === keyOf('head', keys.headKey('s')))?.bytes).toEqual(junk);
      expect(kept.find(({ key }) => key === keyOf('turn', keys.turnKey('s')))?.bytes).toEqual(turn);
      expect(kept.filter(({ key }) => key.includes('!inbox!'))).toHaveLength(1);
      expect(kept.filter(({ key }) => key.includes('!message!'))).toHaveLength(3);
      // What outlives a turn is still there.
      expect(await again.reviews('agent')).toHaveLength(1);
      await again.close();
    });
  });

  it('I2: repairs a marker that cannot be read from the head, and removes one whose head asks for none', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      await store.commit(commitAfter(undefined, 'running', { lastProgressAt: 77 }));
      await store.commit(commitAfter(undefined, 'done', { inProgress: false }));
      await store.commit(commitAfter(undefined, 'headless'));
      const junk = Buffer.from('junk');
      await world.inspect((tables) =>
        tables.write([
          ...['running', 'done', 'headless', 'nobody'].map((id) => put('marker', keys.markerKey(id), junk)),
          put('marker', 'no key of ours', junk),
          put('head', keys.headKey('headless'), junk),
        ]),
      );
      const repaired = [{ sessionId: 'running', agent: 'agent', turnId: turnOf('running'), savedAt: 77 }];
      expect(await store.markers('agent')).toEqual(repaired);
      expect(await store.markers('agent')).toEqual(repaired);
      const left = (await world.inspect(everything)).filter(({ kind }) => kind === 'marker').map(({ key }) => key);
      expect(left.sort()).toEqual([keys.markerKey('running'), 'no key of ours'].sort());
      const kept = (await world.inspect(everything)).filter(({ bytes }) => bytes.equals(junk)).map(({ kind }) => kind);
      expect(kept.sort()).toEqual(['head', 'marker', 'quarantine', 'quarantine']);
      await store.close();
    });
  });

  it('I12: never sweeps an epoch that its head names, whatever a garbage record says', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      const first = appended(undefined, 's', ['a']);
      await store.commit(first);
      await store.commit(rewritten(first.head, 's', ['b']));
      await store.close();
      const live = keys.garbageKey('s', 1);
      await world.inspect((tables) =>
        tables.write([
          put('garbage', live, encodeRecord('garbage', live, 1, {}, 'garbage')),
          put('garbage', keys.garbageKey('s', 0), Buffer.from('junk')),
          put('garbage', 'no key of ours', Buffer.from('junk')),
        ]),
      );
      const again = await world.open();
      expect(textsOf(await again.messages('s'))).toEqual(['b']);
      await again.close();
    });
  });
});

describe.each(WORLDS)('a part of the database that LevelDB cannot read, in %s', (name) => {
  /** Twenty sessions in progress with waiting input; of some kinds the records of a few cannot be read. */
  async function withUnreadable(kinds: readonly Kind[], run: (store: LevelTurnStore, world: World) => Promise<void>) {
    await inWorld(name, async (world) => {
      const before = await world.open();
      for (const id of sessions) {
        const commit = commitAfter(undefined, id, { waitingInput: 1 });
        await before.commit({ ...commit, inbox: { put: [inputOf(id, 0)], remove: [] } });
      }
      await before.close();
      const lost = new Set(
        ['s3', 's4', 's11'].flatMap((id) => [keys.markerKey(id), keys.headKey(id), keys.inboxKey(id, 0, 'in0')]),
      );
      world.unreadable = (kind, key) => kinds.some((one) => one === kind) && (lost.has(key) || key === keys.FORMAT_KEY);
      const store = await world.open();
      await run(store, world);
      await store.close();
    });
  }
  const sessions = Array.from({ length: 20 }, (_, i) => `s${i}`);
  const sorted = (ids: Iterable<string>) => [...ids].sort();
  const without = (...ids: string[]) => sorted(sessions.filter((id) => !ids.includes(id)));

  it('I2: hides no interrupted turn and no waiting input whose head can be read', async () => {
    await withUnreadable(['marker', 'inbox'], async (store) => {
      expect(sorted((await store.markers('agent')).map(({ sessionId }) => sessionId))).toEqual(sorted(sessions));
      expect(sorted(await store.waitingInput('agent'))).toEqual(sorted(sessions));
    });
  });

  it('I12: stops no other session, and the session in it can be put into quarantine', async () => {
    await withUnreadable(['head', 'inbox', 'garbage', 'meta', 'review', 'quarantine'], async (store, world) => {
      expect(sorted((await store.markers('agent')).map(({ sessionId }) => sessionId))).toEqual(sorted(sessions));
      expect(sorted(await store.waitingInput('agent'))).toEqual(without('s3', 's4', 's11'));
      expect(await store.reviews('agent')).toEqual([]);
      await expect(store.load('s3')).rejects.toMatchObject(damage('"s3"'));
      await expect(store.head('s3')).rejects.toMatchObject(damage('"s3"'));
      await expect(store.commit(appended(undefined, 's3', ['a']))).rejects.toMatchObject({ code: 'TURN_DAMAGED' });
      await store.commit(appended(await store.head('s5'), 's5', ['a']));
      await store.quarantine('s3', 'cannot be read');
      expect(sorted((await store.markers('agent')).map(({ sessionId }) => sessionId))).toEqual(without('s3'));
      // The new record hides the one that cannot be read.
      world.unreadable = () => false;
      await store.commit(appended(undefined, 's3', ['new']));
      expect(textsOf(await store.messages('s3'))).toEqual(['new']);
    });
  });
});

it('I12: a flipped bit in a table of LevelDB stops neither the opening nor the scans, and gives no wrong message', async () => {
  const { folder, program } = await bundle('flips.ts');
  const path = temporaryFolder();
  try {
    // In a process of its own: LevelDB can abort the process that meets a damaged table.
    const { stdout } = await promisify(execFile)(process.execPath, [program, path]);
    const results = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { at: number; wrong: string[] });
    expect(results.filter(({ wrong }) => wrong.length > 0)).toEqual([]);
    expect(results.length).toBeGreaterThan(50);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    rmSync(path, { recursive: true, force: true });
  }
});

it('I12: random bytes under every key stop neither the opening nor a scan', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...KINDS),
      fc.string({ minLength: 1 }),
      fc.uint8Array(),
      async (kind, key, bytes) => {
        const world = makeWorld('memory');
        const first = await world.open();
        await first.commit(appended(undefined, 'healthy', ['x']));
        await first.close();
        await world.inspect((tables) => tables.write([put(kind, key, Buffer.from(bytes))]));
        await (await expectTheOthersGoOn(world)).close();
      },
    ),
  );
});
