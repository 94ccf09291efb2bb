// Every edge of the life of a tool call, lived by a real call: after each step the store says what the chart says, and
// a crash after any step leaves a call that comes to the same end.
import { describe, expect, it, onTestFinished } from 'vitest';
import { type CallEvent, callMachine } from '../../machines/index.js';
import { OutcomeUnknown, type TurnEngine, type TurnStore } from '../../src/index.js';
import { callPaths } from '../../src/testing/own-paths.js';
import type { MachinePath } from '../../src/testing/paths.js';
import { readMachine } from '../../src/visualize/xstate-fields.js';
import { act, calls, hello, World } from '../engine/world.js';
import { Cue, type ToolCue } from './application.js';
import { PLACES, type Place, storeIn } from './places.js';

const { paths, uncovered } = callPaths();

const nameOf = ({ start, steps }: MachinePath): string =>
  `${start.name}: ${steps.map(({ event }) => event.type).join(', ')}`;

/** One call of one turn that a person is asked about before each of its starts, so that it rests in every state. */
class Call {
  readonly world: World;
  engine: TurnEngine;
  private cue = new Cue<ToolCue>();
  readonly effect: 'external' | 'idempotent';
  landed = 0;

  constructor(effect: 'external' | 'idempotent', store: TurnStore) {
    this.effect = effect;
    this.world = new World(store);
    this.world.says(calls('act'), 'done');
    this.engine = this.boot();
  }

  private boot(): TurnEngine {
    this.cue = new Cue();
    const { cue } = this;
    const execute = async () => {
      const next = await cue.next();
      if (next === 'lost') throw new OutcomeUnknown('path');
      if (next === 'fail') throw new Error('path');
      this.landed += 1;
      return 'acted';
    };
    return this.world.boot({
      tools: { act: act(execute, { effect: this.effect, approval: 'required', unattended: 'park' }) },
    });
  }

  async begin(): Promise<void> {
    await this.engine.startTurn(hello);
    await this.world.rest();
  }

  async crash(): Promise<void> {
    await this.world.crash();
    this.engine = this.boot();
    await this.engine.recover();
    await this.world.rest();
  }

  get record() {
    return this.world.calls().then(([call]) => call);
  }

  async take(event: CallEvent['type']): Promise<void> {
    await LIFE[event](this);
    await this.world.rest();
  }

  async decide(allow: boolean): Promise<void> {
    for (const { id } of await this.engine.approvals()) await this.engine.decideApproval(id, { allow, by: 'ann' });
  }

  async settle(outcome: 'succeeded' | 'failed' | 'notStarted'): Promise<void> {
    const said = {
      succeeded: { outcome: 'succeeded', output: 'acted' },
      failed: { outcome: 'failed', error: 'no' },
    } as const;
    const by = outcome === 'notStarted' ? ({ outcome } as const) : said[outcome];
    for (const { turnId, callId } of await this.engine.reviews()) {
      await this.engine.settleCall(turnId, callId, { ...by, by: 'ann' });
    }
  }

  tell(what: ToolCue): Promise<void> {
    return this.cue.give(what);
  }

  async isAsked(): Promise<boolean> {
    return (await this.engine.approvals()).length > 0;
  }
}

/** How each event of the chart comes to a real call; what brings it depends on where the call is. */
const LIFE: { readonly [K in CallEvent['type']]: (call: Call) => Promise<void> } = {
  'call.dispatched': (call) => call.decide(true),
  'call.succeeded': async (call) => {
    if ((await call.record)?.state === 'inDoubt') await call.settle('succeeded');
    else await call.tell('land');
  },
  'call.failed': async (call) => {
    if (await call.isAsked()) await call.decide(false);
    else if ((await call.record)?.state === 'inDoubt') await call.settle('failed');
    else await call.tell('fail');
  },
  // A tool that may be run again with its key tells the model so, and is in doubt only where its process died.
  'call.lost': (call) => (call.effect === 'external' ? call.tell('lost') : call.crash()),
  'call.notStarted': (call) => call.settle('notStarted'),
};

/** What a crash makes of a call in each state: only what was handed to a tool is in doubt. */
const AFTER_CRASH: Readonly<Record<string, string>> = {
  prepared: 'prepared',
  dispatched: 'inDoubt',
  inDoubt: 'inDoubt',
  notStarted: 'notStarted',
  succeeded: 'succeeded',
  failed: 'failed',
};

/** From a doubt that a crash made back to where the path was: a person says that nothing happened, and allows it. */
async function goBack(call: Call, to: string): Promise<void> {
  if ((await call.record)?.state === to) return;
  await call.settle('notStarted');
  await call.world.rest();
  await call.decide(true);
  await call.world.rest();
  expect((await call.record)?.state).toBe(to);
}

async function live(path: MachinePath, place: Place, crashAfter?: number): Promise<{ state: string; landed: number }> {
  const call = new Call(path.start.name as 'external' | 'idempotent', await storeIn(place));
  onTestFinished(async () => {
    await call.world.crash();
    expect(call.world.witness.violations).toEqual([]);
  });
  await call.begin();
  const states = [path.startValue, ...path.steps.map(({ value }) => value)].map(String);
  for (const [n, state] of states.entries()) {
    const step = path.steps[n - 1];
    if (step !== undefined) await call.take(step.event.type as CallEvent['type']);
    expect((await call.record)?.state, `behind ${n} steps`).toBe(state);
    if (n !== crashAfter) continue;
    await call.crash();
    expect((await call.record)?.state, `killed behind ${n} steps`).toBe(AFTER_CRASH[state]);
    await goBack(call, state);
  }
  return { state: (await call.record)?.state ?? '', landed: call.landed };
}

it('the paths take every edge of the chart, and something is said about every state', () => {
  expect(uncovered).toEqual([]);
  const { states } = readMachine(callMachine);
  const named = states.filter(({ parent }) => parent !== null).map(({ id }) => id);
  expect(Object.keys(AFTER_CRASH).sort()).toEqual(named.sort());
});

describe.each(PLACES)('a call, %s', (place) => {
  it.each(paths.map((path) => [nameOf(path), path] as const))(
    '%s, and killed behind every step',
    async (_name, path) => {
      const clean = await live(path, place);
      for (let n = 0; n <= path.steps.length; n += 1) expect(await live(path, place, n)).toEqual(clean);
    },
  );
});
