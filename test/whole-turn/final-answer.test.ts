// A final answer in the form that was asked for.
import { expect, it } from 'vitest';
import { type Json, jsonSchema, type Schema } from '../../src/index.js';
import { gate, until, within } from '../engine/waiting.js';
import { act, calls, createWorld, hello, look, only, parking, yes } from './world.js';

const verdict = jsonSchema<Json>({ type: 'object', required: ['ok'] }, (value) =>
  typeof (value as { ok?: unknown })?.ok === 'boolean' ? undefined : 'ok must be true or false',
);
/** Gives another value than it was given, as zod's transforms do. */
const counted: Schema = {
  '~standard': {
    ...verdict['~standard'],
    validate: async (value) => ({ value: { ...(value as object), counted: true } }),
  },
};
const options = { answers: { verdict, counted } };
const asks = { ...hello, answer: 'verdict' } as const;

it('an answer that fits is the turn’s answer, beside its text, and the schema goes with every request', async () => {
  const world = createWorld();
  world.says(calls('read'), '{ "ok": true }');
  const engine = world.boot({ ...options, tools: { read: look(() => 'R') } });
  const outcome = await within((await engine.startTurn(asks)).outcome);
  expect(outcome).toMatchObject({ status: 'completed', answer: { ok: true }, text: '{ "ok": true }' });
  for (const request of world.requests)
    expect(request.settings).toMatchObject({ responseSchema: { type: 'object', required: ['ok'] } });
});

it('an answer in a fence fits as well, and what the schema makes of it is what counts', async () => {
  const fences = ['```json\n{"ok":false}\n```', '```\n{"ok":false}\n```\n', '  {"ok":false}\n'];
  for (const text of fences) {
    const world = createWorld();
    world.says(text);
    const outcome = await within((await world.boot(options).startTurn(asks)).outcome);
    expect(outcome.answer).toEqual({ ok: false });
  }
  const world = createWorld();
  world.says('{"n":1}');
  const outcome = await within((await world.boot(options).startTurn({ ...hello, answer: 'counted' })).outcome);
  expect(outcome.answer).toEqual({ n: 1, counted: true });
});

it('an answer that does not fit is nudged until it does', async () => {
  const world = createWorld();
  world.says('yes!', '{ "ok": "yes" }', '{ "ok": true }');
  const outcome = await within((await world.boot(options).startTurn(asks)).outcome);
  expect(outcome).toMatchObject({ status: 'completed', answer: { ok: true } });
  expect(world.eventsOf('nudge').map((event) => event.fault)).toEqual(['invalidAnswer', 'invalidAnswer']);
  expect(world.lastRead).toContain('not in the form');
  expect(world.lastRead).toContain('yes!');
});

it('an answer that never fits ends the turn as failed, with the reason and without an answer', async () => {
  const world = createWorld();
  world.says('no', 'no', 'no', 'no');
  const outcome = await within((await world.boot(options).startTurn(asks)).outcome);
  expect(outcome).toMatchObject({ status: 'failed', reason: 'invalidAnswer', text: 'no' });
  expect(outcome).not.toHaveProperty('answer');
});

it('falsy answers are answers', async () => {
  const any: Schema = jsonSchema({});
  for (const value of ['null', 'false', '0', '""', '[]']) {
    const world = createWorld();
    world.says(value);
    const engine = world.boot({ answers: { any } });
    const outcome = await within((await engine.startTurn({ ...hello, answer: 'any' })).outcome);
    expect(outcome).toHaveProperty('answer', JSON.parse(value));
  }
});

it('the form is kept with the turn over a restart, a nudge included', async () => {
  const world = createWorld();
  world.says('no', { hang: true });
  await world.boot(options).startTurn(asks);
  await until(() => world.requests.length === 2, 'nudged');
  await world.advance(2_000);
  world.says('not yet', '{"ok":true}');
  const engine = await world.reboot(options);
  const outcome = await within(only((await engine.recover()).resumed).outcome);
  expect(outcome).toMatchObject({ status: 'completed', answer: { ok: true } });
});

it('the answer is durable with the outcome: a duplicate and onOutcome of the next process have it', async () => {
  const world = createWorld();
  world.says('{"ok":true}');
  const told: unknown[] = [];
  const onOutcome = () => Promise.reject(new Error('not now'));
  const first = world.boot({ ...options, onOutcome });
  await within((await first.startTurn({ ...asks, messageId: 'm' })).outcome);
  const engine = await world.reboot({ ...options, onOutcome: (outcome) => void told.push(outcome.answer) });
  await engine.recover();
  await until(() => told.length === 1, 'told');
  expect(told).toEqual([{ ok: true }]);
  const again = await engine.sendMessage({ ...asks, messageId: 'm' });
  expect(await within(again.turn.outcome)).toMatchObject({ answer: { ok: true } });
});

it('the form is asked of the final answer only: approvals, tools and text beside calls are free', async () => {
  const world = createWorld();
  world.says({ say: 'let me see', ...(calls('deploy') as object) } as never, '{"ok":true}');
  const engine = world.boot({ ...options, tools: { deploy: act(() => 'deployed', parking) } });
  await within((await engine.startTurn(asks)).rest);
  await engine.decideApproval(only(await engine.approvals()).id, yes);
  await until(async () => !(await world.head()).inProgress, 'the turn has ended');
  expect(world.eventsOf('nudge')).toEqual([]);
  expect(world.eventsOf('outcome')).toMatchObject([{ outcome: { answer: { ok: true } } }]);
});

it('input that joins behind a fitting answer makes it no final one', async () => {
  const world = createWorld();
  const answer = gate<string>();
  world.says(() => answer.opened, '{"ok":false}');
  const engine = world.boot(options);
  const turn = await engine.startTurn(asks);
  await until(() => world.requests.length === 1, 'asked');
  await engine.sendMessage({ ...hello, input: 'think again' });
  answer.open('{"ok":true}');
  expect(await within(turn.outcome)).toMatchObject({ answer: { ok: false } });
  expect(world.requests).toHaveLength(2);
});

it('a stopped turn has no answer, also where its last words fit', async () => {
  const world = createWorld();
  world.says(calls('read'), '{"ok":true}');
  const engine = world.boot({ ...options, tools: { read: look(() => 'R') }, limits: { maxIterations: 1 } });
  const outcome = await within((await engine.startTurn(asks)).outcome);
  expect(outcome).toMatchObject({ status: 'stopped', text: '{"ok":true}' });
  expect(outcome).not.toHaveProperty('answer');
});

it('the next turn of the session is free of the form', async () => {
  const world = createWorld();
  world.says('{"ok":true}', 'just text');
  const engine = world.boot(options);
  await within((await engine.startTurn(asks)).outcome);
  const outcome = await within((await engine.startTurn({ ...hello, input: 'thanks' })).outcome);
  expect(outcome).toMatchObject({ status: 'completed', text: 'just text' });
  expect(outcome).not.toHaveProperty('answer');
});

it('a form the engine does not know is refused before anything is written', async () => {
  const world = createWorld();
  const engine = world.boot(options);
  for (const answer of ['other', '__proto__', 'toString', 5 as never])
    await expect(engine.startTurn({ ...hello, answer })).rejects.toThrow(/answer/);
  expect(await world.store.head('s')).toBeUndefined();
  expect(() => world.boot({ answers: { verdict: {} as Schema } })).toThrow(/answers\.verdict/);
});

it('a turn whose form is gone after a deploy is held, not completed with anything', async () => {
  const world = createWorld();
  world.says({ hang: true });
  const turn = await world.boot(options).startTurn(asks);
  await until(() => world.requests.length === 1, 'asked');
  world.says('anything');
  const engine = await world.reboot({ answers: {} });
  const report = await engine.recover();
  expect(report.held).toMatchObject([{ turnId: turn.turnId, reason: expect.stringContaining('verdict') }]);
  world.says('{"ok":true}');
  const next = await world.reboot(options);
  expect(await within(only((await next.recover()).resumed).outcome)).toMatchObject({ answer: { ok: true } });
});
