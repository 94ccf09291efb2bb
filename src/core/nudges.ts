/**
 * Owns what the model is told when its answer was no use. Must not know when a nudge is due; the chart decides.
 */
import type { ModelFault } from '../../machines/index.js';

export const NUDGES: Readonly<Record<ModelFault, string>> = {
  empty: 'Your last answer was empty. Go on with the task, or say that you are done.',
  cutOff: 'Your last answer was cut off at the output limit. Go on in smaller steps; calls in it did not run.',
  invalidAnswer:
    'Your final answer is not in the form it has to have. Give it again, as JSON that fits the schema and nothing else.',
  filtered: 'Your last answer was withheld.',
  noCallCanRun: 'None of the calls in your last answer could run. Read the errors and correct the calls.',
  loop: 'You are repeating yourself without progress. Try another way, or say what is missing.',
};
