// Secrets are taken out of what is announced; what is stored, run and read by the model is not touched.
import { expect, it } from 'vitest';
import type { Json } from '../../src/index.js';
import { jsonSchema } from '../../src/index.js';
import { never, until, within } from '../engine/waiting.js';
import { act, calls, createWorld, hello, MINUTE_MS, type Options, only, parking, there, yes } from './world.js';

const SECRET = 's3cret';
const hide = (value: Json): Json => JSON.parse(JSON.stringify(value).replaceAll(SECRET, '[hidden]')) as Json;
const withSecret = { token: SECRET };

/** A turn in which the secret is everywhere: input, deltas, progress, calls, approvals, reviews, answer, error. */
async function everywhere(options: Options) {
  const world = createWorld();
  const told: unknown[] = [];
  const answers = { form: jsonSchema<Json>({ type: 'object' }) };
  const tools = {
    deploy: act((_input, call) => {
      call.progress(withSecret);
      return withSecret;
    }, parking),
    send: act(
      async (_input, call) => {
        await call.note(withSecret);
        return never();
      },
      { timeoutMs: MINUTE_MS },
    ),
  };
  const onEvent = (event: unknown) => void told.push(structuredClone(event));
  world.says(
    { say: `thinking of ${SECRET}`, ...(calls(['deploy', withSecret], ['send', withSecret]) as object) } as never,
    JSON.stringify(withSecret),
  );
  const engine = world.boot({ tools, answers, onEvent, ...options });
  const turn = await engine.startTurn({ ...there, input: `my token is ${SECRET}`, answer: 'form' });
  await until(() => world.runs.length === 1, 'it runs');
  await engine.decideApproval(only(await engine.approvals()).id, { ...yes, reason: `because of ${SECRET}` });
  await world.advance(MINUTE_MS);
  await within(turn.rest);
  const { callId } = only(await engine.reviews());
  await engine.settleCall(turn.turnId, callId, { outcome: 'succeeded', output: withSecret, by: 'ann' });
  const outcome = await within(turn.outcome);
  return { world, told, outcome };
}

it('no event shows what redact took out, and everything else is as it was', async () => {
  const { world, told, outcome } = await everywhere({ redact: hide });
  expect(JSON.stringify(told)).not.toContain(SECRET);
  expect(JSON.stringify(told)).toContain('[hidden]');
  const types = new Set((told as { type: string }[]).map((event) => event.type));
  for (const type of ['message', 'delta', 'progress', 'approvalRequested', 'reviewRequested', 'outcome'])
    expect(types).toContain(type);
  // Stored, run, and read by the model.
  expect(JSON.stringify(await world.messages())).toContain(SECRET);
  expect(JSON.stringify(await world.messages())).not.toContain('[hidden]');
  expect(world.lastRead).toContain(SECRET);
  for (const run of world.runs) expect(run.input).toEqual(withSecret);
  expect(outcome).toMatchObject({ status: 'completed', answer: withSecret });
});

it('redact is told where a value comes from', async () => {
  const seen: unknown[] = [];
  await everywhere({
    redact: (value, where) => {
      seen.push(where);
      return value;
    },
  });
  expect(seen).toContainEqual({ event: 'message' });
  expect(seen).toContainEqual({ event: 'delta' });
  expect(seen).toContainEqual({ event: 'approvalRequested', tool: 'deploy' });
  expect(seen).toContainEqual({ event: 'reviewRequested', tool: 'send' });
});

it('a redact that throws hides: nothing it was asked about is shown, and the turn goes on', async () => {
  const { told, outcome } = await everywhere({
    redact: () => {
      throw new Error('no');
    },
  });
  expect(JSON.stringify(told)).not.toContain(SECRET);
  expect(outcome).toMatchObject({ status: 'completed' });
});

it('a redact that changes the value in place changes nothing of what is stored, run or read', async () => {
  const scrub = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      if (typeof inner === 'string') Reflect.set(value, key, inner.replaceAll(SECRET, '[hidden]'));
      else scrub(inner);
    }
  };
  const { world, outcome } = await everywhere({
    redact: (value) => {
      scrub(value);
      return typeof value === 'string' ? hide(value) : value;
    },
  });
  expect(JSON.stringify(await world.messages())).not.toContain('[hidden]');
  expect(world.lastRead).not.toContain('[hidden]');
  for (const run of world.runs) expect(run.input).toEqual(withSecret);
  expect(outcome.answer).toEqual(withSecret);
});

it('an error of the model with a secret in it is redacted in the events that tell it', async () => {
  const world = createWorld();
  const told: unknown[] = [];
  const model = {
    id: 'm',
    call: () => Promise.reject(Object.assign(new Error(`bad key ${SECRET}`), { kind: 'network' })),
  };
  const engine = world.boot({ model, redact: hide, onEvent: (event) => void told.push(structuredClone(event)) });
  const turn = await engine.startTurn({ ...hello, limits: { retryElapsedMs: 0 } });
  await world.advance(MINUTE_MS);
  const outcome = await within(turn.outcome);
  expect(outcome.reason).toContain(SECRET);
  expect((told as { type: string }[]).map((event) => event.type)).toContain('retry');
  expect(JSON.stringify(told)).not.toContain(SECRET);
});

it('a stop, a refused compaction and an abandoned turn are told without the secret of their reasons', async () => {
  const world = createWorld();
  const told: unknown[] = [];
  const options = { redact: hide, onEvent: (event: unknown) => void told.push(structuredClone(event)) };
  world.says({ hang: true });
  const engine = world.boot(options);
  const turn = await engine.startTurn(hello);
  await until(() => world.requests.length === 1, 'asked');
  const next = await world.reboot({ ...options, recovery: false });
  await next.recover();
  await next.abandonTurn(turn.turnId, `leaked ${SECRET}`);
  const stopping = await world.reboot({ ...options, prepareModelCall: () => ({ stop: `budget of ${SECRET}` }) });
  await within((await stopping.startTurn({ ...hello, input: 'next' })).outcome);
  const refusing = await world.reboot({ ...options, compact: () => Promise.reject(new Error(`no ${SECRET}`)) });
  world.says({ fail: 'contextLength' });
  await within((await refusing.startTurn({ ...hello, input: 'long' })).outcome);
  const types = (told as { type: string }[]).map((event) => event.type);
  for (const type of ['stopping', 'compactionRefused']) expect(types).toContain(type);
  expect(JSON.stringify(told)).not.toContain(SECRET);
});
