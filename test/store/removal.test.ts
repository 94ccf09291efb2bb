// A session that is removed: nothing of it is left, nothing of any other is touched, wherever it is cut off.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { turnIdOf } from '../../src/core/ids.js';
import * as keys from '../../src/store/keys.js';
import { KINDS, type Kind } from '../../src/store/keys.js';
import { encodeRecord } from '../../src/store/records.js';
import { type Op, put } from '../../src/store/tables.js';
import { appended, callOf, commitAfter, inputOf, textsOf, turnOf } from './fixtures.js';
import { isThere, live, stored, swept, texts } from './lives.js';
import { expectMarkersAgree, inWorld, WORLDS } from './world.js';

/** What nobody reads and is part of the session all the same. */
function leftovers(id: string): Op[] {
  const record = (kind: Kind, key: string) => put(kind, key, encodeRecord(kind, key, 9, {}, kind));
  return [
    record('message', keys.messageKeys(id, 8)(0)),
    record('garbage', keys.garbageKey(id, 8)),
    record('archive', keys.archiveKey(id, 5000)),
    record('quarantine', keys.quarantineKey(id, 0)),
    put('quarantine', keys.quarantineKey(id, 0, 'head', keys.headKey(id)), Buffer.from('junk')),
  ];
}

describe.each(WORLDS)('a session removed from %s', (name) => {
  it('leaves no record of any kind, and those of the others byte for byte', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      for (const id of ['s1', 's.', 's%2E', 'S']) await live(store, id);
      await swept(world);
      const others = await stored(world);
      await live(store, 's', 700);
      await world.inspect((tables) => tables.write(leftovers('s')));
      expect(new Set((await stored(world)).map(({ kind }) => kind)).size).toBe(KINDS.length);
      expect(await isThere(store, 's')).toBe(true);
      await store.remove('s');
      expect(await isThere(store, 's')).toBe(false);
      expect(await stored(world)).toEqual(others);
      await expectMarkersAgree(world);
      await store.close();
    });
  });

  it('takes nothing of a session whose id is like its own', async () => {
    const family = [
      'a',
      'a.b',
      'a%2E',
      'a%2Eb',
      'a%252Eb',
      'a.',
      'a!',
      'a!0000000000',
      'a/1',
      'a%',
      'A',
      'a\u0000',
      'a~',
    ];
    const id = fc.oneof(
      fc.constantFrom(...family),
      fc.string({ unit: fc.constantFrom('a', '.', '%', '2', '5', 'E', '!', 't1'), minLength: 1, maxLength: 6 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(id, { minLength: 2, maxLength: 5 }), ([victim = '', ...others]) =>
        inWorld(name, async (world) => {
          const store = await world.open();
          for (const other of others) await live(store, other, 2);
          await swept(world);
          const before = await stored(world);
          await live(store, victim, 2);
          await store.remove(victim);
          expect(await stored(world)).toEqual(before);
          for (const other of others) expect(await isThere(store, other), other).toBe(true);
          await store.close();
        }),
      ),
      { numRuns: name === 'memory' ? 40 : 8 },
    );
  });

  it('is nothing to remove where it was never stored: not even a batch is written', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      await live(store, 'a.b');
      await swept(world);
      const { batches } = world;
      await store.remove('a');
      await store.remove('a.b.c');
      expect(world.batches).toBe(batches);
      await expect(store.remove('')).rejects.toThrow(TypeError);
      await expect(store.remove('a\ud800')).rejects.toThrow(TypeError);
      await store.close();
    });
  });

  it('goes out of sight in one batch, also where more waits for it than fits into one', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      const commit = commitAfter(undefined, 's', { waitingInput: 700 });
      await store.commit({ ...commit, inbox: { put: texts('', 700).map((_, i) => inputOf('s', i)), remove: [] } });
      const { batches } = world;
      await store.remove('s');
      expect(world.batches).toBe(batches + 2);
      expect(await stored(world)).toMatchObject([{ kind: 'meta' }]);
      await store.close();
    });
  });

  it('goes in batches of 250 keys, with commits of others between them', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      await store.commit(appended(undefined, 's', texts('a', 1100)));
      const sizes: number[] = [];
      await world.inspect(async ({ level }) => {
        const batch = level.batch;
        level.batch = (ops, options) => {
          sizes.push(ops.length);
          return batch(ops, options);
        };
      });
      let removed = false;
      const removal = store.remove('s').then(() => {
        removed = true;
      });
      await store.commit(appended(undefined, 'other', ['x']));
      expect(removed).toBe(false);
      await removal;
      expect(Math.max(...sizes)).toBe(250);
      expect(sizes.length).toBeGreaterThan(5);
      await store.close();
    });
  });

  it('is looked for once in each place: a look passes over all that was deleted behind it', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      await live(store, 's');
      await swept(world);
      const looks: string[] = [];
      const noted = (how: { readonly gte?: string }): void => {
        looks.push((how.gte ?? '').split('!')[1] ?? '');
      };
      await world.inspect(async ({ level }) => {
        const [keysOf, entriesOf] = [level.keys.bind(level), level.iterator.bind(level)];
        let inside = false;
        level.keys = (how) => {
          noted(how);
          // A list of keys can be an iterator inside.
          inside = true;
          const found = keysOf(how);
          inside = false;
          return found;
        };
        level.iterator = (how) => {
          if (!inside) noted(how);
          return entriesOf(how);
        };
      });
      await store.remove('s');
      const places = ['archive', 'call', 'garbage', 'inbox', 'message', 'outcome', 'part', 'quarantine', 'review'];
      expect(looks.sort()).toEqual([...places, 'seen']);
      await store.close();
    });
  });

  it('also goes where it was set aside, with what was kept of it', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      await live(store, 's');
      await store.quarantine('s', 'damaged');
      await store.remove('s');
      expect(await stored(world)).toMatchObject([{ kind: 'meta' }]);
      await store.close();
    });
  });
});

describe.each(WORLDS)('damage and removal in %s', (name) => {
  const junk = Buffer.from('junk');

  it('I12: removes a session of which every record is damaged', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      await live(store, 'healthy');
      await swept(world);
      const others = await stored(world);
      await live(store, 's');
      await swept(world);
      const known = new Set(others.map(({ kind, key }) => `${kind} ${key}`));
      const damaged = (await stored(world)).filter(({ kind, key }) => !known.has(`${kind} ${key}`));
      await world.inspect((tables) => tables.write(damaged.map(({ kind, key }) => put(kind, key, junk))));
      await store.remove('s');
      expect(await stored(world)).toEqual(others);
      await store.close();
    });
  });

  it('I12: removes what it can of a session that LevelDB cannot read, and lets a new one begin', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      await live(store, 'healthy');
      await live(store, 's', 600);
      await swept(world);
      const lost = new Set([
        keys.headKey('s'),
        keys.inboxKey('s', 1, 'in1'),
        keys.messageKeys('s', 1)(300),
        keys.seenKey('s', 'm77'),
        keys.callKey(callOf(turnOf('s', 7), 40).callId),
      ]);
      world.unreadable = (_kind, key) => lost.has(key);
      await store.remove('s');
      expect(await store.waitingInput('agent')).toEqual(['healthy']);
      expect((await store.markers('agent')).map(({ sessionId }) => sessionId)).toEqual(['healthy']);
      world.unreadable = () => false;
      const left = (await stored(world)).filter(({ key }) => lost.has(key)).map(({ kind }) => kind);
      // The head needs no reading to be deleted; the others have no key that could be read.
      expect(left.sort()).toEqual(['call', 'inbox', 'message', 'seen']);
      await store.remove('s');
      await store.commit(appended(undefined, 's', ['new']));
      expect(textsOf(await store.messages('s'))).toEqual(['new']);
      expect(await isThere(store, 'healthy')).toBe(true);
      await store.close();
    });
  });

  it('I12: a removal record that came back beside a living session takes nothing from it, then or later', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      await live(store, 's');
      await swept(world);
      const before = await stored(world);
      const key = keys.removalKey('s');
      await world.inspect((tables) => tables.write([put('garbage', key, encodeRecord('garbage', key, 0, {}, 'g'))]));
      expect(await isThere(store, 's')).toBe(true);
      await store.close();
      const after = await world.open();
      expect(await stored(world)).toEqual(before);
      expect(await isThere(after, 's')).toBe(true);
      await after.close();
    });
  });

  it('I12: a removal record that cannot be read takes nothing from anybody', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      await live(store, 's');
      await swept(world);
      await store.quarantine('s', 'set aside');
      await world.inspect((tables) => tables.write([put('garbage', keys.removalKey('s'), junk)]));
      const before = await stored(world);
      await store.close();
      const after = await world.open();
      expect(await stored(world)).toEqual(before);
      expect(await after.outcome(turnIdOf('s', 't1'))).toBeDefined();
      await after.close();
    });
  });
});
