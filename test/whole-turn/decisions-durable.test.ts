// A decision is durable before it is acknowledged, used up by the one dispatch it allowed, and re-runs nothing.
import { expect, it } from 'vitest';
import { isOpen, never, until, within } from '../engine/waiting.js';
import {
  act,
  calls,
  createWorld,
  type Fate,
  HOUR_MS,
  hello,
  look,
  MINUTE_MS,
  needy,
  only,
  parking,
  there,
  yes,
} from './world.js';

it('a decision that cannot be made durable says TURN_STORE_FAILED, and counts once the store works again', async () => {
  const world = createWorld();
  world.says(calls('deploy', 'other'));
  const tools = { deploy: act(() => 'deployed', parking), other: act(() => 'x', parking) };
  const engine = world.boot({ tools });
  const turn = await engine.startTurn(hello);
  await within(turn.rest);
  const [deploy, other] = (await engine.approvals()).map((approval) => approval.id) as [string, string];
  let broken = true;
  world.process.store.fate = () => (broken ? 'failBefore' : 'pass');
  await expect(within(engine.decideApproval(deploy, yes))).rejects.toMatchObject({ code: 'TURN_STORE_FAILED' });
  expect(world.eventsOf('approvalDecided')).toEqual([]);
  expect(world.runs).toEqual([]);
  broken = false;
  await world.advance(MINUTE_MS);
  expect(['applied', 'alreadyDecided']).toContain(await engine.decideApproval(deploy, yes));
  await engine.decideApproval(other, yes);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
  expect(world.runsOf('deploy')).toHaveLength(1);
});

it('killed before or behind the commit of a decision: it is asked again or it counts, and is never both', async () => {
  for (const fate of ['dieBefore', 'dieAfter'] satisfies Fate[]) {
    for (const nth of [1, 2]) {
      const world = createWorld();
      world.says(calls('deploy', 'read'));
      const tools = {
        deploy: act(() => 'deployed', { ...parking, reconcile: async () => ({ outcome: 'notStarted' as const }) }),
        read: look(() => 'R'),
      };
      const engine = world.boot({ tools });
      await within((await engine.startTurn(hello)).rest);
      const { id } = only(await engine.approvals());
      const { store } = world.process;
      const first = store.commits;
      store.fate = (n) => (n === first + nth ? fate : 'pass');
      const answer = engine.decideApproval(id, yes);
      await Promise.race([answer, until(() => store.dead, 'dead')]);
      const told = (await isOpen(answer)) ? undefined : await answer;
      await until(() => store.dead, 'dead');
      const next = await world.reboot({ tools });
      await next.recover();
      await until(async () => !(await world.head()).inProgress || (await next.approvals()).length > 0, 'rest');
      const state = (await world.store.call(id))?.approval?.state;
      // Told as applied means on disk: it was used by its dispatch, or asked again behind it.
      if (told === 'applied') expect((await world.store.call(id))?.dispatch).toBeGreaterThan(0);
      for (const approval of await next.approvals())
        expect(await next.decideApproval(approval.id, yes)).toBe('applied');
      await until(async () => !(await world.head()).inProgress, `the end, from ${state}`);
      expect(world.runsOf('deploy').length).toBeLessThanOrEqual(1);
      expect((await world.outputs())[0]).toEqual({ type: 'text', value: 'deployed' });
    }
  }
});

it('a decision re-runs nothing: siblings that are done stay done, the model is not asked again for it', async () => {
  const world = createWorld();
  world.says(calls('send', 'deploy', 'put'));
  const tools = {
    send: act(() => 'sent'),
    deploy: act(() => 'deployed', parking),
    put: act(() => 'put', { effect: 'idempotent' }),
  };
  await within((await world.boot({ tools }).startTurn(hello)).rest);
  const engine = await world.reboot({ tools });
  await engine.recover();
  expect(world.requests).toHaveLength(1);
  await engine.decideApproval(only(await engine.approvals()).id, yes);
  await until(async () => !(await world.head()).inProgress, 'the turn has ended');
  expect(world.runs.map((run) => run.tool)).toEqual(['send', 'put', 'deploy']);
  expect(world.requests).toHaveLength(2);
});

it('an approval is used up by its dispatch: reconcile says that it never started, and the person is asked again', async () => {
  const world = createWorld();
  world.says(calls('deploy'));
  const reconcile = async () => ({ outcome: 'notStarted' as const });
  const deploy = (execute: () => unknown) => act(execute as () => string, { ...parking, reconcile });
  const first = world.boot({ tools: { deploy: deploy(() => never()) } });
  await within((await first.startTurn(hello)).rest);
  const { id, requestedAt } = only(await first.approvals());
  await first.decideApproval(id, yes);
  await until(() => world.runs.length === 1, 'it runs');
  await world.crash();
  await world.advance(MINUTE_MS);
  const engine = world.boot({ tools: { deploy: deploy(() => 'deployed') } });
  const turn = only((await engine.recover()).resumed);
  expect(await within(turn.rest)).toMatchObject({ status: 'parked', phase: 'awaitingApproval' });
  const again = only(await engine.approvals());
  expect(again).toMatchObject({ id, requestedAt: requestedAt + MINUTE_MS });
  expect(world.runs).toHaveLength(1);
  expect(await engine.decideApproval(id, yes)).toBe('applied');
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
  expect(world.runs).toHaveLength(2);
  expect(world.eventsOf('approvalRequested')).toHaveLength(2);
});

it('an approval used up before a crash is refused with a reason where nobody is there and the tool does not park', async () => {
  const world = createWorld();
  world.says(calls('deploy'));
  const deploy = act(() => never(), { ...needy, effect: 'idempotent' });
  const first = world.boot({ tools: { deploy } });
  await within((await first.startTurn(there)).rest);
  await first.decideApproval(only(await first.approvals()).id, yes);
  await until(() => world.runs.length === 1, 'it runs');
  const engine = await world.reboot({ tools: { deploy } });
  await within(only((await engine.recover()).resumed).outcome);
  expect(world.runs).toHaveLength(1);
  const { reason } = only(await world.outputs()) as { reason: string };
  expect(reason).toContain('nobody is there');
  expect(reason).toContain('may have taken effect');
});

/** Two approved calls, one at a time: the second is allowed and not used when the process dies. */
async function allowedAndUnused(approvalMs: number) {
  const world = createWorld();
  world.says(calls(['put', { n: 1 }], ['deploy', { n: 2 }]));
  const deploy = act(() => 'deployed', needy);
  const put = (execute: () => unknown) => act(execute as () => string, { effect: 'idempotent' });
  const limits = { parallelCalls: 1, approvalMs };
  const first = world.boot({ tools: { put: put(() => never()), deploy }, limits });
  await first.startTurn(there);
  await until(() => world.runs.length === 1, 'the first call runs');
  const { id } = only(await first.approvals());
  expect(await first.decideApproval(id, yes)).toBe('applied');
  expect(await world.store.call(id)).toMatchObject({ state: 'prepared', approval: { state: 'allowed' } });
  await world.crash();
  return { world, boot: () => world.boot({ tools: { put: put(() => 'ok'), deploy }, limits }) };
}

it('a decision that was not used yet stays valid across a restart until its deadline', async () => {
  const { world, boot } = await allowedAndUnused(HOUR_MS);
  await world.advance(HOUR_MS - 1);
  const turn = only((await boot().recover()).resumed);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
  expect(world.runsOf('deploy')).toMatchObject([{ process: 2 }]);
  expect(world.eventsOf('approvalRequested')).toHaveLength(1);
});

it('a decision that was not used before its deadline counts no more: nobody is there, and the call is refused', async () => {
  const { world, boot } = await allowedAndUnused(HOUR_MS);
  await world.advance(HOUR_MS);
  const turn = only((await boot().recover()).resumed);
  expect(await within(turn.outcome)).toMatchObject({ status: 'completed' });
  expect(world.runsOf('deploy')).toEqual([]);
  expect((await world.outputs())[1]).toMatchObject({ type: 'execution-denied' });
});
