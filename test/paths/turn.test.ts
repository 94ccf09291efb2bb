// Every edge of the turn chart, on the real engine: paths that the chart itself generates, gone step by step, and again
// with a crash after every step. A new phase, edge or event adds paths by itself.
import { describe, expect, it } from 'vitest';
import { turnMachine } from '../../machines/index.js';
import { openLevelStore } from '../../src/store/level-store.js';
import { turnPaths } from '../../src/testing/own-paths.js';
import type { MachinePath } from '../../src/testing/paths.js';
import { readMachine } from '../../src/visualize/xstate-fields.js';
import { folderOfTest } from './places.js';
import { SESSION } from './stage.js';
import { type Pace, Walk } from './walk.js';

const { paths, uncovered } = turnPaths();

const wordOf = ({ type, kind, fault, calls, stop, nudge, compact, goesOn }: MachinePath['steps'][number]['event']) => {
  const said = [kind, fault, stop, nudge && 'nudge', compact && 'compact', goesOn && 'goes on', calls?.[0]?.effect];
  const asks = calls?.[0]?.needsDecision === true ? ['asks'] : [];
  return [type.replace(/^xstate\.after\.(\w+)\..*/, 'after $1'), ...said, ...asks].filter(Boolean).join(' ');
};
const nameOf = ({ start, steps }: MachinePath): string =>
  `${start.name === 'attended' ? 'attended: ' : ''}${steps.map(({ event }) => wordOf(event)).join(', ')}`;

it('the paths take every edge of the chart', () => {
  expect(uncovered).toEqual([]);
  const taken = new Set(paths.flatMap(({ startEdges, steps }) => [...startEdges, ...steps.flatMap((s) => s.edges)]));
  expect([...taken].sort()).toEqual(
    readMachine(turnMachine)
      .transitions.map(({ id }) => id)
      .sort(),
  );
});

const joins = ({ steps }: MachinePath): boolean => steps.some(({ event }) => event.type === 'input.arrived');

/** Where a crash leads to another end than the path had, by the number of steps before it; and why. */
const OTHERWISE: Readonly<Record<string, readonly number[]>> = {
  // Recovery passes `setup` at once: dependencies that failed, or took too long, are there this time.
  'session.failed': [0],
  'after setupTimeout': [0],
  // A stop that was only noted is not on disk yet: asked for again, it is asked for in another phase.
  'stop.requested, session.loaded': [0, 1],
  // A refused compaction is a fact, and durable as it comes: the time-out does not have to pass again.
  'session.loaded, model.answered external, calls.settled compact, after compactionTimeout': [4],
  // A recovered turn is not attended, so what it asks a person has no deadline.
  'attended: session.loaded, model.answered external asks, after approvalDeadline': [0, 1],
};

describe.each(['slow', 'fast'] satisfies Pace[])('a path gone %s by the engine', (pace) => {
  it.each(paths.map((path) => [nameOf(path), path] as const))('%s', async (name, path) => {
    const clean = await (await Walk.go(turnMachine, path, { pace })).result();
    const otherwise: number[] = [];
    for (let crashAfter = 0; crashAfter <= path.steps.length; crashAfter += 1) {
      const walk = await Walk.go(turnMachine, path, { pace, crashAfter });
      const result = await walk.result();
      if (walk.diverged) otherwise.push(crashAfter);
      if (walk.diverged || joins(path)) continue;
      expect(result, `killed behind ${crashAfter} steps`).toEqual(clean);
    }
    if (!joins(path)) expect(otherwise).toEqual(OTHERWISE[name] ?? []);
  });
});

describe('a path gone by the engine on a real database', () => {
  it.each(paths.map((path) => [nameOf(path), path] as const))('%s', async (_name, path) => {
    const folder = folderOfTest();
    const store = await openLevelStore({ path: folder });
    const walk = await Walk.go(turnMachine, path, { pace: 'slow', store });
    const before = await walk.stage.onDisk();
    await store.close();
    const again = await openLevelStore({ path: folder });
    expect(await again.load(SESSION)).toEqual(before);
    await again.close();
  });
});
