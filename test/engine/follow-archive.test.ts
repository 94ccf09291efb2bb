// follow().archive(): what compactions took out of the list of the last view, at the moment of that view.
import { expect, it } from 'vitest';
import type { FollowEvent } from '../../src/index.js';
import { keepLast, NEAR, PAGE, reads, readsTimes, readTools, smallModel } from '../whole-turn/long-turn.js';
import { createWorld, hello, look } from '../whole-turn/world.js';
import { calm, gate, within } from './waiting.js';

type Snapshot = FollowEvent & { type: 'snapshot' };
const compact = keepLast(2);
const idsOf = (list: readonly { readonly meta: { readonly id: string } }[]) => list.map(({ meta }) => meta.id);

/** The next event, which has to be a view. */
async function viewOf(events: AsyncIterator<FollowEvent>): Promise<Snapshot> {
  const { value } = await within(events.next());
  expect(value).toMatchObject({ type: 'snapshot' });
  return value;
}

it('gives what left the list, exactly and in its order, of a turn that runs, that is over, and in the next process', async () => {
  const world = createWorld();
  smallModel(world);
  const asked = gate();
  const answer = gate<string>();
  world.says(...readsTimes(3), reads(NEAR), async () => {
    asked.open();
    return answer.opened;
  });
  const options = { tools: readTools, compact };
  const engine = world.boot(options);
  const empty = engine.follow('s');
  await viewOf(empty);
  expect(await empty.archive()).toEqual([]);
  const turn = await engine.startTurn(hello);
  await within(asked.opened);
  const archived = await (await engine.session('s'))?.archive();
  expect(archived).toHaveLength(6);
  const running = engine.follow('s');
  await viewOf(running);
  expect(await running.archive()).toEqual(archived);
  answer.open('done');
  await within(turn.outcome);
  const over = engine.follow('s');
  await viewOf(over);
  expect(await over.archive()).toEqual(archived);
  const next = (await world.reboot(options)).follow('s');
  await viewOf(next);
  expect(await next.archive()).toEqual(archived);
});

it('goes with the view, not with what a compaction took out since', async () => {
  const world = createWorld();
  smallModel(world);
  world.says(...readsTimes(3), reads(NEAR), 'done');
  const engine = world.boot({ tools: readTools, compact });
  await within((await engine.startTurn(hello)).outcome);
  const events = engine.follow('s');
  await viewOf(events);
  const before = await events.archive();
  world.says(...readsTimes(3), reads(NEAR), 'done');
  await within((await engine.startTurn({ ...hello, input: 'more' })).outcome);
  expect(((await (await engine.session('s'))?.archive()) ?? []).length).toBeGreaterThan(before.length);
  expect(await events.archive()).toEqual(before);
});

it('a message that was archived while the view was being read is in the archive and is not told again', async () => {
  const world = createWorld();
  smallModel(world);
  const asked = gate();
  world.says(...readsTimes(3), reads(NEAR), async (_request, { signal }) => {
    asked.open();
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  });
  const engine = world.boot({ tools: readTools, compact });
  const { store } = world.process;
  const load = store.load.bind(store);
  const reading = gate();
  let first = true;
  store.load = async (sessionId) => {
    const isReader = first;
    first = false;
    if (isReader) await reading.opened;
    return load(sessionId);
  };
  const events = engine.follow('s');
  const viewed = viewOf(events);
  await calm();
  const turn = await engine.startTurn(hello);
  await within(asked.opened);
  reading.open();
  const view = await viewed;
  const archive = await events.archive();
  expect(archive).toHaveLength(6);
  const told: string[] = [];
  for (
    let { value } = await within(events.next());
    value.type !== 'snapshot';
    { value } = await within(events.next())
  ) {
    if (value.type === 'message') told.push(value.meta.id);
  }
  const known = new Set([...idsOf(archive), ...idsOf(view.messages)]);
  expect(told.filter((id) => known.has(id))).toEqual([]);
  await turn.cancel();
});

it('is redacted as the view is', async () => {
  const world = createWorld();
  smallModel(world);
  world.says(...readsTimes(3), reads(NEAR), 'done');
  const redact = (value: unknown) => JSON.parse(JSON.stringify(value).replaceAll('secret', '[hidden]'));
  const tools = { read: look(() => 'secret'.padEnd(PAGE, '.')) };
  const engine = world.boot({ tools, compact, redact });
  await within((await engine.startTurn(hello)).outcome);
  const events = engine.follow('s');
  await viewOf(events);
  const shown = JSON.stringify(await events.archive());
  expect(shown).toContain('[hidden]');
  expect(shown).not.toContain('secret');
  expect(JSON.stringify(await (await engine.session('s'))?.archive())).toContain('secret');
});
