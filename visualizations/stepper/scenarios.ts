/**
 * Owns the stories a reader can be led through: for each step the move and what it shows.
 * Must not know the page.
 */
import type { ChartName } from './session.js';

export interface Scenario {
  readonly id: string;
  readonly title: string;
  readonly chart: ChartName;
  readonly start: string;
  readonly steps: readonly { readonly move: string; readonly says: string }[];
}

const HOUR_MS = 3_600_000;

const story = (id: string, title: string, start: string, steps: readonly (readonly [string, string])[]): Scenario => ({
  id,
  title,
  chart: 'turn',
  start,
  steps: steps.map(([move, says]) => ({ move, says })),
});

export const SCENARIOS: readonly Scenario[] = [
  story('retry', 'Retry, then success', 'unattended', [
    ['loaded', 'The session is there: through injectingMessage, the one way in, to the model.'],
    ['overloaded', 'The model is overloaded. recovering finds the third reason, and the back-off is durable at once.'],
    ['t', 'The back-off ends. It would have ended at the same moment after a restart.'],
    ['done', 'The model answers; the counts of failures are cleared, and the turn is completed.'],
  ]),
  story('hardIdle', 'Hard time-out', 'unattended', [
    ['loaded', 'The model is asked, and both time-outs of the watchdog are armed.'],
    ['t60000', 'A minute of silence.'],
    ['progress', 'Content arrives: quiet is entered again, and both time-outs begin anew.'],
    ['t', 'Ninety seconds of silence: announced once, nothing else changes.'],
    ['t', 'Nine minutes: the call is aborted, and recovering answers with its first reason.'],
  ]),
  story('midBatch', 'Killed in mid-batch', 'unattended', [
    ['loaded', 'The model is asked.'],
    [
      'send',
      'It wants to send something. Answer, snapshot and journal are durable in one commit, before the call starts.',
    ],
    ['x', 'The process is killed. Did the call happen? Nobody knows.'],
    [
      'r',
      'The gates: the attempt is counted first, and the call in doubt cannot be asked. It is parked, not repeated.',
    ],
    ['reviewed', 'A person settles the call in doubt.'],
    ['settled', 'The batch is complete.'],
    ['done', 'The model has the last word.'],
  ]),
  story('stale', 'A stale turn', 'unattended', [
    ['loaded', 'The model is asked.'],
    ['t5000', 'It thinks for five seconds.'],
    ['read', 'It reads a file. The last checkpoint is more than two seconds old, so this one is written.'],
    ['x', 'The process is killed,'],
    [`t${5 * HOUR_MS}`, 'and starts five hours later.'],
    ['r', 'Gate 6: the intent is older than the staleness window. Abandoned, with an event, and nothing is run.'],
    ['p', 'A person may still take it up: gates 4 to 7 do not apply to them.'],
  ]),
  story('loop', 'Stopped by the loop detector', 'unattended', [
    ['loaded', 'The model is asked.'],
    ['read', 'It reads a file.'],
    ['nudged', 'It reads the same again and again: recovering nudges it.'],
    ['read', 'It goes on as before.'],
    ['looped', 'A stop is asked for: recovering leads to forceStop, where tools stay in the request and none is run.'],
    ['done', 'The last answer. The turn is stopped, not failed.'],
  ]),
  story('approval', 'Approval after a restart', 'attended', [
    ['loaded', 'The model is asked.'],
    ['ask', 'It wants to do what a person has to allow. The turn waits, durably, up to the deadline.'],
    ['t60000', 'A minute passes.'],
    ['x', 'The process is killed.'],
    ['r', 'Gate 4: it waits for a person. It stays parked, and no attempt is spent.'],
    ['p', 'The person decides: the turn is taken up, and the deadline is still the old one.'],
    ['decided', 'The decision is durable before the call starts.'],
    ['settled', 'The call is done.'],
    ['done', 'The model has the last word.'],
  ]),
  story('cancel', 'Cancelled during a batch', 'unattended', [
    ['loaded', 'The model is asked.'],
    ['send', 'A call with an effect starts.'],
    ['cancel', 'Cancelled: durable first, its calls are answered, then signals abort.'],
    ['x', 'The process is killed,'],
    ['r', 'and started again: there is no marker. A cancelled turn never comes back.'],
  ]),
];

export const scenarioOf = (id: string | null): Scenario | undefined => SCENARIOS.find((scenario) => scenario.id === id);
