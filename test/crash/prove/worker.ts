// One worker of a run: takes a piece of work, does it, says what came of it.
import { parentPort } from 'node:worker_threads';
import { perform, type Unit } from './units.js';

parentPort?.on('message', (unit: Unit) => {
  void perform(unit).then(
    (tally) => parentPort?.postMessage({ tally }),
    (thrown: unknown) => parentPort?.postMessage({ thrown: String((thrown as Error)?.stack ?? thrown) }),
  );
});
