// Moves are made without the actor that XState makes for each: what it is given instead is an inner matter of XState, so
// every move of every chart has to be what XState's own functions say.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type AnyMachineSnapshot, type AnyStateMachine, initialTransition, transition } from 'xstate';
import { callMachine, recoveryMachine, turnMachine } from '../../machines/index.js';
import { firstMove, move } from '../../src/core/moves.js';
import { callPaths, recoveryPaths, turnPaths } from '../../src/testing/own-paths.js';
import type { MachinePath, MachinePaths } from '../../src/testing/paths.js';

type Moved = readonly [AnyMachineSnapshot, readonly { readonly type: string; readonly params?: unknown }[]];

function told(machine: AnyStateMachine, [snapshot, actions]: Moved) {
  const listed = actions.map(({ type, params }) => ({ type, params }));
  return { status: snapshot.status, stored: machine.getPersistedSnapshot(snapshot), actions: listed };
}

/** Snapshots and actions from the start to the end of a path. */
function walked(machine: AnyStateMachine, { start, steps }: MachinePath, begin: typeof firstMove, go: typeof move) {
  let moved: Moved = begin(machine, start.input as never);
  const found = [told(machine, moved)];
  for (const { event } of steps) {
    moved = go(machine, moved[0], event);
    found.push(told(machine, moved));
  }
  return found;
}

const CHARTS: readonly (readonly [name: string, AnyStateMachine, () => MachinePaths])[] = [
  ['turn', turnMachine, turnPaths],
  ['call', callMachine, callPaths],
  ['recovery', recoveryMachine, recoveryPaths],
];

describe.each(CHARTS)('every move of the %s chart', (_name, machine, pathsOf) => {
  it("goes where XState's own goes, with the same actions", () => {
    const { paths } = pathsOf();
    expect(paths.length).toBeGreaterThan(0);
    for (const path of paths) {
      const own = walked(machine, path, firstMove, move);
      expect(own).toEqual(walked(machine, path, initialTransition as typeof firstMove, transition as typeof move));
    }
  });
});

it('the package takes no other minor version of XState than the one these moves were compared with', () => {
  const told = (path: string) => JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'));
  const range: string = told('package.json').dependencies.xstate;
  const { version } = told('node_modules/xstate/package.json');
  expect(range).toMatch(/^~\d+\.\d+\.\d+$/);
  expect(version.split('.').slice(0, 2)).toEqual(range.slice(1).split('.').slice(0, 2));
});
