// Owns which workloads there are and how large they are. Their figures and targets are in the files of the workloads.
import { effectful, harmless, longHistory, written } from './one-session.mjs';

/** Gives figures that depend on no machine. */
const counted = (run) => Object.assign((sizes) => run(sizes), { countsOnly: true });

export const WORKLOADS = {
  B1: { effectful: counted(effectful), longHistory },
  B2: { harmless },
  B6: { written: counted(written) },
};

export const SIZES = {
  full: {
    effectful: { iterations: 200, rounds: 9 },
    longHistory: { iterations: 100, rounds: 5, megabytes: [0, 1, 10, 50] },
    harmless: { iterations: 20_000, rounds: 3 },
    written: { sizes: [50, 500] },
  },
  quick: {
    effectful: { iterations: 50, rounds: 3 },
    longHistory: { iterations: 20, rounds: 3, megabytes: [0, 1, 10] },
    harmless: { iterations: 500, rounds: 2 },
    written: { sizes: [20, 100] },
  },
};
