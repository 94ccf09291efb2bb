// The seed of every property that has none of its own: the same in each run, so that a run that failed can be had again
// and one that passed means the same tomorrow. `TEST_SEED=<number> npm test` walks elsewhere; a failure prints its seed.
import fc from 'fast-check';

const seed = Number(process.env.TEST_SEED ?? 1);
if (!Number.isInteger(seed)) throw new TypeError('TEST_SEED must be a whole number.');
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });
