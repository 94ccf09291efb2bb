// Records that LevelDB reads without complaint and that do not agree: each way is named, with its session.
import { describe, expect, it } from 'vitest';
import { checkRecords, type Disagreement } from '../../src/store/check.js';
import * as keys from '../../src/store/keys.js';
import { encodeRecord } from '../../src/store/records.js';
import { del, type Op, put } from '../../src/store/tables.js';
import { live } from './lives.js';
import { everything, inWorld } from './world.js';

/** What is found after a change of the bytes behind the store's back. */
async function foundAfter(change: (stored: Awaited<ReturnType<typeof everything>>) => readonly Op[]) {
  const found: Disagreement[] = [];
  await inWorld('memory', async (world) => {
    const store = await world.open();
    for (const id of ['a', 'b']) await live(store, id);
    await store.close();
    await world.inspect(async (tables) => {
      await tables.write(change(await everything(tables)));
      for await (const one of checkRecords(tables)) found.push(one);
    });
  });
  return found;
}

describe('a check of all records', () => {
  it('finds nothing where everything is as it was written', async () => {
    expect(await foundAfter(() => [])).toEqual([]);
  });

  it('names the session of a damaged record of every kind, once', async () => {
    for (const kind of keys.KINDS) {
      if (kind === 'garbage' || kind === 'meta' || kind === 'quarantine') continue;
      let changed: string | undefined;
      const found = await foundAfter((stored) => {
        const record = stored.find((one) => one.kind === kind && keys.sessionOfKey(kind, one.key) === 'a');
        if (record === undefined) return [];
        changed = record.key;
        const bytes = Buffer.from(record.bytes);
        bytes.writeUInt8(bytes.readUInt8(bytes.length - 2) ^ 1, bytes.length - 2);
        return [put(kind, record.key, bytes)];
      });
      if (changed === undefined) continue;
      expect({ kind, found }).toEqual({
        kind,
        found: [{ sessionId: 'a', what: `the ${kind} record ${changed} has a wrong checksum` }],
      });
    }
  });

  it('finds a message that is gone, by the count of its head', async () => {
    const found = await foundAfter((stored) => {
      const last = stored.filter(({ kind, key }) => kind === 'message' && key.startsWith('a!')).at(-1);
      return [del('message', last?.key as string)];
    });
    expect(found).toEqual([{ sessionId: 'a', what: expect.stringMatching(/the transcript has \d+ messages where/) }]);
  });

  it('finds a record of any turn that is newer than the head', async () => {
    const key = keys.outcomeKey('a.another');
    const found = await foundAfter(() => [put('outcome', key, encodeRecord('outcome', key, 999, {}, ''))]);
    expect(found).toEqual([{ sessionId: 'a', what: expect.stringMatching(/revision 999, newer than the head/) }]);
  });

  it('I2: finds a marker that is gone, one too many, one of another turn, and one without a head', async () => {
    const marker = (sessionId: string, turnId: string) => {
      const key = keys.markerKey(sessionId);
      const value = { sessionId, agent: 'agent', turnId, savedAt: 1 };
      return put('marker', key, encodeRecord('marker', key, 1, value, 'marker'));
    };
    const gone = await foundAfter(() => [del('marker', keys.markerKey('a'))]);
    expect(gone).toEqual([{ sessionId: 'a', what: 'its marker is missing' }]);
    const other = await foundAfter(() => [marker('a', 'a.other')]);
    expect(other).toEqual([{ sessionId: 'a', what: 'its marker names another turn, a.other' }]);
    const lonely = await foundAfter(() => [marker('nobody', 'nobody.t')]);
    expect(lonely).toEqual([{ sessionId: 'nobody', what: 'it has a marker, and no head' }]);
  });

  describe('of parts', () => {
    const key = keys.archiveKey('a', 9);
    const large = encodeRecord('archive', key, 0, 'x'.repeat(600_000), 'text');
    const nth = (n: number): string => keys.partKey('archive', key)(n);

    it('finds those whose record is gone, or was written in one piece or shorter, each by its session', async () => {
      const small = encodeRecord('archive', key, 0, 'x', 'text');
      const shorter = encodeRecord('archive', key, 0, 'x'.repeat(300_000), 'text');
      for (const [left, lost] of [
        [[del('archive', key)], [0, 1, 2]],
        [[put('archive', key, small)], [0, 1, 2]],
        [[put('archive', key, shorter)], [2]],
        [[put('archive', key, large)], []],
      ] as const) {
        const found = (await foundAfter(() => [put('archive', key, large), ...left])).filter(({ what }) =>
          what.startsWith('the part'),
        );
        expect(found).toEqual(
          lost.map((n) => ({ sessionId: 'a', what: `the part ${nth(n)} is without the record it belongs to` })),
        );
      }
    });

    it('names a part of nobody, and leaves alone those of a record that is told already, or of a session that goes', async () => {
      const junk = Buffer.from([2, 1, 1]);
      const parts = await foundAfter(() => [put('archive', key, large), put('archive', key, junk)]);
      expect(parts.filter(({ what }) => what.startsWith('the part'))).toEqual([]);
      expect(parts).toContainEqual({ sessionId: 'a', what: expect.stringContaining(`the archive record ${key} has`) });

      const going = (id: string) =>
        put('garbage', keys.removalKey(id), encodeRecord('garbage', keys.removalKey(id), 0, {}, ''));
      const gone = await foundAfter(() => [
        put('archive', key, large),
        del('archive', key),
        del('head', keys.headKey('a')),
        going('a'),
      ]);
      expect(gone.filter(({ what }) => what.startsWith('the part'))).toEqual([]);

      await inWorld('memory', async (world) => {
        const store = await world.open();
        await store.close();
        await world.inspect(async (tables) => {
          await tables.level.batch(
            [{ type: 'put', key: '!part!no!part', value: Buffer.from('x'), valueEncoding: 'buffer' }],
            { sync: true },
          );
          const found: Disagreement[] = [];
          for await (const one of checkRecords(tables)) found.push(one);
          expect(found).toEqual([{ sessionId: null, what: 'the part no!part belongs to no kind of record' }]);
        });
      });
    });
  });
});
