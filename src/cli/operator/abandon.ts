/**
 * Owns `durable-turn abandon`: it ends one turn while no service runs. Must not know what an end consists of.
 */
import { TurnError } from '../../core/errors.js';
import { sessionOfTurn } from '../../core/ids.js';
import type { Model } from '../../core/model.js';
import type { TurnStore } from '../../core/ports.js';
import { checkOptions } from '../../engine/check-options.js';
import { People } from '../../engine/people.js';
import { Recovery } from '../../engine/recovery.js';
import { Roster } from '../../engine/roster.js';
import { TurnHandles } from '../../engine/turn-handles.js';
import { openLevelStore } from '../../store/level-store.js';
import { soundFolder } from '../../store/view.js';
import { endable } from './ending.js';
import { type ExitCode, FAILED, Refusal, type Verb, WRONG_ARGUMENTS } from './verb.js';
import { plural } from './words.js';

export const abandon: Verb = {
  name: 'abandon',
  summary: 'ends one turn that must not be resumed',
  takes: ['<folder>', '<turn>'],
  options: [
    { name: 'reason', type: 'string', value: 'text', what: 'why; required, people read it' },
    { name: 'no-outcome', type: 'boolean', what: 'the service has no onOutcome: leave nothing due for it' },
  ],
  explains:
    'Ends a turn in progress, as abandonTurn() does: its calls under way are in doubt and listed for review, input that\n' +
    'waits stays. Its outcome is left due, so that onOutcome of the service gets it at the next recover().',
  async run({ folder, names: [turnId = ''], options }, output) {
    const { reason } = options;
    if (typeof reason !== 'string' || reason === '') throw new Refusal(WRONG_ARGUMENTS, 'give --reason <text>');
    const sessionId = sessionOfTurn(turnId);
    if (sessionId === undefined) throw new Refusal(WRONG_ARGUMENTS, `${turnId} is no turn id; see interrupted`);
    return await endable<ExitCode>('the turn is as it was', async (signal) => {
      // A repair is another thing, and has to be asked for.
      const store = await openLevelStore({
        path: await soundFolder(folder, 'start', signal),
        onMigration: ({ records }) =>
          output.progress(() => `${plural(records, 'record')} brought to the newest format`),
      });
      try {
        signal.throwIfAborted();
        await end(store, sessionId, turnId, reason, options['no-outcome'] !== true);
        const ended = (await store.head(sessionId))?.ended;
        await output.tell({ sessionId, turnId, ended }, () => `${turnId} is abandoned: ${reason}`);
        return 0;
      } finally {
        await store.close();
      }
    });
  },
};

/** No engine is made: it would start what waits behind the turn. */
async function end(store: TurnStore, sessionId: string, turnId: string, reason: string, outcomeDue: boolean) {
  const head = await store.head(sessionId);
  if (head === undefined) throw new Refusal(FAILED, `there is no session ${JSON.stringify(sessionId)}`);
  const settings = checkOptions({
    agent: head.agent,
    store,
    model: NO_MODEL,
    // Never called here: that there is one leaves the outcome due.
    ...(outcomeDue ? { onOutcome: () => undefined } : {}),
  });
  const nobody = () => Promise.reject(new TurnError('TURN_ENGINE_CLOSING', 'nothing runs here'));
  const roster = new Roster(settings, new TurnHandles(nobody));
  await new People(roster, new Recovery(roster, nobody)).abandon(turnId, reason);
}

const NO_MODEL: Model = {
  id: 'none',
  call: () => Promise.reject(new TurnError('TURN_ENGINE_CLOSING', 'nothing runs here')),
};
