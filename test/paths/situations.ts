// How the world comes to be what each path of the recovery chart begins with, and what has to be true where it ends.
import { expect } from 'vitest';
import { turnMachine } from '../../machines/index.js';
import { turnSetup } from '../../machines/turn.setup.js';
import type { Head, TurnEngine, TurnStore } from '../../src/index.js';
import { gate, never } from '../engine/waiting.js';
import { act, calls, HOUR_MS, hello, type Options, World } from '../engine/world.js';
import { mutantOf } from '../machines/chart.js';

export interface Situation {
  readonly world: World;
  /** Of the process that recovers. */
  readonly options: Options;
  /** undefined: the process that is there recovers itself. */
  readonly reboot: boolean;
  recover(engine: TurnEngine): Promise<unknown>;
}

const hang = { hang: true } as const;
const mail = act(() => never());
const pay = act(() => 'paid', { approval: 'required', unattended: 'park' });
const tools = { mail, pay };

const recover = (engine: TurnEngine): Promise<unknown> => engine.recover();

const interrupted = async (world: World, options: Options = {}, start: Partial<typeof hello> = {}): Promise<void> => {
  const engine = world.boot({ tools, ...options });
  await engine.startTurn({ ...hello, ...start });
  await world.rest();
};

type Arrange = (world: World, last: string | undefined) => Promise<Partial<Situation>>;

/** By the name of the start; `last` is the last event of the path, where there are several. */
const SITUATIONS: Readonly<Record<string, Arrange>> = {
  'nothing in the way': async (world, last) => {
    world.says(last === 'doubts.found 1' ? calls('mail') : hang, hang);
    await interrupted(world);
    if (last !== 'checkpoint.unreadable') return {};
    const machine = mutantOf(turnMachine, turnSetup.createMachine, (config) => {
      config.version = 'another';
    });
    return { options: { tools, machine } };
  },
  'has a live owner': async (world) => {
    world.says(hang);
    await interrupted(world);
    return { reboot: false };
  },
  superseded: async (world) => {
    world.says(hang, hang, hang);
    await interrupted(world);
    await world.advance(1_000);
    await world.process.engine.startTurn({ ...hello, sessionId: 'later' });
    await world.rest();
    let ready = gate();
    const turnId = (await world.head()).turnId as string;
    return {
      options: { tools, dependencies: () => ready.opened },
      recover: async (engine) => {
        ready = gate();
        // Newest first, one at a time: while the later session is looked at, a person cancels the other one.
        const recovered = engine.recover({ concurrency: 1 });
        await world.rest();
        await engine.cancelTurn(turnId);
        ready.open();
        await recovered;
      },
    };
  },
  'ended, outcome due': async (world) => {
    await interrupted(world, { onOutcome: () => never() });
    return { options: { tools, onOutcome: () => undefined } };
  },
  'resumed by a person': async (world) => {
    world.says(hang, hang);
    await interrupted(world);
    const turnId = (await world.head()).turnId as string;
    return { recover: (engine) => engine.resumeTurn(turnId, { person: 'ann' }) };
  },
  'waits for a person': async (world) => {
    world.says(calls('pay'));
    await interrupted(world);
    return {};
  },
  'its deadline has passed': async (world) => {
    world.says(calls('pay'), hang);
    await interrupted(world, { limits: { approvalMs: HOUR_MS } });
    await world.crash();
    await world.advance(HOUR_MS + 1);
    return {};
  },
  'recovery switched off': async (world) => {
    world.says(hang);
    await interrupted(world);
    return { options: { tools, recovery: false } };
  },
  stale: async (world) => {
    world.says(hang);
    await interrupted(world);
    await world.crash();
    await world.advance(5 * HOUR_MS);
    return {};
  },
  'attempts used up': async (world) => {
    world.says(hang, hang, hang, hang);
    await interrupted(world);
    for (let n = 0; n < 3; n += 1) await (await world.reboot({ tools })).recover();
    return {};
  },
};

/** @throws {Error} for a start that nothing here brings about. */
export async function arrange(name: string, last: string | undefined, store: TurnStore): Promise<Situation> {
  const found = Object.hasOwn(SITUATIONS, name) ? SITUATIONS[name] : undefined;
  if (found === undefined) throw new Error(`the situation "${name}" is brought about by nothing`);
  const world = new World(store);
  return { world, options: { tools }, reboot: true, recover, ...(await found(world, last)) };
}

/** What has to be on disk; `before` is the head before anybody recovered. */
type Check = (world: World, before: Head) => Promise<void>;

const markers = async (world: World): Promise<readonly string[]> =>
  (await world.store.markers('agent')).map(({ sessionId }) => sessionId);

const untouched: Check = async (world, before) => {
  expect(await world.head()).toEqual(before);
  expect(await markers(world)).toContain('s');
};

const abandonedBy =
  (by: string): Check =>
  async (world) => {
    expect(await world.head()).toMatchObject({ inProgress: false, ended: { kind: 'abandoned', gate: by } });
    expect(await markers(world)).toEqual([]);
    // A person may still say: go on.
    expect((await world.store.load('s'))?.checkpoint).not.toBeNull();
  };

const counted: Check = async (world, before) => {
  expect((await world.head()).recoveries).toBeGreaterThan(before.recoveries);
  expect(await world.head()).toMatchObject({ inProgress: true, handedOver: false });
  expect(await markers(world)).toContain('s');
};

const AT_STATE: Readonly<Record<string, Check>> = {
  leftAlone: untouched,
  supersededTurn: async (world, before) => {
    expect(await world.head()).toMatchObject({ attempts: before.attempts, ended: { kind: 'cancelled' } });
    expect(await markers(world)).not.toContain('s');
  },
  deliverOutcome: async (world, before) => {
    expect(await world.head()).toMatchObject({ attempts: before.attempts, outcomesDue: [] });
    expect(await markers(world)).toEqual([]);
  },
  parked: untouched,
  held: untouched,
  abandonedStale: abandonedBy('staleness'),
  abandonedAttempts: abandonedBy('attempts'),
  abandonedUnreadable: abandonedBy('checkpoint'),
  attempt: counted,
  resumed: counted,
  reviewRequired: async (world, before) => {
    await counted(world, before);
    const { waiting } = await world.head();
    expect(waiting?.reviews).toEqual((await world.store.reviews('agent')).map(({ callId }) => callId));
    expect(waiting?.reviews).toHaveLength(1);
  },
};

/** @throws {Error} for a state about which nothing is said here. */
export function checkAt(state: string): Check {
  const check = Object.hasOwn(AT_STATE, state) ? AT_STATE[state] : undefined;
  if (check === undefined) throw new Error(`the state "${state}" has no check`);
  return check;
}
