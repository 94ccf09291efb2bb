// How time passes for processes that die, and what counts as real work.
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { CrashStore } from '../../src/testing/crash-store.js';
import { droppable, RealWork, realTime, simulatedTime, type Time } from '../../src/testing/crash-time.js';
import { steppedClock } from '../../src/testing/simulated-clock.js';

describe('the clock of a process', () => {
  it('fires no timer of a process that is gone, armed before or behind its end, and leaves those of others', async () => {
    const shared = steppedClock();
    const fired: string[] = [];
    const [dead, alive] = [droppable(shared), droppable(shared)];
    dead.clock.after(10, () => fired.push('before'));
    alive.clock.after(10, () => fired.push('alive'));
    alive.clock.after(10, () => fired.push('cancelled'))();
    dead.drop();
    dead.clock.after(10, () => fired.push('behind'));
    expect(shared.nextAt).toBe(shared.now() + 10);
    await shared.advance(20);
    expect(fired).toEqual(['alive']);
    expect(shared.nextAt).toBeUndefined();
    expect(dead.clock.now()).toBe(shared.now());
  });

  it('hands on which timers are not to keep the process alive', () => {
    const told: unknown[] = [];
    const shared = steppedClock();
    const after = (...given: unknown[]) => {
      told.push(given[2]);
      return () => undefined;
    };
    const clock = { now: shared.now, advance: shared.advance, after };
    droppable(clock).clock.after(10, () => undefined, true);
    new CrashStore().clockOf(clock).after(10, () => undefined, true);
    expect(told).toEqual([true, true]);
  });

  it('keeps no timer of the real clock open when its process is gone', async () => {
    const { clock, drop } = droppable(realTime(new RealWork(), () => 0, 1_000).clock);
    let fired = false;
    clock.after(1, () => {
      fired = true;
    });
    drop();
    await sleep(20);
    expect(fired).toBe(false);
  });
});

describe('simulated time', () => {
  it('goes to the next timer where nothing else is under way', async () => {
    const time = simulatedTime(new RealWork(), () => 0);
    const start = time.clock.now();
    let firedAt = 0;
    time.clock.after(3_600_000, () => {
      firedAt = time.clock.now();
    });
    while (firedAt === 0) await time.pass();
    expect(firedAt - start).toBe(3_600_000);
  });

  it('waits for real work that came since it began, and for no handle that was there', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const work = new RealWork();
    await work.over(() => 0);
    let landed = false;
    const sending = sleep(30).then(() => {
      landed = true;
    });
    await work.over(() => 0);
    expect(landed).toBe(true);
    expect(work.look()).toBe(false);
    server.close();
    await sending;
  });

  it('takes no timer of a tool for one that was there when it began and is gone', async () => {
    const old = sleep(1);
    const work = new RealWork();
    await old;
    await landsFirst(work);
  });

  it('takes no timer of a tool for one that it has given up and that is gone, in real time as well', async () => {
    const work = new RealWork();
    const timer = setTimeout(() => undefined, 60_000);
    await work.over(() => 0);
    expect(work.look()).toBe(false);
    clearTimeout(timer);
    await realTime(work, () => 0, 1_000).pass();
    await landsFirst(work);
  });

  it('does not give up work that a busy machine has not let run', async () => {
    const work = new RealWork();
    let landed = false;
    // A relay of short timers; the machine is busy behind each of them.
    const sending = (async () => {
      for (let step = 0; step < 4; step += 1) {
        await sleep(1);
        const until = performance.now() + 400;
        while (performance.now() < until);
      }
      landed = true;
    })();
    await work.over(() => 0);
    expect(landed).toBe(true);
    await sending;
  });
});

describe('a process is stuck', () => {
  /** Passes of time until it is, and none where it is not after many. */
  async function passesOf(time: Time, most: number): Promise<number | undefined> {
    for (let passes = 0; passes <= most; passes += 1) {
      if (time.isStuck) return passes;
      await time.pass();
    }
    return undefined;
  }

  it('in simulated time, after so many timers that led to nothing', async () => {
    const time = simulatedTime(new RealWork(), () => 0);
    const again = (): void => void time.clock.after(60_000, again);
    again();
    expect(await passesOf(time, 3_000)).toBeGreaterThan(1_000);
  });

  it('in simulated time, not while anything happens, however long each of it takes', async () => {
    let happened = 0;
    const time = simulatedTime(new RealWork(), () => happened);
    const again = (): void => {
      happened += 1;
      time.clock.after(60_000, again);
    };
    again();
    expect(await passesOf(time, 3_000)).toBeUndefined();
  });

  it('in real time, when nothing has happened for as long as it may, and it was let run in that', async () => {
    const passes = await passesOf(
      realTime(new RealWork(), () => 0, 1),
      3_000,
    );
    expect(passes).toBeGreaterThan(100);
    expect(
      await passesOf(
        realTime(new RealWork(), () => 0, 3_600_000),
        1_000,
      ),
    ).toBeUndefined();
  });
});

/** A tool that has just begun to wait has landed before its work counts as over. */
async function landsFirst(work: RealWork): Promise<void> {
  let landed = false;
  const sending = sleep(30).then(() => {
    landed = true;
  });
  await work.over(() => 0);
  expect(landed).toBe(true);
  await sending;
}
