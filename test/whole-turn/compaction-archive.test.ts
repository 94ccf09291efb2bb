// What leaves a list is kept beside it: exact, in its order, over several compactions and restarts.
import { expect, it } from 'vitest';
import type { StoredMessage, TurnEngine } from '../../src/index.js';
import { until, within } from '../engine/waiting.js';
import { keepLast, NEAR, reads, readsTimes, readTools, smallModel } from './long-turn.js';
import { brief, createWorld, hello, type WholeWorld } from './world.js';

const archiveOf = async (engine: TurnEngine): Promise<readonly StoredMessage[]> =>
  (await engine.session('s'))?.archive() ?? [];

/** Every message that was announced as being on disk, by id. */
const announced = (world: WholeWorld): Map<string, unknown> =>
  new Map(world.eventsOf('message').map(({ message, meta }) => [meta.id, { message, meta }]));

it('archive() is what was removed, exactly as it was, in its order', async () => {
  const world = createWorld();
  smallModel(world);
  const seen: (readonly StoredMessage[])[] = [];
  world.says(...readsTimes(3), reads(NEAR));
  const engine = world.boot({ tools: readTools, compact: keepLast(2, seen) });
  await within((await engine.startTurn(hello)).outcome);
  const before = seen[0] as readonly StoredMessage[];
  expect(await archiveOf(engine)).toEqual(before.slice(1, -2));
  expect(brief(await archiveOf(engine))).toEqual([
    'model: calls read',
    'tool: read gave text',
    'model: calls read',
    'tool: read gave text',
    'model: calls read',
    'tool: read gave text',
  ]);
});

it('over several compactions and restarts, archive and list together hold every message once, in order', async () => {
  const world = createWorld();
  smallModel(world);
  const options = { tools: readTools, compact: keepLast(2) };
  for (let round = 0; round < 3; round += 1) {
    const engine = round === 0 ? world.boot(options) : await world.reboot(options);
    world.says(...readsTimes(2), reads(NEAR), ...readsTimes(2), reads(NEAR), `end of round ${round}`);
    await within((await engine.startTurn({ ...hello, input: `round ${round}` })).outcome);
  }
  const engine = await world.reboot(options);
  const archive = await archiveOf(engine);
  const list = await world.messages();
  const all = announced(world);
  const ids = [...archive, ...list].map(({ meta }) => meta.id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(new Set(ids)).toEqual(new Set(all.keys()));
  for (const stored of [...archive, ...list]) expect(stored).toEqual(all.get(stored.meta.id));
  const rounds = brief(list).filter((text) => text.startsWith('summary'));
  expect(rounds).toHaveLength(1);
  // Oldest first: what came later left the list later.
  const reader = archive.filter(({ message }) => message.role === 'tool').map(({ message }) => JSON.stringify(message));
  const pages = reader.map((text) => Number(/"value":"(\d+)/.exec(text)?.[1]));
  expect(pages).toEqual([...pages].sort((a, b) => a - b));
});

it('a session that was never compacted has an empty archive, and one that is not there has none', async () => {
  const world = createWorld();
  const engine = world.boot();
  await within((await engine.startTurn(hello)).outcome);
  expect(await archiveOf(engine)).toEqual([]);
  expect(await engine.session('nobody')).toBeUndefined();
});

it('the model never reads what is archived, and every request is paired (I10, case C1)', async () => {
  const world = createWorld();
  smallModel(world);
  world.says(...readsTimes(3), reads(NEAR), ...readsTimes(3));
  const engine = world.boot({ tools: readTools, compact: keepLast(2) });
  await within((await engine.startTurn(hello)).outcome);
  for (const stored of await archiveOf(engine)) expect(world.lastRead).not.toContain(JSON.stringify(stored.message));
});

it('the whole output of a call stays readable when its message is archived (case C24)', async () => {
  const world = createWorld();
  smallModel(world);
  const callIds: string[] = [];
  world.says(...readsTimes(3), reads(NEAR));
  const options = { tools: readTools, compact: keepLast(2), limits: { outputBytes: 100 } };
  const engine = world.boot({
    ...options,
    onEvent: (event) => {
      if (event.type === 'call' && event.state === 'succeeded' && !callIds.includes(event.callId))
        callIds.push(event.callId);
    },
  });
  await within((await engine.startTurn(hello)).outcome);
  expect(callIds).toHaveLength(4);
  for (let life = 0; life < 2; life += 1) {
    const session = await world.process.engine.session('s');
    for (const callId of callIds) {
      const output = (await session?.output(callId)) as { value: string } | undefined;
      expect(output?.value).toHaveLength(1_000);
    }
    // Another turn and another process change nothing.
    const next = await world.reboot(options);
    await within((await next.startTurn({ ...hello, input: `turn ${life}` })).outcome);
  }
});

/** The turn of the crash tests: three batches with effects, a compaction behind the third, one more batch. */
async function compactedTurn(world: WholeWorld, kill?: { fate: 'dieBefore' | 'dieAfter'; nth: number }) {
  smallModel(world);
  const tools = { read: { ...readTools.read, effect: 'idempotent' as const } };
  const options = { tools, compact: keepLast(2) };
  world.says(...readsTimes(2), reads(NEAR), reads());
  const engine = world.boot(options);
  const { store } = world.process;
  if (kill !== undefined) store.fate = (n) => (n === kill.nth ? kill.fate : 'pass');
  const begun = engine.startTurn(hello);
  await Promise.race([begun.then((turn) => turn.outcome), until(() => store.dead, 'dead')]);
  const commits = store.commits;
  if (kill === undefined) return { commits, options };
  await world.death();
  const next = await world.reboot(options);
  await next.recover();
  if (await world.store.head('s')) await until(async () => !(await world.head()).inProgress, 'the turn has ended');
  return { commits, options };
}

it('killed before or behind any commit around a compaction, list and archive are one whole, in order (I3, I10)', async () => {
  const { commits } = await compactedTurn(createWorld());
  expect(commits).toBeGreaterThan(6);
  for (const fate of ['dieBefore', 'dieAfter'] as const) {
    for (let nth = 2; nth <= commits; nth += 1) {
      const world = createWorld();
      await compactedTurn(world, { fate, nth });
      const archive = await archiveOf(world.process.engine);
      const list = await world.messages();
      expect(await world.head(), `${fate} ${nth}`).toMatchObject({
        ended: { kind: 'completed' },
        count: list.length,
        archived: archive.length,
      });
      const ids = [...archive, ...list].map(({ meta }) => meta.id);
      expect(new Set(ids).size, `${fate} ${nth}`).toBe(ids.length);
      expect(brief(list)[0]).toBe('input: hello');
      expect(brief(list).filter((text) => text.startsWith('summary')).length).toBe(archive.length > 0 ? 1 : 0);
      const effects = new Set(world.runs.map((run) => run.key));
      expect(effects.size, 'each page once').toBe(new Set(world.runs.map((run) => JSON.stringify(run.input))).size);
    }
  }
});
