// The store of a simulated process: what it leaves on the disk is what was applied, and dead it says nothing more.
import { describe, expect, it } from 'vitest';
import { CrashDisk } from '../../src/testing/crash-disk.js';
import { type BatchFate, CrashStore, type DiskImage } from '../../src/testing/crash-store.js';
import { simulatedClock } from '../../src/testing/index.js';
import { isOpen, within } from '../engine/waiting.js';
import { appended, textsOf } from '../store/fixtures.js';

const FIRST = appended(undefined, 's', ['a']);
const SECOND = appended(FIRST.head, 's', ['b']);

/** The nth batch counted from the first commit: before it stands the one that makes the database. */
const fateOf =
  (fates: Readonly<Record<number, BatchFate>>) =>
  (nth: number): BatchFate =>
    fates[nth - 1] ?? 'pass';

const found = async (image: DiskImage) => textsOf(await new CrashStore({ image }).messages('s'));

describe('the store of a simulated process', () => {
  it('leaves an image after each batch, and what comes later does not change it', async () => {
    const images: DiskImage[] = [];
    const store = new CrashStore({ onApplied: (_nth, image) => images.push(image) });
    await store.commit(FIRST);
    await store.commit(SECOND);
    expect(await Promise.all(images.map(found))).toEqual([[], ['a'], ['a', 'b']]);
    const fork = new CrashStore({ image: images[1] as DiskImage });
    await fork.commit(appended(FIRST.head, 's', ['c']));
    expect([await found(fork.image), await found(images[1] as DiskImage), await found(store.image)]).toEqual([
      ['a', 'c'],
      ['a'],
      ['a', 'b'],
    ]);
  });

  for (const [fate, texts] of [
    ['dieBefore', ['a']],
    ['dieAfter', ['a', 'b']],
  ] as const) {
    it(`never answers a commit whose fate is ${fate}, nor anything else from then on`, async () => {
      const store = new CrashStore({ fate: fateOf({ 2: fate }) });
      await store.commit(FIRST);
      expect(await isOpen(store.commit(SECOND))).toBe(true);
      expect(store.dead).toBe(true);
      const asked = [store.head('s'), store.acquire('r'), store.commit(SECOND), store.close(), store.markers('a')];
      expect(await isOpen(Promise.race(asked))).toBe(true);
      expect(await isOpen(store.sessions('agent')[Symbol.asyncIterator]().next())).toBe(true);
      expect(await found(store.image)).toEqual(texts);
    });
  }

  for (const [fate, texts] of [
    ['failBefore', ['a']],
    ['failAfter', ['a', 'b']],
  ] as const) {
    it(`goes on behind a batch whose fate is ${fate}, on a handle that was opened again`, async () => {
      const store = new CrashStore({ fate: fateOf({ 2: fate }) });
      await store.commit(FIRST);
      const [result] = await Promise.allSettled([within(store.commit(SECOND))]);
      // A commit that was reported as failed and is durable all the same counts as done.
      expect(result?.status).toBe(fate === 'failAfter' ? 'fulfilled' : 'rejected');
      expect(textsOf(await store.messages('s'))).toEqual(texts);
      if (fate === 'failBefore') await store.commit(SECOND);
      expect(await found(store.image)).toEqual(['a', 'b']);
    });
  }

  it('applies nothing that was under way when the process died', async () => {
    const store = new CrashStore();
    await store.commit(FIRST);
    const commit = store.commit(SECOND);
    store.die();
    expect(await isOpen(commit)).toBe(true);
    expect(await found(store.image)).toEqual(['a']);
  });

  it('drops what was never synced, and a later synced batch does not save it', async () => {
    const disk = new CrashDisk(new Map(), { fate: () => 'pass', applied() {}, died() {}, dead: false });
    const level = await disk.open();
    const put = (key: string, sync: boolean) => level.batch([{ type: 'put', key, value: Buffer.from(key) }], { sync });
    await put('synced', true);
    await put('unsynced', false);
    await put('behind', true);
    expect([...disk.image.keys()].sort()).toEqual(['behind', 'synced']);
    // The process itself reads what it wrote, also behind a reopening.
    expect(await (await disk.open()).keys({ limit: 9 }).all()).toHaveLength(3);
  });

  it('fires no timer of a dead process', async () => {
    const clock = simulatedClock();
    const store = new CrashStore();
    const fired: string[] = [];
    const mortal = store.clockOf(clock);
    mortal.after(10, () => fired.push('before'));
    mortal.after(30, () => fired.push('behind'));
    await clock.advance(20);
    store.die();
    await clock.advance(20);
    expect(fired).toEqual(['before']);
    expect(mortal.now()).toBe(clock.now());
  });

  it('keeps from a dead process what it awaits, errors as well as values', async () => {
    const store = new CrashStore();
    let answer: (value: string) => void = () => undefined;
    const awaited = store.whileAlive(() => new Promise<string>((resolve) => (answer = resolve)));
    store.die();
    answer('late');
    expect(await isOpen(awaited)).toBe(true);
    expect(await isOpen(store.whileAlive(() => Promise.reject(new Error('late'))))).toBe(true);
  });
});
