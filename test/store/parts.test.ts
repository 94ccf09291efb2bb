// Large records: cut into parts underneath everything that reads and writes whole ones, and never a part too many.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Commit, TurnStore } from '../../src/core/ports.js';
import { checkRecords } from '../../src/store/check.js';
import * as keys from '../../src/store/keys.js';
import { openLevelStore } from '../../src/store/level-store.js';
import { cut, join as joined, PART_BYTES, partsNamed } from '../../src/store/parts.js';
import { encodeRecord } from '../../src/store/records.js';
import { BATCH_OPS, del, put, Tables } from '../../src/store/tables.js';
import { viewFolder } from '../../src/store/view.js';
import {
  appended,
  callOf,
  checkpointOf,
  commitAfter,
  compacted,
  inputOf,
  rewritten,
  textsOf,
  turnOf,
} from './fixtures.js';
import { everything, inWorld, partsIn, temporaryFolder, WORLDS, type World } from './world.js';

const large = (letter: string, parts = 3): string => letter.repeat(PART_BYTES * (parts - 1) + 1000);
const partsOf = (world: World): Promise<string[]> => world.inspect(partsIn);
const read = (world: World, kind: keys.Kind, key: string) => world.inspect((tables) => tables.get(kind, key));

async function swept(world: World): Promise<void> {
  const garbage = async () => (await world.inspect(everything)).some(({ kind }) => kind === 'garbage');
  while (await garbage()) await new Promise((resolve) => setImmediate(resolve));
}

/** Names the kinds of the records that the parts belong to, and how many each has. */
async function countParts(world: World): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const key of await partsOf(world)) {
    const name = `${key.split('!')[1]} ${keys.recordOfPart(key)}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

function withCall(commit: Commit, value: string): Commit {
  const call = callOf(turnOf('s'), 0, { state: 'succeeded', settledAt: 2, output: { type: 'text', value } });
  return {
    ...commit,
    head: { ...commit.head, dispatched: 1, settled: 1 },
    calls: { put: [call], remove: [] },
  };
}

const CALL = keys.callKey(callOf(turnOf('s'), 0).callId);

describe('a value that is cut', () => {
  const key = keys.messageKeys('s', 0)(0);
  const value = encodeRecord('message', key, 7, { text: large('x', 4) }, 'value');
  const { reference, parts } = cut('message', key, value);
  const names = partsNamed('message', key, reference) as string[];

  it('comes back as it was, from parts that are no longer than a part may be', () => {
    expect(names).toEqual(parts.map(([name]) => name));
    expect(Math.max(...parts.map(([, bytes]) => bytes.length))).toBeLessThanOrEqual(PART_BYTES + 11);
    expect(
      joined(
        reference,
        names,
        parts.map(([, bytes]) => bytes),
      ).equals(value),
    ).toBe(true);
  });

  it('I14: is never taken for whole with a part missing, damaged, of another place or of another value', () => {
    const bytes = parts.map(([, part]) => part);
    const flipped = Buffer.from(bytes[1] as Buffer);
    flipped[20] = (flipped[20] as number) ^ 1;
    const wrong: (Buffer | undefined)[][] = [
      [bytes[0], undefined, bytes[2], bytes[3]],
      [bytes[0], flipped, bytes[2], bytes[3]],
      [bytes[1], bytes[0], bytes[2], bytes[3]],
      [undefined, undefined, undefined, undefined],
    ];
    for (const found of wrong) expect(joined(reference, names, found)[0]).toBe(reference[0]);
  });

  it('is named by a record with a checksum of its own', () => {
    for (let bit = 8; bit < reference.length * 8; bit += 1) {
      const flipped = Buffer.from(reference);
      flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(partsNamed('message', key, flipped), `bit ${bit}`).toBe(null);
    }
    expect(partsNamed('message', keys.messageKeys('s', 0)(1), reference)).toBe(null);
  });
});

describe.each(WORLDS)('large records in %s', (name) => {
  it('are cut in the batch that brings them, and small ones are as they were', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      const { batches } = world;
      await store.commit(appended(undefined, 's', [large('a'), 'small']));
      expect(world.batches).toBe(batches + 1);
      expect(await countParts(world)).toEqual({ [`message ${keys.messageKeys('s', 0)(0)}`]: 3 });
      expect(textsOf(await store.messages('s'))).toEqual([large('a'), 'small']);
      await store.close();
    });
  });

  it('take their parts along when they are overwritten or deleted, whoever opened the database since', async () => {
    await inWorld(name, async (world) => {
      let store = await world.open();
      let commit: Commit = withCall(appended(undefined, 's', ['a']), large('b', 4));
      const next = async (change: (commit: Commit) => Commit) => {
        commit = change(commitAfter(commit.head, 's', { dispatched: 1, settled: 1 }));
        await store.commit(commit);
      };
      await store.commit(commit);
      expect(await countParts(world)).toEqual({ [`call ${CALL}`]: 4 });
      await next((after) => withCall(after, large('c', 2)));
      expect(await countParts(world)).toEqual({ [`call ${CALL}`]: 2 });
      await next((after) => ({ ...after, checkpoint: { ...checkpointOf(after.head), large: large('d') } as never }));
      expect(await countParts(world)).toEqual({ [`call ${CALL}`]: 2, 'turn s': 3 });
      await store.close();
      store = await world.open();
      await next((after) => ({ ...withCall(after, 'small'), checkpoint: null }));
      expect(await partsOf(world)).toEqual([]);
      await next((after) => withCall(after, large('e')));
      await next((after) => ({
        ...after,
        head: { ...after.head, dispatched: 0, settled: 0 },
        calls: { put: [], remove: [callOf(turnOf('s'), 0).callId] },
      }));
      expect(await partsOf(world)).toEqual([]);
      await store.close();
    });
  });

  it('I3: go with their epoch, and with what an archive that never came has staged', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      const first = appended(undefined, 's', [large('a'), 'b', large('c')]);
      await store.commit(first);
      const lost = compacted(first.head, 's', [large('d', 5), large('e', 5)], [large('a', 6)]);
      const { batches } = world;
      world.fate = (nth) => (nth === batches + 4 ? 'fail' : 'pass');
      await expect(store.commit(lost)).rejects.toMatchObject({ code: 'TURN_STORE_FAILED' });
      world.fate = () => 'pass';
      expect(Object.keys(await countParts(world)).length).toBe(5);
      const short = rewritten(first.head, 's', ['short', large('f')]);
      await store.commit(short);
      await swept(world);
      expect(await countParts(world)).toEqual({ [`message ${keys.messageKeys('s', 1)(1)}`]: 3 });
      expect(textsOf(await store.messages('s'))).toEqual(['short', large('f')]);
      await store.close();
    });
  });

  it('leave with their session, and those of others stay', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      await store.commit(appended(undefined, 'other', [large('o')]));
      const others = await partsOf(world);
      const first = withCall(appended(undefined, 's', [large('a', 255), 'b']), large('c'));
      const input = { ...inputOf('s', 0), input: { role: 'user', content: [{ type: 'text', text: large('i') }] } };
      await store.commit({
        ...first,
        head: { ...first.head, waitingInput: 1 },
        checkpoint: { ...checkpointOf(first.head), large: large('d') } as never,
        inbox: { put: [input as never], remove: [] },
      });
      expect(Object.keys(await countParts(world))).toHaveLength(5);
      await store.remove('s');
      expect(await partsOf(world)).toEqual(others);
      expect(textsOf(await store.messages('other'))).toEqual([large('o')]);
      await store.close();
    });
  });

  it('are damaged by one part, with the bytes of the others kept in quarantine', async () => {
    await inWorld(name, async (world) => {
      let store = await world.open();
      const first = appended(undefined, 's', ['a']);
      await store.commit({ ...first, checkpoint: { ...checkpointOf(first.head), large: large('d') } as never });
      await store.commit(appended(undefined, 'healthy', [large('h')]));
      const [lost] = (await partsOf(world)).filter((key) => key.includes('!turn!'));
      await world.inspect((tables) => tables.write([del(keys.PART, lost as string)]));
      await expect(store.load('s')).rejects.toMatchObject({
        code: 'TURN_DAMAGED',
        message: expect.stringContaining('a missing or damaged part'),
      });
      await store.quarantine('s', 'a part is missing');
      expect((await partsOf(world)).filter((key) => key.includes('!turn!s!'))).not.toContain('s!turn!s!0001');
      const kept = (await read(world, 'quarantine', keys.quarantineKey('s', 0, 'turn', 's'))) as Buffer;
      expect(kept.length).toBeGreaterThan(PART_BYTES);
      expect(kept.includes('d'.repeat(1000))).toBe(true);
      await store.close();
      store = await world.open();
      expect(textsOf(await store.messages('healthy'))).toEqual([large('h')]);
      await store.close();
    });
  });

  it('move whole into quarantine, parts and all, when their session begins again', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      await store.commit(appended(undefined, 's', [large('a'), 'b']));
      await store.quarantine('s', 'a test');
      await store.commit(appended(undefined, 's', ['new']));
      const key = keys.messageKeys('s', 0)(0);
      expect(Object.keys(await countParts(world))).toEqual([
        `quarantine ${keys.quarantineKey('s', 1, 'message', key)}`,
      ]);
      expect(await read(world, 'quarantine', keys.quarantineKey('s', 1, 'message', key))).toHaveLength(
        encodeRecord('message', key, 1, appended(undefined, 's', [large('a')]).transcript?.messages[0], 'm').length,
      );
      await store.close();
    });
  });

  it('count their parts in the batches they are staged in', async () => {
    await inWorld(name, async (world) => {
      const sizes: number[] = [];
      const store = await world.open();
      const first = appended(undefined, 's', ['a']);
      await store.commit(first);
      const texts = Array.from({ length: 1200 }, (_, i) => (i % 200 === 0 ? large('x', 2) : `${i}`));
      await world.inspect(async ({ level }) => {
        const batch = level.batch.bind(level);
        level.batch = (ops, options) => {
          sizes.push(ops.length);
          return batch(ops, options);
        };
      });
      await store.commit(rewritten(first.head, 's', texts));
      expect(Math.max(...sizes)).toBeLessThanOrEqual(BATCH_OPS);
      expect(textsOf(await store.messages('s'))).toEqual(texts);
      await store.commit(rewritten({ ...first.head, revision: 2, epoch: 1, count: 1200 }, 's', ['short']));
      await swept(world);
      expect(await partsOf(world)).toEqual([]);
      expect(Math.max(...sizes)).toBeLessThanOrEqual(BATCH_OPS);
      await store.close();
    });
  });

  it('are joined one at a time while a range is read, however many there are', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      await store.commit(appended(undefined, 's', ['small', large('a'), large('b'), 'small', large('c')]));
      await store.close();
      await world.inspect(async (tables) => {
        let reads = 0;
        const { level } = tables;
        const get = level.get.bind(level);
        level.get = (...asked) => {
          reads += 1;
          return get(...asked);
        };
        const seen: number[] = [];
        for await (const _entry of tables.scan('message')) seen.push(reads);
        expect(seen).toEqual([3, 3, 6, 9, 9]);
      });
    });
  });

  it('are read at one moment, also where they are overwritten between the record and its parts', async () => {
    await inWorld(name, async (world) => {
      const key = keys.turnKey('s');
      const [old, young] = ['o', 'y'].map((text) => encodeRecord('turn', key, 1, large(text), 'a value')) as [
        Buffer,
        Buffer,
      ];
      await world.inspect(async (writer) => {
        let overwrite = false;
        const level = Object.create(writer.level) as Tables['level'];
        level.snapshot = () => writer.level.snapshot();
        level.iterator = (how) => writer.level.iterator(how);
        level.get = async (place, how) => {
          if (place.startsWith(keys.placeOf(keys.PART, '')) && overwrite) {
            overwrite = false;
            await writer.write([put('turn', key, young)]);
          }
          return writer.level.get(place, how);
        };
        const reader = new Tables(level);
        const readers = [
          () => reader.get('turn', key),
          async () => {
            for await (const [, value] of reader.scan('turn')) return value;
            return undefined;
          },
        ];
        for (const look of readers) {
          await writer.write([put('turn', key, old)]);
          overwrite = true;
          expect((await look())?.equals(old)).toBe(true);
          expect(overwrite).toBe(false);
        }
      });
    });
  });

  it('are read at one moment, while others overwrite them', async () => {
    await inWorld(name, async (world) => {
      const store = await world.open();
      let commit: Commit = withCall(appended(undefined, 's', ['a']), large('a'));
      await store.commit(commit);
      let writing = true;
      const { callId } = callOf(turnOf('s'), 0);
      const reader = (async () => {
        while (writing) {
          expect((await store.call(callId))?.state).toBe('succeeded');
          for await (const [key, bytes] of scanOf(world)) expect(bytes.length, key).toBeGreaterThan(1000);
        }
      })();
      for (let nth = 0; nth < 15; nth += 1) {
        commit = withCall(commitAfter(commit.head, 's'), large(String(nth % 10), 2 + (nth % 4)));
        await store.commit(commit);
      }
      writing = false;
      await reader;
      await store.close();
    });
  });
});

const scanOf = (world: World) =>
  (async function* () {
    const entries: [string, Buffer][] = [];
    await world.inspect(async (tables: Tables) => {
      for await (const entry of tables.scan('call')) entries.push(entry);
    });
    yield* entries;
  })();

describe('a folder with large records', () => {
  let scratch = '';
  beforeEach(() => {
    scratch = temporaryFolder();
  });
  afterEach(() => rmSync(scratch, { recursive: true, force: true }));

  async function disagreements(path: string): Promise<unknown[]> {
    const view = await viewFolder(path);
    const found: unknown[] = [];
    for await (const one of checkRecords(view.tables)) found.push(one);
    await view.close();
    return found;
  }

  it('is backed up, viewed and checked like any other', async () => {
    const [path, copy] = [join(scratch, 'db'), join(scratch, 'copy')];
    const store: TurnStore = await openLevelStore({ path });
    await store.commit(withCall(appended(undefined, 's', [large('a'), 'b']), large('c')));
    const whole = await store.load('s');
    await store.backup?.(copy, () => {});
    await store.close();
    expect(await disagreements(path)).toEqual([]);
    const restored = await openLevelStore({ path: copy });
    expect(await restored.load('s')).toEqual(whole);
    await restored.close();
    const view = await viewFolder(copy);
    const parts = await partsIn(view.tables);
    await view.close();
    expect(parts).toHaveLength(6);
    expect(await disagreements(copy)).toEqual([]);
  });
});
