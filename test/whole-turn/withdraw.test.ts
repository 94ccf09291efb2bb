// Input that was sent and is not wanted any more.
import { expect, it } from 'vitest';
import { gate, until, within } from '../engine/waiting.js';
import { keepLast, NEAR, reads, readsTimes, readTools, smallModel } from './long-turn.js';
import { act, brief, calls, createWorld, hello, look, only, parking, type WholeWorld, yes } from './world.js';

const m = { ...hello, messageId: 'm', input: 'not this' } as const;

/** Nobody misses `m`. */
function withdrawing(world: WholeWorld) {
  world.takenOut.add('m');
  return world;
}

it('input of a running turn that has not joined is withdrawn, and the turn goes on without it', async () => {
  const world = withdrawing(createWorld());
  const answer = gate<string>();
  world.says(() => answer.opened);
  const engine = world.boot();
  const turn = await engine.startTurn(hello);
  await until(() => world.requests.length === 1, 'asked');
  await engine.sendMessage(m);
  await engine.sendMessage({ ...hello, messageId: 'n', input: 'but this' });
  expect(await engine.withdrawMessage('s', 'm')).toBe('withdrawn');
  expect(await world.head()).toMatchObject({ waitingInput: 1 });
  answer.open('well');
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed', text: 'done' });
  expect(brief(await world.messages())).toEqual(['input: hello', 'model: well', 'input: but this', 'model: done']);
});

it('when the only waiting input is withdrawn, the turn completes with the answer it has', async () => {
  const world = withdrawing(createWorld());
  const answer = gate<string>();
  world.says(() => answer.opened);
  const engine = world.boot();
  const turn = await engine.startTurn(hello);
  await until(() => world.requests.length === 1, 'asked');
  await engine.sendMessage(m);
  await engine.withdrawMessage('s', 'm');
  answer.open('well');
  expect(await within(turn.outcome)).toMatchObject({ text: 'well' });
  expect(world.requests).toHaveLength(1);
});

it('withdrawn twice: the second time nobody knows it any more', async () => {
  const world = withdrawing(createWorld());
  world.says({ hang: true });
  const engine = world.boot();
  const turn = await engine.startTurn(hello);
  await until(() => world.requests.length === 1, 'asked');
  await engine.sendMessage(m);
  await engine.withdrawMessage('s', 'm');
  await expect(engine.withdrawMessage('s', 'm')).rejects.toMatchObject({ code: 'TURN_NOT_FOUND' });
  // And it may be sent again.
  expect(await engine.sendMessage(m)).toMatchObject({ accepted: 'queued' });
  await turn.cancel();
});

it('input that has joined cannot be withdrawn: in the running turn, in an earlier one, after a restart, archived', async () => {
  const world = createWorld();
  smallModel(world);
  const hold = gate<string>();
  world.says(() => hold.opened, ...readsTimes(3), reads(NEAR), 'end');
  const options = { tools: readTools, compact: keepLast(2) };
  const engine = world.boot(options);
  const turn = await engine.startTurn({ ...m, messageId: 'first' });
  await until(() => world.requests.length === 1, 'asked');
  expect(await engine.withdrawMessage('s', 'first')).toBe('alreadyJoined');
  await engine.sendMessage(m);
  hold.open('go on');
  await within(turn.outcome);
  expect(((await (await engine.session('s'))?.archive()) ?? []).map(({ meta }) => meta.id)).toContain('m');
  for (const id of ['first', 'm']) expect(await engine.withdrawMessage('s', id)).toBe('alreadyJoined');
  const next = await world.reboot(options);
  for (const id of ['first', 'm']) expect(await next.withdrawMessage('s', id)).toBe('alreadyJoined');
});

it('input that waits for a route is withdrawn: its promised turn is over, and the session is free', async () => {
  const world = withdrawing(createWorld());
  world.says({ hang: true }, 'later');
  const engine = world.boot();
  const other = await engine.startTurn({ ...hello, sessionId: 'other', routeKey: 'r' });
  await until(() => world.requests.length === 1, 'asked');
  const sent = await engine.sendMessage({ ...m, routeKey: 'r' });
  expect(sent.accepted).toBe('queued');
  expect(await engine.withdrawMessage('s', 'm')).toBe('withdrawn');
  expect(await within(sent.turn.outcome)).toMatchObject({ status: 'cancelled', reason: 'withdrawn' });
  await other.cancel();
  expect(await world.head()).toMatchObject({ waitingInput: 0, inProgress: false, nextTurnId: null });
  expect(await within((await engine.startTurn(hello)).outcome)).toMatchObject({ text: 'later' });
  expect(brief(await world.messages())).toEqual(['input: hello', 'model: later']);
});

it('of two that wait for a route one is withdrawn, and the other starts the turn that was promised', async () => {
  const world = withdrawing(createWorld());
  world.says({ hang: true }, 'later');
  const engine = world.boot();
  const other = await engine.startTurn({ ...hello, sessionId: 'other', routeKey: 'r' });
  await until(() => world.requests.length === 1, 'asked');
  await engine.sendMessage({ ...m, routeKey: 'r' });
  const kept = await engine.sendMessage({ ...hello, messageId: 'n', input: 'this', routeKey: 'r' });
  expect(await engine.withdrawMessage('s', 'm')).toBe('withdrawn');
  await other.cancel();
  expect(await within(kept.turn.outcome)).toMatchObject({ status: 'completed', text: 'later' });
  expect(brief(await world.messages())).toEqual(['input: this', 'model: later']);
});

it('input queued behind a parked turn is withdrawn, also by the next process, and does not join later', async () => {
  for (const restart of [false, true]) {
    const world = withdrawing(createWorld());
    world.says(calls('deploy'), 'end');
    const tools = { deploy: act(() => 'deployed', parking) };
    let engine = world.boot({ tools });
    await within((await engine.startTurn(hello)).rest);
    await engine.sendMessage(m);
    if (restart) {
      engine = await world.reboot({ tools });
      await engine.recover();
    }
    expect(await engine.withdrawMessage('s', 'm')).toBe('withdrawn');
    await engine.decideApproval(only(await engine.approvals()).id, yes);
    await until(async () => !(await world.head()).inProgress, 'the turn has ended');
    expect(brief(await world.messages()).join()).not.toContain('not this');
  }
});

it('input of an interrupted turn that nobody has taken up is withdrawn', async () => {
  const world = withdrawing(createWorld());
  world.says({ hang: true });
  await world.boot().startTurn(hello);
  await until(() => world.requests.length === 1, 'asked');
  await world.process.engine.sendMessage(m);
  const engine = await world.reboot();
  expect(await engine.withdrawMessage('s', 'm')).toBe('withdrawn');
  const turn = only((await engine.recover()).resumed);
  expect(await within(turn.outcome)).toMatchObject({ text: 'done' });
  expect(brief(await world.messages())).toEqual(['input: hello', 'model: done']);
});

it('withdrawal is durable: killed at its commit, it is taken back or it joins, and is never half', async () => {
  for (const fate of ['dieBefore', 'dieAfter'] as const) {
    const world = withdrawing(createWorld());
    world.says({ hang: true });
    await world.boot().startTurn(hello);
    await until(() => world.requests.length === 1, 'asked');
    await world.process.engine.sendMessage(m);
    world.process.store.fate = () => fate;
    void world.process.engine.withdrawMessage('s', 'm');
    await world.death();
    const engine = await world.reboot();
    await within(only((await engine.recover()).resumed).outcome);
    expect(brief(await world.messages()).includes('input: not this')).toBe(fate === 'dieBefore');
  }
});

it('a message nobody knows, of this session or of another, is named', async () => {
  const world = createWorld();
  const engine = world.boot({ tools: { read: look(() => 1) } });
  await within((await engine.startTurn({ ...m, sessionId: 'other' })).outcome);
  await expect(engine.withdrawMessage('s', 'm')).rejects.toMatchObject({ code: 'TURN_NOT_FOUND' });
  await within((await engine.startTurn(hello)).outcome);
  await expect(engine.withdrawMessage('s', 'm')).rejects.toMatchObject({ code: 'TURN_NOT_FOUND' });
  await expect(engine.withdrawMessage('s', '')).rejects.toThrow(/messageId/);
  await expect(engine.withdrawMessage('', 'm')).rejects.toThrow(/sessionId/);
});
