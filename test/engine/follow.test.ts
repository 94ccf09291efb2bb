// follow(): a view of the session, then every event behind it, for any number of readers, none of whom a turn waits for.
import { expect, it } from 'vitest';
import { FEED_CHARS, FEED_EVENTS, FEED_KEPT_MS } from '../../machines/limits.js';
import { type FollowEvent, type ModelCall, TurnError } from '../../src/index.js';
import { act, calls, createWorld, hello, look, only, type WholeWorld } from '../whole-turn/world.js';
import { Client, pictureOf } from './following.js';
import { armedTimers, calm, gate, isOpen, never, until, within } from './waiting.js';

const text = (piece: string) => ({ type: 'text', id: 'a', text: piece }) as const;

/** A model that says its pieces when the test lets it, and answers with all of them. */
function talking(world: WholeWorld) {
  const asked = gate<ModelCall>();
  const finished = gate<string>();
  world.says(async (_request, call) => {
    asked.open(call);
    return finished.opened;
  });
  return { asked: asked.opened, finish: finished.open, fail: finished.fail };
}

const snapshots = (events: readonly FollowEvent[]) => events.filter((event) => event.type === 'snapshot');

it('a reader that comes in the middle of an answer sees it whole, then goes on live', async () => {
  const world = createWorld();
  const engine = world.boot();
  const model = talking(world);
  const turn = await engine.startTurn(hello);
  const call = await model.asked;
  call.emit(text('Hel'));
  call.emit({ type: 'reasoning', id: 'a', text: 'hm' });
  call.emit(text('lo'));
  const client = new Client(engine);
  const [snapshot] = await client.told();
  expect(snapshot).toMatchObject({
    type: 'snapshot',
    turnId: turn.turnId,
    phase: 'awaitingLLM',
    inProgress: true,
    outcome: null,
    durable: false,
    messages: [{ message: { role: 'user' } }],
    partial: [{ delta: text('Hello') }, { delta: { type: 'reasoning', text: 'hm' } }],
  });
  call.emit(text('!'));
  expect(client.events.length).toBe(1);
  model.finish('Hello!');
  await within(turn.outcome);
  await client.told();
  expect(client.types.filter((type) => type !== 'delta')).toEqual(['snapshot', 'usage', 'message', 'phase', 'outcome']);
  const { messages, partial } = pictureOf(client.events);
  expect(messages).toEqual((await world.messages()).map(({ meta }) => meta.id));
  expect(partial).toEqual([]);
});

it('a delta says which message it becomes', async () => {
  const world = createWorld();
  const engine = world.boot();
  world.says('one', 'two');
  const client = new Client(engine);
  await client.told();
  await within((await engine.startTurn(hello)).outcome);
  await within((await engine.startTurn({ ...hello, input: 'again' })).outcome);
  await client.told();
  const spoken = client.events.flatMap((event) => (event.type === 'delta' ? [event.messageId] : []));
  const answers = (await world.messages()).filter(({ message }) => message.role === 'assistant');
  expect(spoken).toEqual(answers.map(({ meta }) => meta.id));
});

it('a session that does not exist yet is an empty one, and is seen to begin', async () => {
  const world = createWorld();
  const engine = world.boot();
  const client = new Client(engine);
  expect(only(await client.told())).toMatchObject({
    type: 'snapshot',
    messages: [],
    phase: null,
    inProgress: false,
    outcome: null,
    turnId: '',
  });
  await within((await engine.startTurn(hello)).outcome);
  await client.told();
  expect(client.types.slice(1, 3)).toEqual(['message', 'phase']);
  expect(client.last).toMatchObject({ type: 'outcome', outcome: { status: 'completed' } });
  expect(client.ended).toBe(false);
});

it('a session at rest tells how its last turn ended, and its reader waits for the next', async () => {
  const world = createWorld();
  const engine = world.boot();
  await within((await engine.startTurn(hello)).outcome);
  const client = new Client(engine);
  expect(only(await client.told())).toMatchObject({
    inProgress: false,
    phase: 'completed',
    outcome: { status: 'completed', text: 'done' },
  });
  await within((await engine.startTurn({ ...hello, input: 'again' })).outcome);
  await client.told();
  expect(client.types.filter((type) => type === 'outcome')).toHaveLength(1);
  expect(pictureOf(client.events).messages).toHaveLength(4);
});

it('onEvent has the same events with the same cursors', async () => {
  const world = createWorld();
  const engine = world.boot();
  const client = new Client(engine);
  await client.told();
  await within((await engine.startTurn(hello)).outcome);
  await client.told();
  expect(client.events.slice(1)).toEqual(world.events);
  expect(new Set(world.events.map(({ cursor }) => cursor)).size).toBe(world.events.length);
});

it('a reader that comes back with a cursor goes on behind it: no snapshot, no gap, no double', async () => {
  const world = createWorld();
  const engine = world.boot();
  const model = talking(world);
  const first = new Client(engine);
  await first.told();
  const turn = await engine.startTurn(hello);
  const call = await model.asked;
  call.emit(text('a'));
  await first.told();
  first.leave();
  call.emit(text('b'));
  call.emit(text('c'));
  const second = new Client(engine, 's', { after: first.last.cursor });
  model.finish('abc');
  await within(turn.outcome);
  await second.told();
  expect([...first.events.slice(1), ...second.events]).toEqual(world.events);
  const third = new Client(engine, 's', { after: second.last.cursor });
  expect(await third.told()).toEqual([]);
});

it('a cursor of another life of the process, of nobody, or of a time not kept any more gives a snapshot', async () => {
  const world = createWorld();
  const engine = world.boot();
  const first = new Client(engine);
  await first.told();
  await within((await engine.startTurn(hello)).outcome);
  const { cursor } = (await first.told()).at(-1) as FollowEvent;
  const next = await world.reboot();
  const reader = new Client(next);
  await reader.told();
  // The new life has told more than the old one had when it gave its cursor.
  for (const input of ['more', 'and more']) await within((await next.startTurn({ ...hello, input })).outcome);
  const [life] = cursor.split('.');
  const newest = reader.events[0]?.cursor.split('.')[0];
  for (const after of [cursor, '', 'x', `${life}.`, `${newest}.999`, `${newest}.1e1`, `${newest}.1.1`, '🦊']) {
    const client = new Client(next, 's', { after });
    expect(only(await client.told()), after).toMatchObject({ type: 'snapshot', messages: [{}, {}, {}, {}, {}, {}] });
  }
});

it('the events of a session are kept for a while when its last reader has gone, and no longer', async () => {
  const world = createWorld();
  const engine = world.boot();
  const first = new Client(engine);
  await first.told();
  first.leave();
  await calm();
  await within((await engine.startTurn(hello)).outcome);
  await world.advance(FEED_KEPT_MS - 1);
  const { cursor } = first.last;
  const back = new Client(engine, 's', { after: cursor });
  await back.told();
  expect(back.events).toEqual(world.events);
  back.leave();
  await calm();
  await world.advance(FEED_KEPT_MS);
  expect(only(await new Client(engine, 's', { after: cursor }).told()).type).toBe('snapshot');
});

it('a reader that stands still makes no turn wait; it hears what it missed and gets a new snapshot', async () => {
  const world = createWorld();
  const engine = world.boot();
  const model = talking(world);
  const slow = engine.follow('s');
  expect((await slow.next()).value).toMatchObject({ type: 'snapshot' });
  const quick = new Client(engine);
  await quick.told();
  const turn = await engine.startTurn(hello);
  const call = await model.asked;
  const many = FEED_EVENTS + 500;
  for (let n = 0; n < many; n += 1) {
    call.emit(text('x'));
    if (n % 100 === 0) await calm(2);
  }
  const told = world.events.length;
  const lagged = (await slow.next()).value as FollowEvent & { type: 'lagged' };
  expect(lagged).toMatchObject({ type: 'lagged', dropped: told - FEED_EVENTS });
  call.emit(text('y'));
  expect((await slow.next()).value).toMatchObject({
    type: 'snapshot',
    partial: [{ delta: text(`${'x'.repeat(many)}y`) }],
  });
  model.finish('all');
  await within(turn.outcome);
  expect((await slow.next()).value).toMatchObject({ type: 'delta', delta: { text: 'all' } });
  expect((await slow.next()).value).toMatchObject({ type: 'usage' });
  await slow.return?.();
  // Who kept pace missed nothing.
  await quick.told();
  expect(quick.events.slice(1)).toEqual(world.events);
});

it('a reader that leaves behind `lagged` and comes back with its cursor gets the snapshot it is owed', async () => {
  const world = createWorld();
  const engine = world.boot();
  const model = talking(world);
  const slow = engine.follow('s');
  await slow.next();
  await engine.startTurn(hello);
  const call = await model.asked;
  for (let n = 0; n <= FEED_EVENTS; n += 1) call.emit(text('x'));
  const { type, cursor } = (await slow.next()).value as FollowEvent;
  expect(type).toBe('lagged');
  await slow.return?.();
  expect((await new Client(engine, 's', { after: cursor }).told())[0]).toMatchObject({ type: 'snapshot' });
});

it('large events are kept by their size, and the newest one however large it is', async () => {
  const world = createWorld();
  const engine = world.boot();
  const model = talking(world);
  const slow = engine.follow('s');
  await slow.next();
  await engine.startTurn(hello);
  const call = await model.asked;
  call.emit(text('x'.repeat(FEED_CHARS)));
  const large = 'y'.repeat(FEED_CHARS * 2);
  call.emit(text(large));
  expect((await slow.next()).value).toMatchObject({ type: 'lagged' });
  await slow.return?.();
  const before = world.events.at(-2)?.cursor as string;
  const back = new Client(engine, 's', { after: before });
  expect((await back.told())[0]).toMatchObject({ type: 'delta', delta: text(large) });
});

it('a failed model call takes back what it said, and the next one says it anew', async () => {
  const world = createWorld();
  const engine = world.boot();
  const model = talking(world);
  world.says('second');
  const client = new Client(engine);
  await client.told();
  const turn = await engine.startTurn(hello);
  const call = await model.asked;
  call.emit(text('first'));
  await client.told();
  expect(pictureOf(client.events).partial).toEqual([expect.stringContaining(': first')]);
  model.fail(Object.assign(new Error('cut'), { kind: 'network' }));
  await client.told();
  // A port that goes on talking behind its error talks to nobody.
  call.emit(text('late'));
  const input = (await world.messages())[0]?.meta.id;
  const { messageId } = world.eventsOf('delta')[0] as { messageId: string };
  expect(only(world.eventsOf('deltasDiscarded'))).toMatchObject({ messageId, afterMessageId: input, durable: false });
  expect(pictureOf(client.events)).toMatchObject({ phase: 'retryingLLM', partial: [] });
  expect(snapshots(await new Client(engine).told())[0]).toMatchObject({ partial: [] });
  await world.advance(2_000);
  await within(turn.outcome);
  expect(world.eventsOf('delta').map(({ delta }) => delta.text)).toEqual(['first', 'second']);
});

it('an answer that leaves no message takes back what was said of it', async () => {
  const world = createWorld();
  const engine = world.boot();
  world.says((_request, call) => {
    call.emit({ type: 'reasoning', id: 'r', text: 'nothing to say' });
    return { calls: [] };
  });
  const client = new Client(engine);
  await client.told();
  await within((await engine.startTurn(hello)).outcome);
  await client.told();
  expect(only(world.eventsOf('deltasDiscarded'))).toMatchObject({ messageId: expect.any(String) });
  const own = pictureOf(client.events);
  expect(own.messages).toEqual((await world.messages()).map(({ meta }) => meta.id));
});

it('text that was said before a message is on disk is in the snapshot until the message takes its place', async () => {
  const world = createWorld();
  const reading = gate<string>();
  const engine = world.boot({ tools: { read: look(() => reading.opened) } });
  world.says({ say: 'I look it up.', calls: [{ tool: 'read', input: {} }] });
  const model = talking(world);
  const turn = await engine.startTurn(hello);
  await until(() => world.runs.length === 1, 'it reads');
  reading.open('42');
  const call = await model.asked;
  call.emit(text('It is'));
  const client = new Client(engine);
  const snapshot = snapshots(await client.told())[0] as FollowEvent & { type: 'snapshot' };
  // The first answer asked for a read only: its checkpoint may wait.
  expect(snapshot.messages).toHaveLength(1);
  expect(snapshot.partial.map(({ delta }) => delta.text)).toEqual(['I look it up.', 'It is']);
  model.finish('It is 42.');
  await within(turn.outcome);
  await client.told();
  expect(pictureOf(client.events)).toMatchObject({
    messages: (await world.messages()).map(({ meta }) => meta.id),
    partial: [],
  });
});

it('what happens while a view is being read is told behind it, and a message that is in it only once', async () => {
  for (const held of ['before', 'after'] as const) {
    const world = createWorld();
    const engine = world.boot();
    const { store } = world.process;
    const load = store.load.bind(store);
    const reading = gate();
    let first = true;
    store.load = async (sessionId) => {
      const isReader = first;
      first = false;
      if (isReader && held === 'before') await reading.opened;
      const session = await load(sessionId);
      if (isReader && held === 'after') await reading.opened;
      return session;
    };
    const client = new Client(engine);
    expect(await client.told()).toEqual([]);
    await within((await engine.startTurn(hello)).outcome);
    reading.open();
    await client.told();
    const ids = (await world.messages()).map(({ meta }) => meta.id);
    const [snapshot] = client.events as [FollowEvent & { type: 'snapshot' }];
    expect(snapshot.messages).toHaveLength(held === 'before' ? 2 : 0);
    expect(pictureOf(client.events), held).toMatchObject({ messages: ids, partial: [], phase: 'completed' });
  }
});

it('what a driver that is over had said is in no view', async () => {
  const world = createWorld();
  const engine = world.boot();
  world.says({ hang: true, say: 'half an ans' });
  await engine.startTurn(hello);
  await until(() => world.eventsOf('delta').length === 1, 'it speaks');
  world.process.store.commit = () => Promise.reject(new TurnError('TURN_CONFLICT', 'somebody else committed'));
  await engine.sendMessage({ ...hello, input: 'more' }).catch(() => undefined);
  await until(() => world.eventsOf('driverLost').length === 1, 'the driver is lost');
  expect(only(await new Client(engine).told())).toMatchObject({ type: 'snapshot', partial: [] });
});

it('a turn that is cancelled while it waits for a person tells its last phase, as a running one does', async () => {
  const world = createWorld();
  const engine = world.boot({ tools: { pay: act(() => 'paid', { approval: 'required', unattended: 'park' }) } });
  world.says(calls('pay'));
  const turn = await engine.startTurn(hello);
  await within(turn.rest);
  const client = new Client(engine);
  await client.told();
  await turn.cancel();
  await client.told();
  expect(pictureOf(client.events)).toMatchObject({ phase: 'cancelled', inProgress: false });
});

it('after a crash a reader is shown the saved list, and hears from which message the turn goes on', async () => {
  const world = createWorld();
  const engine = world.boot();
  world.says({ hang: true, say: 'half an ans' });
  await engine.startTurn(hello);
  const before = new Client(engine);
  await until(() => world.eventsOf('delta').length === 1, 'it speaks');
  await before.told();
  const next = await world.reboot();
  const client = new Client(next, 's', { after: before.last.cursor });
  expect(only(await client.told())).toMatchObject({ inProgress: true, phase: 'setup', partial: [] });
  world.says('whole answer');
  const turn = only((await next.recover()).resumed);
  await within(turn.outcome);
  await client.told();
  const [input] = await world.messages();
  const discarded = client.events.find(({ type }) => type === 'deltasDiscarded');
  expect(discarded).toMatchObject({ messageId: null, afterMessageId: input?.meta.id });
  // The client that never looked away, as it were: old picture and new events together come to the same.
  expect(pictureOf([...before.events, ...client.events.slice(1)])).toEqual(pictureOf(client.events));
});

it('calls that wait for a person are in the snapshot of a running, a parked and a found turn', async () => {
  const world = createWorld();
  const tools = { pay: act(() => 'paid', { approval: 'required', unattended: 'park' }) };
  const engine = world.boot({ tools });
  world.says(calls('pay'));
  const live = new Client(engine);
  await live.told();
  const turn = await engine.startTurn(hello);
  await within(turn.rest);
  await live.told();
  const [approval] = await engine.approvals();
  expect(pictureOf(live.events).approvals).toEqual([approval?.id]);
  expect((await new Client(engine).told())[0]).toMatchObject({ phase: 'awaitingApproval', approvals: [approval] });
  const next = await world.reboot({ tools });
  const client = new Client(next);
  expect((await client.told())[0]).toMatchObject({ inProgress: true, approvals: [approval] });
  await next.recover();
  await next.decideApproval(approval?.id as string, { allow: true, by: 'ann' });
  await until(() => client.types.includes('outcome'), 'the turn ends');
  expect(pictureOf(client.events)).toMatchObject({ approvals: [], phase: 'completed', inProgress: false });
});

it('calls that wait to be settled are in the snapshot', async () => {
  const world = createWorld();
  const tools = { send: act(() => never()) };
  world.says(calls('send'));
  await world.boot({ tools }).startTurn(hello);
  await until(() => world.runs.length === 1, 'it sends');
  const engine = await world.reboot({ tools });
  await engine.recover();
  const [review] = await engine.reviews();
  expect(review).toBeDefined();
  expect((await new Client(engine).told())[0]).toMatchObject({ phase: 'awaitingReview', reviews: [review] });
});

it('a list that was rewritten reaches readers as a new snapshot', async () => {
  const world = createWorld();
  const engine = world.boot();
  await within((await engine.startTurn({ ...hello, messageId: 'm1' })).outcome);
  const client = new Client(engine);
  await client.told();
  const kept = new Client(engine);
  await kept.told();
  kept.leave();
  // Regenerate: the list goes on behind the first message, so the old answer is no part of it any more.
  world.says('another answer');
  for (const { meta } of await world.messages()) if (meta.origin !== 'input') world.takenOut.add(meta.id);
  await within((await engine.sendMessage({ ...hello, after: 'm1', input: 'again', messageId: 'm2' })).turn.outcome);
  await client.told();
  expect(pictureOf(client.events).messages).toEqual((await world.messages()).map(({ meta }) => meta.id));
  const back = new Client(engine, 's', { after: kept.last.cursor });
  expect((await back.told())[0]?.type).toBe('message');
  expect(pictureOf([...kept.events, ...back.events]).messages).toHaveLength(3);
});

it('an imported history and a deleted session reach readers as a new snapshot', async () => {
  const world = createWorld();
  const engine = world.boot();
  const client = new Client(engine);
  await client.told();
  await engine.importSession('s', [{ role: 'assistant', content: [{ type: 'text', text: 'from elsewhere' }] }]);
  await client.told();
  expect(client.last).toMatchObject({ type: 'snapshot', messages: [{}] });
  await engine.deleteSession('s');
  await client.told();
  expect(client.last).toMatchObject({ type: 'snapshot', messages: [] });
});

it('redact hides in a snapshot what it hides in events', async () => {
  const world = createWorld();
  const redact = (value: unknown) => JSON.parse(JSON.stringify(value).replaceAll('s3cret', '[hidden]'));
  const tools = { pay: act(() => 'paid', { approval: 'required', unattended: 'park' }) };
  const engine = world.boot({ redact, tools });
  const model = talking(world);
  const turn = await engine.startTurn({ ...hello, input: 'my s3cret' });
  const call = await model.asked;
  call.emit(text('s3'));
  call.emit(text('cret'));
  const [running] = await new Client(engine).told();
  model.fail(new Error('s3cret'));
  await within(turn.outcome);
  const [ended] = await new Client(engine).told();
  world.says(calls(['pay', { card: 's3cret' }]));
  await within((await engine.startTurn({ ...hello, input: 'pay' })).rest);
  const [parked] = await new Client(engine).told();
  for (const snapshot of [running, ended, parked]) {
    expect(JSON.stringify(snapshot)).not.toContain('s3cret');
    expect(JSON.stringify(snapshot)).toContain('[hidden]');
  }
  expect(running).toMatchObject({ partial: [{ delta: text('[hidden]') }] });
  expect(JSON.stringify(await world.messages())).toContain('s3cret');
});

it('ends when its signal aborts, when it is left, and when the engine has closed', async () => {
  const world = createWorld();
  const engine = world.boot();
  world.says({ hang: true });
  await engine.startTurn(hello);
  const aborted = new Client(engine);
  await aborted.told();
  aborted.leave();
  await calm(5);
  expect(aborted).toMatchObject({ ended: true, thrown: undefined });
  const gone = AbortSignal.abort();
  expect(await engine.follow('s', { signal: gone }).next()).toEqual({ value: undefined, done: true });
  // Left while it waits for an event that does not come.
  const left = engine.follow('s');
  await left.next();
  const waiting = left.next();
  expect(await isOpen(waiting)).toBe(true);
  await within(left.return?.() as Promise<unknown>);
  expect(await within(waiting)).toEqual({ value: undefined, done: true });
  const client = new Client(engine);
  await client.told();
  await within(engine.close());
  await client.told();
  expect(client).toMatchObject({ ended: true, thrown: undefined });
  await expect(engine.follow('s').next()).rejects.toMatchObject({ code: 'TURN_ENGINE_CLOSING' });
});

it('keeps nothing of a session that nobody follows, and no timer when the engine has closed', async () => {
  const world = createWorld();
  const timers = armedTimers(world.clock);
  const engine = world.boot();
  const client = new Client(engine);
  await client.told();
  client.leave();
  await calm(5);
  expect(timers.size).toBe(1);
  await engine.close();
  expect(timers.size).toBe(0);
});

it('bad arguments are errors that name the field, before anything is read', () => {
  const engine = createWorld().boot();
  expect(() => engine.follow('')).toThrow(/sessionId/);
  expect(() => engine.follow('s', { after: 1 } as never)).toThrow(/after/);
  expect(() => engine.follow('s', { signal: {} } as never)).toThrow(/signal/);
  expect(() => engine.follow('s', { cursor: 'x' } as never)).toThrow(/cursor is unknown/);
});

it('a session of another agent is refused, and a damaged one says so to its reader only', async () => {
  const world = createWorld();
  const engine = world.boot();
  await within((await engine.startTurn(hello)).outcome);
  const other = world.boot({ agent: 'other' });
  const client = new Client(other);
  await client.told();
  expect(client.thrown).toBeInstanceOf(TypeError);
  expect(String(client.thrown)).toContain('belongs to agent "agent"');
  world.process.store.load = () => Promise.reject(new TurnError('TURN_DAMAGED', 'a record cannot be read'));
  const damaged = new Client(other, 'another');
  await damaged.told();
  expect(damaged).toMatchObject({ ended: true, thrown: { code: 'TURN_DAMAGED' } });
});
