// One process of a service that runs turns with the packed package. Its one argument says what to do and where to die;
// what became of it is the last line on its standard output.
import { createTurnEngine } from 'durable-turn';
import { openLevelStore } from 'durable-turn/level';
import { drives } from './drives.mjs';
import { makeModel } from './model.mjs';
import { namedMoments } from './points.mjs';
import { makeTools } from './tools.mjs';
import { openWitness } from './witness.mjs';

const settings = JSON.parse(process.argv[2]);

const say = (what, more = {}) => process.stdout.write(`${JSON.stringify({ what, ...more })}\n`);

const witness = openWitness(settings.witness);
const moments = namedMoments(settings, witness, say);

/**
 * A clock that stands still makes the number of commits the same in every run, however slow the machine: a debounced
 * checkpoint is due or not by the chart alone. Its timers are real.
 */
const standingClock = (now) => ({
  now: () => now,
  after(ms, fire) {
    const timer = setTimeout(fire, ms);
    return () => clearTimeout(timer);
  },
});

function numbersFrom(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

async function open() {
  try {
    return await openLevelStore({ path: settings.store });
  } catch ({ name, code, message, retryable }) {
    say('refused', { error: { name, code, message, retryable } });
    return undefined;
  }
}

async function main() {
  const store = await open();
  if (store === undefined) return;
  const random = numbersFrom(settings.seed ?? 1);
  const pace = settings.paceMs === undefined ? {} : { delayMs: () => random() * settings.paceMs };
  const events = [];
  const engine = createTurnEngine({
    agent: 'crash',
    store: moments.watch(store),
    model: makeModel(moments, witness, settings.script),
    tools: makeTools(moments, witness, { inTurn: settings.inTurn, ...pace }),
    onOutcome: ({ status }, { turnId }) => witness.write({ what: 'outcome', status, turnId }),
    onEvent({ type, gate, turnId, durable }) {
      if (type.startsWith('interrupted_') || type === 'storeFailed') events.push({ type, gate, turnId, durable });
    },
    ...(settings.limitless === true ? { recovery: { attemptsWithoutProgress: 10_000, recoveries: 10_000 } } : {}),
    ...(settings.paceMs === undefined ? { clock: standingClock(Date.now()) } : {}),
  });
  process.once('SIGTERM', () => {
    moments.goOn();
    void engine.close({ graceMs: settings.graceMs });
  });
  say('open');
  const result = await drives[settings.drive]({ engine, moments, witness, settings, say });
  await engine.close({ graceMs: settings.graceMs });
  await store.close();
  say('end', { ...result, events, passed: moments.passed });
}

await main();
