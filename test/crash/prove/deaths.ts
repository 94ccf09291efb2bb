// Real deaths: processes of the packed package on LevelDB, killed from outside at moments nobody chose. A place is one
// folder with two conversations; its processes are killed one after another, and the last one may finish.

import type { Service } from '../package.js';
import type { Order, Place, Processes } from '../processes.js';
import { wrongMarkers } from './deaths-markers.js';
import { type Count, countPlace, SESSIONS, sentTo } from './deaths-verdict.js';
import { numbersFrom } from './random.js';

const TRAFFIC: Order = { script: 'traffic', drive: 'traffic', inTurn: false, paceMs: 6, limitless: true };
const ENDLESS = Object.fromEntries(SESSIONS.map((session) => [session, 100_000]));

/** Behind the opening of the store: recovery and work. */
const LONGEST_DELAY_MS = 400;
/** One in so many is killed from its start on, wherever it is then: loading, opening, recovering. */
const EARLY_ONE_IN = 8;
const LONGEST_START_MS = 400;

export interface PlaceResult extends Count {
  readonly kills: number;
  readonly wrongMarkers: number;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function killOnce(processes: Processes, place: Place, seed: number, random: (below: number) => number) {
  const running = await processes.start(place, { ...TRAFFIC, seed, upTo: ENDLESS });
  if (random(EARLY_ONE_IN) === 0) await pause(random(LONGEST_START_MS));
  else {
    await running.said('open');
    await pause(random(LONGEST_DELAY_MS));
  }
  running.kill('SIGKILL');
  const { signal, stderr } = await running.ended;
  if (signal !== 'SIGKILL' || stderr !== '') throw new Error(`a process ended with ${signal}, and said: ${stderr}`);
}

/** Kills the processes of one new place so often, lets the last one finish, and counts. */
export async function dieAt(service: Service, processes: Processes, seed: number, kills: number): Promise<PlaceResult> {
  const random = numbersFrom(seed);
  const place = processes.place();
  let wrong = 0;
  for (let kill = 0; kill < kills; kill += 1) {
    await killOnce(processes, place, seed, random);
    wrong += await wrongMarkers(service, processes, place);
  }
  // One more than was acknowledged: the last one may be on the disk without its sender knowing.
  const upTo = Object.fromEntries(SESSIONS.map((session) => [session, sentTo(place, session).length + 1]));
  const { code, last, stderr } = await processes.run(place, { ...TRAFFIC, seed, upTo });
  if (code !== 0 || last?.what !== 'end')
    throw new Error(`seed ${seed}: the last process ended with ${code}\n${stderr}`);
  const count = await countPlace(service, place);
  processes.remove(place);
  return { ...count, kills, wrongMarkers: wrong };
}
