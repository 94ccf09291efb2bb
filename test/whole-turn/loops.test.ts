// A turn that goes in circles is told so, and stopped when it does not listen; one that only takes long is left alone.
import { expect, it, onTestFinished, vi } from 'vitest';
import type { CallTrace, LoopDetector } from '../../src/index.js';
import { until, within } from '../engine/waiting.js';
import { act, brief, calls, createWorld, hello, look, only } from './world.js';

const same = (count: number, tool = 'read') => Array.from({ length: count }, () => calls(tool));
const readTools = { read: look(() => 'the same') };

it('the third identical read is nudged, the fifth stops the turn, with a reason a person reads', async () => {
  const world = createWorld();
  world.says(...same(5), 'I was stuck');
  const engine = world.boot({ tools: readTools });
  const outcome = await within((await engine.startTurn(hello)).outcome);
  expect(outcome).toMatchObject({ status: 'stopped', text: 'I was stuck', reason: expect.stringContaining('"read"') });
  expect(outcome.reason).toMatch(/^loop: /);
  expect(world.eventsOf('nudge')).toMatchObject([{ fault: 'loop' }, { fault: 'loop' }]);
  expect(only(world.eventsOf('stopping')).reason).toBe(outcome.reason);
  expect(world.requests.at(-1)).toMatchObject({ toolChoice: 'none' });
  expect(brief(await world.messages()).filter((text) => text.startsWith('nudge'))).toEqual([
    expect.stringContaining('repeating yourself'),
    expect.stringContaining('repeating yourself'),
  ]);
});

it('a model that listens to the nudge ends its turn well', async () => {
  const world = createWorld();
  world.says(...same(3), 'another way');
  const engine = world.boot({ tools: readTools });
  expect(await within((await engine.startTurn(hello)).outcome)).toMatchObject({
    status: 'completed',
    text: 'another way',
  });
});

it('polling whose answer changes is no loop, however long it goes on', async () => {
  const world = createWorld();
  let n = 0;
  world.says(...same(60));
  const engine = world.boot({ tools: { read: look(() => `${n++} %`) } });
  expect(await within((await engine.startTurn(hello)).outcome)).toMatchObject({ status: 'completed' });
  expect(world.eventsOf('nudge')).toEqual([]);
});

it('a write that is made again and again is a loop whatever it answers', async () => {
  const world = createWorld();
  let n = 0;
  world.says(...same(5, 'send'), 'stuck');
  const engine = world.boot({ tools: { send: act(() => `sent ${n++}`) } });
  expect(await within((await engine.startTurn(hello)).outcome)).toMatchObject({ status: 'stopped' });
  expect(world.runs).toHaveLength(5);
});

it('ping-pong and a tool that fails again and again are loops', async () => {
  const world = createWorld();
  world.says(...Array.from({ length: 10 }, (_, n) => calls(n % 2 === 0 ? 'ping' : 'pong')), 'stuck');
  const tools = { ping: look(() => 'ping'), pong: look(() => 'pong') };
  const outcome = await within((await world.boot({ tools }).startTurn(hello)).outcome);
  expect(outcome.status).not.toBe('completed');
  const failing = createWorld();
  failing.says(...Array.from({ length: 8 }, (_, n) => calls(['read', { n }])), 'stuck');
  const fails = { read: look(() => Promise.reject(new Error('nope'))) };
  const ended = await within((await failing.boot({ tools: fails }).startTurn(hello)).outcome);
  expect(ended.status).not.toBe('completed');
  expect(ended.reason).toMatch(/loop/);
});

it('a detector of one’s own is asked after every batch with the last calls, oldest first, at most twenty', async () => {
  const world = createWorld();
  const seen: (readonly CallTrace[])[] = [];
  const loopDetector: LoopDetector = (traces) => {
    seen.push(traces);
    return { verdict: 'continue' };
  };
  world.says(...Array.from({ length: 25 }, (_, n) => calls(['read', { n }])));
  const engine = world.boot({ tools: readTools, loopDetector });
  await within((await engine.startTurn(hello)).outcome);
  expect(seen).toHaveLength(25);
  expect(seen.map((traces) => traces.length)).toEqual(Array.from({ length: 25 }, (_, n) => Math.min(n + 1, 20)));
  expect(seen[0]?.[0]).toMatchObject({ toolName: 'read', effect: 'none', failed: false });
  expect(seen.at(-1)?.at(-1)?.identity).toContain('24');
});

it('its word counts: nudge and stop, with the reason it gives', async () => {
  const world = createWorld();
  let asked = 0;
  const loopDetector: LoopDetector = () => {
    asked += 1;
    if (asked === 1) return { verdict: 'nudge', reason: 'hm' };
    return asked === 2 ? { verdict: 'continue' } : { verdict: 'stop', reason: 'enough of this' };
  };
  world.says(...same(3), 'ok');
  const engine = world.boot({ tools: readTools, loopDetector });
  expect(await within((await engine.startTurn(hello)).outcome)).toMatchObject({
    status: 'stopped',
    reason: expect.stringContaining('enough of this'),
  });
  expect(world.eventsOf('nudge')).toHaveLength(1);
});

it('a detector that throws or says nothing sensible does not end a turn that is well', async () => {
  const bad: readonly (readonly [LoopDetector, string])[] = [
    [
      () => {
        throw new Error('defect');
      },
      'threw: defect',
    ],
    [() => undefined as never, 'gave undefined; it must give'],
    [() => ({ verdict: 'perhaps' }) as never, 'gave {"verdict":"perhaps"}; it must give'],
    [(() => Promise.resolve({ verdict: 'stop', reason: 'x' })) as never, 'gave [object Promise]; it must give'],
  ];
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  onTestFinished(() => warn.mockRestore());
  for (const [loopDetector, did] of bad) {
    const world = createWorld();
    world.says(calls('read'), 'fine');
    const engine = world.boot({ tools: readTools, loopDetector });
    const outcome = await within((await engine.startTurn(hello)).outcome);
    expect(outcome).toMatchObject({ status: 'completed', text: 'fine' });
    expect(warn).toHaveBeenLastCalledWith(expect.stringContaining(`loopDetector ${did}`), 'DurableTurnWarning');
  }
});

it('without a detector nobody judges', async () => {
  const world = createWorld();
  world.says(...same(30));
  const engine = world.boot({ tools: readTools, loopDetector: false });
  expect(await within((await engine.startTurn(hello)).outcome)).toMatchObject({ status: 'completed' });
  expect(world.runs).toHaveLength(30);
});

it('a restart does not make the detector forget', async () => {
  const world = createWorld();
  const tools = { send: act(() => 'sent') };
  world.says(...same(4, 'send'), { hang: true });
  await world.boot({ tools }).startTurn(hello);
  await until(() => world.requests.length === 5, 'four batches');
  const engine = await world.reboot({ tools });
  world.says(calls('send'), 'stuck');
  const turn = only((await engine.recover()).resumed);
  expect(await within(turn.outcome)).toMatchObject({ status: 'stopped', reason: expect.stringMatching(/^loop: /) });
});

it('three nudges in the last ten iterations are enough; a long healthy turn is not ended by its third of the day', async () => {
  const world = createWorld();
  const healthy = (from: number) => Array.from({ length: 9 }, (_, n) => calls(['read', { page: from + n }]));
  const answers = Array.from({ length: 12 }, (_, round) => [{ say: '' }, ...healthy(round * 9)]).flat();
  world.says(...answers, 'done after twelve nudges');
  const engine = world.boot({ tools: readTools });
  const outcome = await within((await engine.startTurn(hello)).outcome);
  expect(outcome).toMatchObject({ status: 'completed', text: 'done after twelve nudges' });
  expect(world.eventsOf('nudge')).toHaveLength(12);
});

it('a turn that is nudged for its loops at every batch ends with a reason', async () => {
  const world = createWorld();
  world.says(...Array.from({ length: 9 }, (_, n) => calls(['read', { n }])));
  const engine = world.boot({ tools: readTools, loopDetector: () => ({ verdict: 'nudge', reason: 'again' }) });
  const outcome = await within((await engine.startTurn(hello)).outcome);
  expect(outcome.status).toBe('failed');
  expect(outcome.reason).toContain('loop');
  expect(world.eventsOf('nudge')).toHaveLength(3);
});
