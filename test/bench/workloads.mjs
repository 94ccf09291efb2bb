// Owns which workloads there are and how large they are. Their figures and targets are in the files of the workloads.
import { importing } from './import-time.mjs';
import { longHistory } from './long-history.mjs';
import { grouped } from './many-sessions.mjs';
import { debounced, effectful, harmless, written } from './one-session.mjs';
import { parked } from './parked.mjs';
import { recordedRuns } from './recorded-runs.mjs';
import { recovery } from './recovery.mjs';
import { keysRead, start } from './start.mjs';

/** Gives figures that depend on no machine. */
const counted = (run) => Object.assign((sizes) => run(sizes), { countsOnly: true });

export const WORKLOADS = {
  B1: { effectful: counted(effectful), longHistory },
  B2: { harmless, debounced: counted(debounced) },
  B3: { grouped },
  B4: { start, keysRead: counted(keysRead) },
  B5: { recovery: counted(recovery) },
  B6: { written: counted(written) },
  B7: { parked },
  B8: { importing },
  B9: { recordedRuns },
};

/** What stops a workload that misses its target. Figures belong into the table, not here. */
export const LIMITS = {
  B1:
    'with the store in memory, where nothing waits, an iteration takes longer than its two batches take on this disk. That ' +
    'JavaScript is spread: the check and the encoding of ten records, the moves of the chart, the collector, and a hundred ' +
    'small functions. Behind each wait it runs slower than without one; behind a long history each request gets a copy of ' +
    'the list, since a port may keep it.',
  B2: 'nothing waits for the disk here: the moves of the chart and what they announce are the CPU time.',
  B3:
    'one event loop does the work of all sessions: their JavaScript takes longer than the batches they share, and while it ' +
    'runs for one session all others wait.',
  B4: 'LevelDB goes through what is left of markers that came and went, until it is compacted away.',
  B5:
    'much of it is reading and parsing the messages, as its floor shows; then come the checksum of each, the garbage of ' +
    'all, and two commits and a dozen look-ups for each turn. A worker would have to copy every message once more.',
  B6: 'each commit holds a head and a checkpoint beside the new content.',
  B7: 'a parked session keeps its turn, its deadline and its handle.',
  B8: 'what is left is compiling the code of engine and store, and XState setting up the charts.',
};

export const SIZES = {
  full: {
    effectful: { iterations: 200, rounds: 15, warmUp: 10_000 },
    longHistory: { iterations: 100, rounds: 9, warmUp: 5_000, megabytes: [0, 1, 10, 50] },
    harmless: { iterations: 20_000, rounds: 3, warmUp: 10_000 },
    debounced: { iterations: 400 },
    grouped: { sessions: 200, iterations: 10, rounds: 9, warmUp: 5 },
    start: { sessions: [1_000, 100_000, 1_000_000], rounds: 9 },
    keysRead: { few: 10, many: 1_000 },
    recovery: { turns: 1_000, messages: 200, rounds: 3 },
    written: { sizes: [50, 500] },
    parked: { sessions: 10_000 },
    importing: { rounds: 9 },
    recordedRuns: { rounds: 5 },
  },
  quick: {
    effectful: { iterations: 50, rounds: 3, warmUp: 50 },
    longHistory: { iterations: 20, rounds: 3, warmUp: 20, megabytes: [0, 1, 10] },
    harmless: { iterations: 500, rounds: 2, warmUp: 200 },
    debounced: { iterations: 400 },
    grouped: { sessions: 50, iterations: 4, rounds: 2, warmUp: 1 },
    start: { sessions: [100, 2_000], rounds: 3 },
    keysRead: { few: 10, many: 1_000 },
    recovery: { turns: 100, messages: 50, rounds: 1 },
    written: { sizes: [20, 100] },
    parked: { sessions: 500 },
    importing: { rounds: 3 },
    recordedRuns: { rounds: 1 },
  },
};
