// What the walks notice: a chart that lost a checkpoint, and a suite that does not know all of a chart.
import { describe, expect, it } from 'vitest';
import { turnMachine } from '../../machines/index.js';
import { turnSetup } from '../../machines/turn.setup.js';
import { turnPathOptions } from '../../src/testing/own-paths.js';
import { type MachinePath, pathsOf } from '../../src/testing/paths.js';
import { branchOf, type Edge, edgesOf, type LooseConfig, lineOf, mutantOf } from '../machines/chart.js';
import { executorOf } from './executors.js';
import { checksOf } from './promises.js';
import { Walk } from './walk.js';

const changed = (change: (config: LooseConfig) => void) => mutantOf(turnMachine, turnSetup.createMachine, change);

const { paths } = pathsOf(turnMachine, turnPathOptions);

/** The id that an edge has on the paths: its place among the edges of its state. */
function idOf(edge: Edge): string {
  const siblings = edgesOf(turnMachine).filter(({ from, on }) => from === edge.from && on !== 'initial');
  return `${edge.from}:${siblings.indexOf(edge) + 1}`;
}

const through = (edge: Edge): readonly MachinePath[] =>
  paths.filter(({ steps }) => steps.some(({ edges }) => edges.includes(idOf(edge))));

const isDirective = (action: string): boolean => action === 'checkpointNow' || action === 'checkpoint';

/** The first complaint of the walks over a chart. */
async function complaint(machine: typeof turnMachine, along: readonly MachinePath[]): Promise<string | undefined> {
  for (const path of along) {
    try {
      await Walk.go(machine, path, { pace: 'slow' });
    } catch (thrown) {
      return String(thrown);
    }
  }
  return undefined;
}

describe('the walks notice', () => {
  // The first one is no edge that an event takes: the engine writes it with the input that it accepts.
  const directed = edgesOf(turnMachine).filter(({ on, actions }) => on !== 'initial' && actions.some(isDirective));

  // Whatever takes these takes a stronger directive along in the same step: the table of boundaries holds them in place.
  const covered = [
    'executingTools: calls.settled [stopDue] -> recovering',
    'forceStop: model.answered [answerIsFault] -> recovering',
    'injectingMessage: always [stopping] -> forceStop',
  ];
  const alone = directed.filter((edge) => !covered.includes(lineOf(edge)));

  it('almost every checkpoint by itself', () => {
    expect(directed.length - alone.length).toBe(covered.length);
    expect(alone.length).toBeGreaterThan(25);
  });

  it.each(alone.map((edge) => [lineOf(edge), edge] as const))('that no checkpoint is at %s', async (_line, edge) => {
    const machine = changed((config) => {
      const branch = branchOf(config, edge);
      branch.actions = branch.actions.filter((action: string) => !isDirective(action));
    });
    expect(await complaint(machine, through(edge))).toBeDefined();
  });

  it('that a resumed turn begins again in `setup`', async () => {
    const machine = changed((config) => {
      delete config.states.running.on['turn.resumed'].reenter;
    });
    const path = through(edgesOf(turnMachine).find(({ guard }) => guard === 'retryable') as Edge)[0] as MachinePath;
    await expect(Walk.go(machine, path, { pace: 'slow', crashAfter: 2 })).rejects.toThrow();
    await Walk.go(turnMachine, path, { pace: 'slow', crashAfter: 2 });
  });
});

describe('a chart with something new', () => {
  it('has more paths: an edge alone is enough', () => {
    const machine = changed((config) => {
      config.states.running.states.compacting.on['stop.requested'] = { target: '#stopped', actions: ['checkpointNow'] };
    });
    const more = pathsOf(machine, turnPathOptions);
    expect(more.uncovered).toEqual([]);
    expect(more.paths.length).toBeGreaterThan(paths.length);
  });

  it('fails where its event is not known: nothing gives it a payload, and nothing makes it happen', () => {
    const machine = changed((config) => {
      config.states.running.states.compacting.on['compaction.paused'] = { target: '#injectingMessage' };
    });
    expect(pathsOf(machine, turnPathOptions).uncovered).toEqual(['compacting:4']);
    expect(() => executorOf({ type: 'compaction.paused' })).toThrow('has no executor');
  });

  it('fails where nothing is said about its state', async () => {
    const machine = changed((config) => {
      const { running } = config.states;
      running.states.paused = { id: 'paused', on: { 'session.loaded': { target: '#injectingMessage' } } };
      running.states.setup.on['session.loaded'].target = '#paused';
    });
    expect(() => checksOf('paused')).toThrow('has no check');
    const path = pathsOf(machine, turnPathOptions).paths.find(({ steps }) =>
      steps.some(({ value }) => JSON.stringify(value).includes('paused')),
    ) as MachinePath;
    await expect(Walk.go(machine, path, { pace: 'slow' })).rejects.toThrow('the phase "paused" has no check');
  });
});
