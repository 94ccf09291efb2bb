// Every edge of the recovery chart, walked by the real engine over what real processes left behind; and again with a
// crash behind every commit of the process that recovers.
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { recoveryMachine } from '../../machines/index.js';
import type { Head } from '../../src/index.js';
import { recoveryPaths } from '../../src/testing/own-paths.js';
import type { MachinePath } from '../../src/testing/paths.js';
import { readMachine } from '../../src/visualize/xstate-fields.js';
import { PLACES, type Place, storeIn } from './places.js';
import { arrange, checkAt, type Situation } from './situations.js';
import { type GateWalked, watchGates } from './watched-gates.js';

const { paths, uncovered } = recoveryPaths();

const nameOf = ({ start, steps }: MachinePath): string =>
  [start.name, ...steps.map(({ event }) => lastOf(event) ?? event.type)].join(', ');

const lastOf = (event: MachinePath['steps'][number]['event'] | undefined): string | undefined =>
  event?.type === 'doubts.found' ? `doubts.found ${event.unreconcilable}` : event?.type;

const edgesOf = ({ startEdges, steps }: MachinePath): readonly string[] => [
  ...startEdges,
  ...steps.flatMap(({ edges }) => edges),
];
const endOf = ({ startValue, steps }: MachinePath): string => String(steps.at(-1)?.value ?? startValue);

afterEach(() => {
  vi.restoreAllMocks();
});

/** Lets a process recover; gives its walks and the head that it found. */
async function recovered(path: MachinePath, place: Place, dieAfter?: number) {
  const situation = await arrange(path.start.name, lastOf(path.steps.at(-1)?.event), await storeIn(place));
  const { world } = situation;
  onTestFinished(() => world.crash());
  const before = await world.head();
  const commits: number[] = [];
  const walks = watchGates(({ type }) => {
    if (type === 'attempt.committed') commits.push(world.process.store.commits);
  });
  const engine = situation.reboot ? await world.reboot(situation.options) : world.process.engine;
  const known = situation.reboot ? 0 : world.process.store.commits;
  const { store } = world.process;
  if (dieAfter !== undefined) store.fate = (nth) => (nth === known + dieAfter ? 'dieAfter' : 'pass');
  const done = situation.recover(engine);
  if (dieAfter === undefined) await done;
  await world.rest();
  expect(store.dead, 'it died where it was to').toBe(dieAfter !== undefined);
  return { situation, before, walks, commits, written: store.commits - known };
}

const ofSession = (walks: readonly GateWalked[]): GateWalked => walks.at(-1) as GateWalked;

async function check({ world }: Situation, before: Head, state: string): Promise<void> {
  await checkAt(state)(world, before);
  expect(world.witness.violations).toEqual([]);
}

it('the paths take every edge of the chart', () => {
  expect(uncovered).toEqual([]);
  const taken = new Set(paths.flatMap(edgesOf));
  expect([...taken].sort()).toEqual(
    readMachine(recoveryMachine)
      .transitions.map(({ id }) => id)
      .sort(),
  );
});

describe.each(PLACES)('an interrupted turn, %s', (place) => {
  it.each(paths.map((path) => [nameOf(path), path] as const))('%s', async (_name, path) => {
    const { situation, before, walks, commits } = await recovered(path, place);
    const edges = edgesOf(path);
    // A path that stops at a gate says nothing about what comes behind it.
    expect(ofSession(walks).edges.slice(0, edges.length)).toEqual(edges);
    if (endOf(path) !== 'attempt') expect(ofSession(walks)).toMatchObject({ edges, value: endOf(path) });
    // I4: one commit came before, and it is the attempt.
    expect(commits).toEqual(commits.map(() => 1));
    await check(situation, before, endOf(path));
  });

  it.each(paths.map((path) => [nameOf(path), path] as const))(
    '%s: killed behind each commit and recovered again, comes to the same',
    async (_name, path) => {
      const clean = await recovered(path, place);
      for (let nth = 1; nth <= clean.written; nth += 1) {
        vi.restoreAllMocks();
        const { situation, before } = await recovered(path, place, nth);
        const { world, options } = situation;
        const engine = await world.reboot(options);
        await situation.recover(engine);
        await world.rest();
        await check(situation, before, endOf(path));
      }
    },
  );
});
