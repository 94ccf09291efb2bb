// B7: sessions that wait for a person. Nothing of them should be in memory but that they wait.
import { jsonSchema, tool } from 'durable-turn';
import { inFolder } from './disk.mjs';
import { figure } from './figures.mjs';
import { heldBytes } from './memory.mjs';
import { fixedModel, withEngine } from './turns.mjs';

const asks = tool({
  description: 'Asks first.',
  input: jsonSchema({ type: 'object' }),
  approval: 'required',
  unattended: 'park',
  execute: () => 'done',
});

/** Some at a time, as traffic comes. */
const AT_ONCE = 50;

async function park(engine, from, to) {
  for (let n = from; n < to; n += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, to - n) }, (_, i) => `session-${n + i}`);
    await Promise.all(
      some.map(async (sessionId) => {
        const turn = await engine.startTurn({ sessionId, messageId: 'm1', input: 'go', attended: false });
        const { status } = await turn.rest;
        if (status !== 'parked') throw new Error(`${sessionId} is ${status}`);
      }),
    );
  }
}

export async function parked({ sessions }) {
  const options = { model: fixedModel(1), tools: { work: asks } };
  const kilobytes = await inFolder((folder) =>
    withEngine(folder, options, async (engine) => {
      const first = Math.ceil(sessions / 10);
      await park(engine, 0, first);
      const before = await heldBytes();
      await park(engine, first, first + sessions);
      return ((await heldBytes()) - before) / sessions / 1024;
    }),
  );
  return [
    figure({
      workload: 'B7',
      name: `memory of each of ${sessions} parked sessions`,
      unit: 'KB',
      rounds: [kilobytes],
      target: { atMost: 10 },
    }),
  ];
}
