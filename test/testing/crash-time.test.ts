// How time passes for processes that die, and what counts as real work.
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { droppable, RealWork, realTime, simulatedTime, turns } from '../../src/testing/crash-time.js';
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

  it('keeps no timer of the real clock open when its process is gone', async () => {
    const { clock, drop } = droppable(realTime().clock);
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

  it('waits for real work that came since it began, and for no work that was there', async () => {
    const old = sleep(200);
    const work = new RealWork();
    expect(await work.waited(0)).toBe(false);
    let landed = false;
    const sending = sleep(30).then(() => {
      landed = true;
    });
    await work.over(() => 0);
    expect(landed).toBe(true);
    await Promise.all([old, sending, turns()]);
  });
});
