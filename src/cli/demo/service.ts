/**
 * Owns the service: what a program that uses this package looks like. It is the process that gets SIGKILL, and it
 * does nothing about that beyond calling `recover()` when it starts. Must not know that it is watched or killed.
 */
import { join } from 'node:path';
import { createTurnEngine } from '../../index.js';
import { openLevelStore } from '../../store/level-store.js';
import { done, started, tell } from './parent.js';
import { projectIn } from './project.js';
import { INSTRUCTIONS, releaseModel, TASK } from './script.js';
import { releaseTools } from './tools.js';
import type { FromService, ToService } from './wire.js';

const { folder, receiver } = await started<ToService>();
tell<FromService>({ type: 'up' });

const store = await openLevelStore({ path: join(folder, 'store') });
const engine = createTurnEngine({
  agent: 'release',
  store,
  model: releaseModel(),
  tools: releaseTools(projectIn(folder), receiver),
  instructions: INSTRUCTIONS,
  onEvent: (event) => tell<FromService>({ type: 'event', event }),
});

// What an earlier process left behind goes on from where it was.
const { resumed, held, parked, abandoned } = await engine.recover();
tell<FromService>({
  type: 'recovered',
  resumed: resumed.length,
  held: held.length,
  parked: parked.length,
  abandoned: abandoned.length,
});

// A queue delivers again what was not acknowledged. The message id makes the second delivery a duplicate.
const { accepted, turn } = await engine.sendMessage({
  sessionId: 'release-1.4.0',
  messageId: 'release-1.4.0',
  input: TASK,
  attended: false,
});
tell<FromService>({ type: 'accepted', accepted });

tell<FromService>({ type: 'rest', rest: await turn.rest });
await engine.close();
await store.close();
done();
