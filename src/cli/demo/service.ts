/**
 * Owns the service: what a program that uses this package looks like. It is the process that gets SIGKILL, and it
 * does nothing about that beyond calling `recover()` when it starts. Must not know that it is watched or killed.
 */
import { createTurnEngine, type Turn, type TurnRest } from '../../index.js';
import { openLevelStore } from '../../store/level-store.js';
import { askedIn, LIVE_INSTRUCTIONS, liveModel } from './live.js';
import { done, listen, started, tell } from './parent.js';
import { projectIn, storeIn } from './project.js';
import { INSTRUCTIONS, releaseModel, SESSION_ID, TASK } from './script.js';
import { releaseTools } from './tools.js';
import type { Decide, FromService, StartService } from './wire.js';

const { folder, receiver, live } = await started<StartService>();
tell<FromService>({ type: 'up' });

const store = await openLevelStore({ path: storeIn(folder) });
const engine = createTurnEngine({
  agent: 'release',
  store,
  model: live === null ? releaseModel() : await liveModel(live),
  tools: releaseTools(projectIn(folder), receiver),
  instructions: live === null ? INSTRUCTIONS : LIVE_INSTRUCTIONS,
  onEvent: (event) => tell<FromService>({ type: 'event', event }),
});

// A person's yes or no may come at any time: for a turn that runs as for one that some earlier process parked.
let answered = Promise.resolve();
const stopListening = listen<Decide>(({ id, allow, by, reason }) => {
  answered = answered.then(async () => {
    const result = await engine.decideApproval(id, { allow, by, reason });
    tell<FromService>({ type: 'decided', id, result });
  });
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
  sessionId: SESSION_ID,
  messageId: 'release-1.4.0',
  input: TASK,
  attended: false,
});
tell<FromService>({ type: 'accepted', accepted });

const rest = await endOf(turn);
const session = await engine.session(turn.sessionId);
const list = session === undefined ? [] : [...(await session.archive()), ...(await session.messages())];
tell<FromService>({ type: 'calls', calls: askedIn(list.map(({ message }) => message)) });
tell<FromService>({ type: 'rest', rest });
stopListening();
await answered;
await engine.close();
await store.close();
done();

/** A parked turn needs no process. This one stays up for the person's word, as a server does. */
async function endOf({ turnId, rest, outcome }: Turn): Promise<TurnRest> {
  const first = await rest;
  if (first.status !== 'parked') return first;
  const approvals = await engine.approvals();
  const attempts = (await engine.interrupted()).find((waiting) => waiting.turnId === turnId)?.attempts ?? 0;
  tell<FromService>({ type: 'parked', found: parked.includes(turnId), attempts, approvals });
  return outcome;
}
