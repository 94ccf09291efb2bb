// A disk that is really full: what fails is told, what is acknowledged afterwards is there, and space that comes back is
// enough to go on. Batches that fail by injection, on every machine, are in faults.test.ts; a log that meets a limit,
// without root, is in kill.test.ts.
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Level } from 'level';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TurnStore } from '../../src/core/ports.js';
import type { Head } from '../../src/core/records.js';
import { createTurnEngine, type TurnEvent } from '../../src/index.js';
import { openLevelStore } from '../../src/store/level-store.js';
import { scriptedModel, simulatedClock } from '../../src/testing/index.js';
import { act } from '../engine/world.js';
import { appended, checkpointOf, textsOf } from './fixtures.js';
import { SmallDisk, whyNoSmallDisk } from './small-disk.js';

const reason = whyNoSmallDisk();

if (reason === null) describe('a full disk', aFullDisk);
else {
  it('cannot be had here: writes that fail are tested by injection and by a limit on files alone', () => {
    console.warn(`disk-full.test.ts mounts nothing here: ${reason}`);
    expect(reason).not.toBe('');
  });
}

function aFullDisk(): void {
  const failed = { code: 'TURN_STORE_FAILED', retryable: true };
  let disk: SmallDisk;
  let path = '';
  beforeEach(() => {
    disk = new SmallDisk(12);
    path = join(disk.path, 'turns');
  });
  afterEach(() => disk.remove());

  const big = 'x'.repeat(100_000);

  it('takes acknowledged, synced writes from whoever goes on with the same handle of LevelDB', async () => {
    const level = new Level(path);
    await level.open();
    disk.fill(400_000);
    const until = async () => {
      for (let n = 0; ; n += 1) await level.put(`before ${n}`, `${n}${big}`, { sync: true });
    };
    await expect(until()).rejects.toThrow(/No space left/);
    disk.free();
    for (let n = 0; n < 60; n += 1) await level.put(`after ${n}`, 'acknowledged', { sync: true });
    await level.close();
    await level.open();
    const found = await level.keys({ gte: 'after', lt: 'afteş' }).all();
    await level.close();
    // The trap that the store is built around: none of the sixty is there.
    expect(found).toHaveLength(0);
  });

  it('fails commits, and loses none that is acknowledged once there is space again', async () => {
    const store = await openLevelStore({ path });
    const acknowledged = new Map<string, Head>();
    const commit = async (id: string, text: string): Promise<void> => {
      const next = appended(acknowledged.get(id), id, [text]);
      await store.commit({ ...next, checkpoint: checkpointOf(next.head) });
      acknowledged.set(id, next.head);
    };
    for (let n = 0; n < 5; n += 1) await commit('s', `${n}`);
    disk.fill(400_000);
    let fitted = 5;
    const fillUp = async () => {
      for (; ; fitted += 1) await commit('s', `${fitted}${big}`);
    };
    await expect(fillUp()).rejects.toMatchObject(failed);
    // As long as it is full: every commit fails and says so, of this session and of others.
    for (let n = 0; n < 3; n += 1) {
      await expect(commit('s', `${fitted}${big}`)).rejects.toMatchObject(failed);
      await expect(commit('other', big)).rejects.toMatchObject(failed);
    }
    disk.free();
    // The same store, without a restart: first what failed, then sixty more.
    await commit('s', `${fitted}${big}`);
    for (let n = 0; n < 60; n += 1) await commit(n % 2 === 0 ? 's' : 'other', `after ${n}`);
    await store.close();

    const reopened = await openLevelStore({ path });
    for (const [id, head] of acknowledged) {
      expect((await reopened.load(id))?.head).toEqual(head);
      expect((await reopened.messages(id)).length).toBe(head.count);
    }
    const numbers = textsOf(await reopened.messages('s'))
      .slice(0, fitted + 1)
      .map((text) => Number(text.replace(/x+$/, '')));
    // Each once, in their order, the one that failed as well.
    expect(numbers).toEqual(Array.from({ length: fitted + 1 }, (_, n) => n));
    expect((await reopened.markers('agent')).map(({ sessionId }) => sessionId).sort()).toEqual(['other', 's']);
    await reopened.close();
  });

  it('at the target of a backup fails the backup, leaves nothing there, and is nothing to the store', async () => {
    const store = await openLevelStore({ path });
    for (let n = 0; n < 5; n += 1) await store.commit(appended(undefined, `s${n}`, [noise(n)]));
    const target = new SmallDisk(1);
    try {
      mkdirSync(join(target.path, 'b'));
      target.fill(200_000);
      const backup = (store.backup as NonNullable<TurnStore['backup']>)(join(target.path, 'b', 'copy'), () => {});
      await expect(backup).rejects.toMatchObject(failed);
      expect(readdirSync(join(target.path, 'b'))).toEqual([]);
      await store.commit(appended(undefined, 'more', ['goes on']));
    } finally {
      target.remove();
      await store.close();
    }
  });

  describe('under a turn', () => {
    /** Every commit of the turn holds it, so none fits into what a page has left. */
    const context = { much: noise(1).slice(0, 20_000) };

    /** A service on that disk. Its tool acts elsewhere. */
    function serviceOn(store: TurnStore, sent: string[], hangs = false) {
      const clock = simulatedClock();
      const events: TurnEvent[] = [];
      const built: string[] = [];
      let full = () => {};
      const engine = createTurnEngine({
        agent: 'agent',
        store,
        clock,
        dependencies: ({ turnId }) => void built.push(turnId),
        model: scriptedModel((request) => {
          if (request.messages.some(({ role }) => role === 'tool')) return 'done';
          full();
          if (hangs) return { hang: true };
          return { calls: [{ tool: 'send', input: { text: noise(2).slice(0, 20_000) } }] };
        }),
        tools: {
          send: act(() => {
            sent.push('sent');
            return 'sent';
          }),
        },
        onEvent: (event) => events.push(event),
      });
      const when = async (condition: () => boolean, ms = 1_000): Promise<void> => {
        for (let n = 0; n < 400 && !condition(); n += 1) {
          await clock.advance(ms);
          // The disk is a real one, and no simulated time-out may come up before it has answered.
          await sleep(20);
        }
        expect(condition()).toBe(true);
      };
      const failures = () => events.filter(({ type }) => type === 'storeFailed').length;
      const onModelCall = (run: () => void) => {
        full = run;
      };
      return { engine, clock, events, built, when, failures, onModelCall };
    }
    const input = { sessionId: 's', input: 'go', attended: false, context } as const;

    it('I1: stops it before its effect, and it goes on in the same process once there is space', async () => {
      const sent: string[] = [];
      const store = await openLevelStore({ path });
      const { engine, when, failures, onModelCall, events } = serviceOn(store, sent);
      onModelCall(() => disk.fill());
      const turn = await engine.startTurn(input);
      await when(() => failures() >= 3);
      expect(sent).toEqual([]);
      expect(events.filter(({ type }) => type === 'call')).toEqual([]);
      disk.free();
      onModelCall(() => {});
      let ended = false;
      void turn.outcome.then(() => {
        ended = true;
      });
      await when(() => ended);
      expect(await turn.outcome).toMatchObject({ status: 'completed', text: 'done' });
      expect(sent).toEqual(['sent']);
      await engine.close();
      await store.close();
    });

    it('I4: at recovery runs nothing of the application before its attempt is on disk', async () => {
      const sent: string[] = [];
      const first = await openLevelStore({ path });
      const interrupted = serviceOn(first, sent, true);
      let asked = false;
      interrupted.onModelCall(() => {
        asked = true;
      });
      const { turnId } = await interrupted.engine.startTurn(input);
      await interrupted.when(() => asked, 0);
      // The process is gone: nothing is closed but what it held.
      await first.close();

      const store = await openLevelStore({ path });
      const { engine, built, events, when } = serviceOn(store, sent);
      disk.fill();
      // LevelDB needs room to open again as well: nothing can be read now.
      await expect(engine.recover()).rejects.toMatchObject(failed);
      const held = events.filter(({ type }) => type === 'interrupted_turn_held');
      expect(held).toMatchObject([{ turnId, gate: 'store' }]);
      expect({ built, sent }).toEqual({ built: [], sent: [] });
      disk.free();
      const again = await engine.recover();
      expect(again.resumed.map((turn) => turn.turnId)).toEqual([turnId]);
      await when(() => sent.length === 1);
      expect(await again.resumed[0]?.outcome).toMatchObject({ status: 'completed' });
      expect(built).toEqual([turnId]);
      await engine.close();
      await store.close();
    });
  });
}

/** Text that does not compress, the same in every run. */
function noise(seed: number): string {
  let state = seed + 1;
  const next = () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state.toString(36);
  };
  return Array.from({ length: 40_000 }, next).join('').slice(0, 200_000);
}
