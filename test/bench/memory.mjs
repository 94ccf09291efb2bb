// Owns how much memory is held at a moment: what JavaScript keeps, after everything else was collected.
// Must not know what keeps it.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

const now = () => {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

/** Twice, since what finalizers let go is collected by the second. */
export async function heldBytes() {
  for (let n = 0; n < 2; n += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    collect();
  }
  return now();
}
