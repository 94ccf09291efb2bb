// What the model had said when somebody stopped it: kept where the person asks for it, dropped otherwise.
import { expect, it } from 'vitest';
import { gate, until, within } from '../engine/waiting.js';
import { act, brief, calls, createWorld, hello } from './world.js';

const half = { hang: true, say: 'half a thou' } as const;

it('cancel with keepPartialText keeps the text that came as an answer, in list and outcome', async () => {
  const world = createWorld();
  world.says(half);
  const engine = world.boot();
  const turn = await engine.startTurn(hello);
  await until(() => world.eventsOf('delta').length === 1, 'text came');
  expect(await turn.cancel({ keepPartialText: true })).toMatchObject({ status: 'cancelled', text: 'half a thou' });
  expect(brief(await world.messages())).toEqual(['input: hello', 'model: half a thou']);
  await within((await engine.startTurn({ ...hello, input: 'go on' })).outcome);
  expect(world.lastRead).toContain('half a thou');
});

it('without it the text is dropped', async () => {
  for (const options of [undefined, {}, { keepPartialText: false }]) {
    const world = createWorld();
    world.says(half);
    const turn = await world.boot().startTurn(hello);
    await until(() => world.eventsOf('delta').length === 1, 'text came');
    expect(await turn.cancel(options)).toMatchObject({ status: 'cancelled', text: '' });
    expect(brief(await world.messages())).toEqual(['input: hello']);
  }
});

it('where no text came there is nothing to keep', async () => {
  for (const say of [undefined, '', '  \n']) {
    const world = createWorld();
    world.says({ hang: true, ...(say === undefined ? {} : { say }) });
    const turn = await world.boot().startTurn(hello);
    await until(() => world.requests.length === 1, 'asked');
    await turn.cancel({ keepPartialText: true });
    expect(await world.messages()).toHaveLength(1);
  }
});

it('text of an earlier answer of the turn, or of a call that failed, is not the text that came', async () => {
  const world = createWorld();
  const hold = gate<string>();
  world.says({ say: 'let me see', ...(calls('slow') as object) } as never, { hang: true });
  const turn = await world.boot({ tools: { slow: act(() => hold.opened) } }).startTurn(hello);
  await until(() => world.runs.length === 1, 'it runs');
  await turn.cancel({ keepPartialText: true });
  expect(brief(await world.messages())).toEqual([
    'input: hello',
    'model: let me see + calls slow',
    'tool: slow gave error-text',
  ]);
});

it('half a character of the text that came is replaced (case C23)', async () => {
  const world = createWorld();
  world.says({ hang: true, say: 'duck \ud83e' });
  const turn = await world.boot().startTurn(hello);
  await until(() => world.eventsOf('delta').length === 1, 'text came');
  expect(await turn.cancel({ keepPartialText: true })).toMatchObject({ text: 'duck \ufffd' });
});

it('the kept text is durable before the cancel is told, and there after a restart', async () => {
  const world = createWorld();
  world.says(half);
  const turn = await world.boot().startTurn(hello);
  await until(() => world.eventsOf('delta').length === 1, 'text came');
  await turn.cancel({ keepPartialText: true });
  const engine = await world.reboot();
  await engine.recover();
  expect(brief(await world.messages())).toEqual(['input: hello', 'model: half a thou']);
});

it('a parked turn has no text on its way: the cancel keeps what its last answer said', async () => {
  const world = createWorld();
  world.says({ say: 'may I?', ...(calls('deploy') as object) } as never);
  const engine = world.boot({ tools: { deploy: act(() => 'x', { approval: 'required', unattended: 'park' }) } });
  const turn = await engine.startTurn(hello);
  await within(turn.rest);
  expect(await turn.cancel({ keepPartialText: true })).toMatchObject({ status: 'cancelled', text: 'may I?' });
});
