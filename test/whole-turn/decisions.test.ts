// What a person may say about a call, and what becomes of it.
import { expect, it } from 'vitest';
import { type ApprovalDecision, type Json, jsonSchema } from '../../src/index.js';
import { gate, isOpen, until, within } from '../engine/waiting.js';
import {
  act,
  approvalFor,
  calls,
  createWorld,
  hello,
  MINUTE_MS,
  needy,
  no,
  only,
  parking,
  there,
  type WholeWorld,
  yes,
} from './world.js';

const path = jsonSchema<Json>({ type: 'object' }, (value) =>
  typeof (value as { path?: unknown }).path === 'string' ? undefined : 'path must be a text',
);

/** A turn that waits for a decision about `write { path: "/etc" }`. */
async function waiting(world: WholeWorld, more = {}) {
  world.says(calls(['write', { path: '/etc' }]));
  const engine = world.boot({ tools: { write: act(() => 'written', { ...parking, input: path, ...more }) } });
  const turn = await engine.startTurn(hello);
  await within(turn.rest);
  return { engine, turn, id: only(await engine.approvals()).id };
}

it('an allowed call runs once, and a second decision about it is too late', async () => {
  const world = createWorld();
  const { engine, turn, id } = await waiting(world);
  expect(await engine.decideApproval(id, yes)).toBe('applied');
  expect(await engine.decideApproval(id, no)).toBe('alreadyDecided');
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
  expect(await engine.decideApproval(id, no)).toBe('alreadyDecided');
  expect(world.runs).toHaveLength(1);
  expect(world.eventsOf('approvalDecided')).toHaveLength(1);
});

it('a refused call never runs, and the model reads the reason', async () => {
  const world = createWorld();
  const { engine, turn, id } = await waiting(world);
  expect(await engine.decideApproval(id, { ...no, reason: 'not on a Friday' })).toBe('applied');
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
  expect(await world.outputs()).toEqual([{ type: 'execution-denied', reason: 'not on a Friday' }]);
  expect(world.lastRead).toContain('not on a Friday');
  expect(world.runs).toEqual([]);
  expect(await world.calls()).toMatchObject([{ state: 'failed', approval: { state: 'refused', by: 'ann' } }]);
});

it('a refusal without a reason tells the model that a person refused', async () => {
  const world = createWorld();
  const { engine, turn, id } = await waiting(world);
  await engine.decideApproval(id, no);
  await within(turn.outcome);
  expect(await world.outputs()).toMatchObject([{ reason: expect.stringContaining('A person refused') }]);
});

it('the reason of an allowed call is kept with who gave it', async () => {
  const world = createWorld();
  const { engine, turn, id } = await waiting(world);
  await engine.decideApproval(id, { ...yes, reason: 'as agreed' });
  await within(turn.outcome);
  expect(await world.calls()).toMatchObject([{ approval: { state: 'used', by: 'ann', reason: 'as agreed' } }]);
});

it('an edited input runs, the journal keeps both, the list keeps what the model said, and the model is told', async () => {
  const world = createWorld();
  const { engine, turn, id } = await waiting(world);
  expect(await engine.decideApproval(id, { ...yes, input: { path: '/tmp' } })).toBe('applied');
  await within(turn.outcome);
  expect(world.runs).toMatchObject([{ input: { path: '/tmp' } }]);
  expect(await world.calls()).toMatchObject([{ input: { path: '/etc' }, editedInput: { path: '/tmp' } }]);
  const answer = (await world.messages()).find(({ message }) => message.role === 'assistant');
  expect(answer?.message.content).toMatchObject([{ type: 'tool-call', input: { path: '/etc' } }]);
  const output = JSON.stringify(only(await world.outputs()));
  expect(output).toContain('A person changed the input');
  expect(output).toContain('/tmp');
  expect(output).toContain('written');
});

it('an edited input survives a kill between decision and result, and is what runs again (idempotent)', async () => {
  const world = createWorld();
  const hang = gate<string>();
  const more = { effect: 'idempotent' } as const;
  world.says(calls(['write', { path: '/etc' }]));
  const write = (execute: () => unknown) => act(execute as () => string, { ...parking, input: path, ...more });
  const first = world.boot({ tools: { write: write(() => hang.opened) } });
  await within((await first.startTurn(hello)).rest);
  await first.decideApproval(only(await first.approvals()).id, { ...yes, input: { path: '/tmp' } });
  await until(() => world.runs.length === 1, 'it runs');
  const engine = await world.reboot({ tools: { write: write(() => 'written') } });
  await engine.recover();
  // A used approval covers one dispatch: the person is asked again, about what would run.
  await until(async () => (await engine.approvals()).length === 1, 'asked again');
  expect(only(await engine.approvals()).input).toEqual({ path: '/tmp' });
  await engine.decideApproval(only(await engine.approvals()).id, yes);
  await until(async () => !(await world.head()).inProgress, 'the turn has ended');
  expect(world.runs.map((run) => run.input)).toEqual([{ path: '/tmp' }, { path: '/tmp' }]);
  expect(new Set(world.runs.map((run) => run.key)).size).toBe(1);
});

it('an edited input the tool does not take is refused with a TypeError, and nothing changes', async () => {
  const world = createWorld();
  const { engine, turn, id } = await waiting(world);
  const before = await world.head();
  for (const input of [{ path: 5 }, {}, null, 'x'] as Json[]) {
    await expect(engine.decideApproval(id, { ...yes, input })).rejects.toThrow(TypeError);
  }
  await expect(engine.decideApproval(id, { ...yes, input: { path: 5 } })).rejects.toThrow(/write.*path must be a text/);
  expect(await engine.approvals()).toMatchObject([{ id, input: { path: '/etc' } }]);
  expect(await world.calls()).toMatchObject([{ state: 'prepared', approval: { state: 'asked' } }]);
  expect((await world.head()).waiting).toEqual(before.waiting);
  expect(await isOpen(turn.outcome)).toBe(true);
  expect(await engine.decideApproval(id, yes)).toBe('applied');
  await within(turn.outcome);
  expect(world.runs).toMatchObject([{ input: { path: '/etc' } }]);
});

it('an edited input with a decision that comes too late changes nothing of what runs', async () => {
  const world = createWorld();
  const hold = gate<string>();
  world.says(calls(['write', { path: '/a' }], ['write', { path: '/b' }]));
  const write = act((input) => ((input as { path: string }).path === '/a' ? hold.opened : 'written'), {
    ...needy,
    input: path,
  });
  const engine = world.boot({ tools: { write } });
  const turn = await engine.startTurn({ ...there, limits: { parallelCalls: 1 } });
  await within(turn.rest);
  const [a, b] = (await engine.approvals()).map((approval) => approval.id) as [string, string];
  await engine.decideApproval(a, yes);
  expect(await engine.decideApproval(b, yes)).toBe('applied');
  expect(await engine.decideApproval(b, { ...yes, input: { path: '/evil' } })).toBe('alreadyDecided');
  hold.open('a done');
  await within(turn.outcome);
  expect(world.runs.map((run) => run.input)).toEqual([{ path: '/a' }, { path: '/b' }]);
});

it('two decisions at once: one wins, and the other is told so', async () => {
  for (const [first, second] of [
    [yes, no],
    [no, yes],
  ] as const) {
    const world = createWorld();
    const { engine, turn, id } = await waiting(world);
    const answers = await Promise.all([engine.decideApproval(id, first), engine.decideApproval(id, second)]);
    expect(answers).toEqual(['applied', 'alreadyDecided']);
    await within(turn.outcome);
    expect(world.runs).toHaveLength(first.allow ? 1 : 0);
  }
});

it('two decisions at once from two processes: one wins, the other gets an answer, and the call runs at most once', async () => {
  const world = createWorld();
  const { engine, id } = await waiting(world);
  const other = world.boot({ tools: { write: act(() => 'written', { ...parking, input: path }) } });
  const answers = await Promise.allSettled([
    engine.decideApproval(id, yes),
    other.decideApproval(id, { ...yes, by: 'bob' }),
  ]);
  const said = answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : answer.reason.code));
  // The revision decides between them: the conflict the witness saw is how the second one was kept out (I7).
  world.witness.violations.splice(0);
  expect(said.filter((answer) => answer === 'applied')).toHaveLength(1);
  expect(['alreadyDecided', 'TURN_NOT_RESUMABLE', 'TURN_BUSY']).toContain(said.find((answer) => answer !== 'applied'));
  await until(async () => !(await world.head()).inProgress, 'the turn has ended');
  expect(world.runs).toHaveLength(1);
});

it('a decision about a call of a cancelled turn is too late', async () => {
  const world = createWorld();
  const { engine, turn, id } = await waiting(world);
  await turn.cancel();
  expect(await engine.decideApproval(id, yes)).toBe('alreadyDecided');
  expect(await engine.approvals()).toEqual([]);
  expect(world.runs).toEqual([]);
});

it('what is no decision is refused with a TypeError that names the field, and nothing changes', async () => {
  const world = createWorld();
  const { engine, id } = await waiting(world);
  const bad: [unknown, RegExp][] = [
    [undefined, /allow/],
    [{ by: 'ann' }, /allow/],
    [{ allow: 'yes', by: 'ann' }, /allow/],
    [{ allow: true }, /by/],
    [{ allow: true, by: '' }, /by/],
    [{ allow: true, by: 'half \ud800' }, /by/],
    [{ allow: true, by: 'ann', reason: 5 }, /reason/],
    [{ allow: false, by: 'ann', reason: 'half \ud800' }, /reason/],
    [{ allow: true, by: 'ann', input: { path: 1n } }, /input/],
    [{ allow: true, by: 'ann', grant: 'ever' }, /grant/],
  ];
  for (const [decision, field] of bad) {
    const thrown = await engine.decideApproval(id, decision as ApprovalDecision).catch((error: unknown) => error);
    expect(thrown, `${field}`).toBeInstanceOf(Error);
    expect((thrown as Error).message).toMatch(field);
  }
  expect(await engine.approvals()).toHaveLength(1);
  await expect(engine.decideApproval('nonsense', yes)).rejects.toThrow(TypeError);
  await expect(engine.decideApproval(`${id.slice(0, -4)}0009`, yes)).rejects.toMatchObject({ code: 'TURN_NOT_FOUND' });
});

it('a reason of any length is cut, not refused, and never keeps the turn from going on', async () => {
  const world = createWorld();
  const { engine, turn, id } = await waiting(world);
  expect(await engine.decideApproval(id, { ...no, reason: '🦆'.repeat(100_000) })).toBe('applied');
  await within(turn.outcome);
  const { reason } = only(await world.outputs()) as { reason: string };
  expect(reason.isWellFormed()).toBe(true);
  expect(reason.length).toBeLessThan(100_000);
});

it('a decision while a sibling is in doubt is kept, and its call runs once a person has settled the doubt', async () => {
  const world = createWorld();
  world.says(calls('send', 'deploy'));
  const hang = gate<string>();
  const tools = {
    send: act(() => hang.opened, { timeoutMs: MINUTE_MS }),
    deploy: act(() => 'deployed', parking),
  };
  const engine = world.boot({ tools });
  const turn = await engine.startTurn(hello);
  await until(() => world.runs.length === 1, 'the sibling runs');
  await world.advance(MINUTE_MS);
  expect(await engine.decideApproval((await approvalFor(engine, 'deploy')).id, yes)).toBe('applied');
  expect(world.runsOf('deploy')).toEqual([]);
  const { callId } = only(await engine.reviews());
  await engine.settleCall(turn.turnId, callId, { outcome: 'succeeded', output: 'sent', by: 'ann' });
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
  expect(world.runsOf('deploy')).toHaveLength(1);
});
