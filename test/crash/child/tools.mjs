// Tools of all three effects. What they do to the world is a line of the witness; what they say is its receipt.
import { jsonSchema } from 'durable-turn';

const anyInput = jsonSchema({ type: 'object' });

/**
 * In turn: a call of a batch works only once the outcome of the one before it is durable. So each outcome has a commit
 * of its own, and the moments have the same order in every run. Otherwise they work at the same time and share commits.
 */
function turnTaking(moments, inTurn) {
  let last = Promise.resolve();
  return async (work) => {
    if (!inTurn) return work();
    const before = last;
    let open;
    last = new Promise((resolve) => {
      open = resolve;
    });
    await before;
    try {
      return await work();
    } finally {
      moments.nextCommit().then(open);
    }
  };
}

/** `call 3 (charge)`, whichever turn it is in. */
const nameOf = (tool, callId) => `call ${Number(callId.split('.').at(-1)) + 1} (${tool})`;

export function makeTools(moments, witness, { inTurn = true, delayMs } = {}) {
  const take = turnTaking(moments, inTurn);
  const pause = () => new Promise((resolve) => setTimeout(resolve, delayMs()));

  async function affect(tool, call) {
    const name = nameOf(tool, call.callId);
    await moments.at(`before the effect of ${name}`, call.signal);
    if (delayMs !== undefined) await pause();
    // A tool that is told to stop before it did anything says so by failing; its effect never comes later.
    if (call.signal.aborted) throw call.signal.reason;
    witness.write({ what: 'effect', tool, key: call.idempotencyKey, session: call.sessionId });
    await moments.at(`after the effect of ${name}`, call.signal);
    if (delayMs !== undefined) await pause();
    return { receipt: call.idempotencyKey };
  }

  async function ask(tool, doubt, call) {
    const name = nameOf(tool, call.callId);
    await moments.at(`before ${name} is reconciled`);
    const landed = witness.has(doubt.idempotencyKey);
    if (landed && tool === 'mail' && doubt.notes.length === 0) {
      throw new Error('the note that was durable before the effect is gone');
    }
    return landed ? { outcome: 'succeeded', output: { receipt: doubt.idempotencyKey } } : { outcome: 'notStarted' };
  }

  const external = (tool) => ({
    description: `Does ${tool}.`,
    input: anyInput,
    effect: 'external',
    execute: (_input, call) => take(() => affect(tool, call)),
    reconcile: (doubt, call) => take(() => ask(tool, doubt, call)),
  });

  return {
    lookup: {
      description: 'Looks something up.',
      input: anyInput,
      effect: 'none',
      execute: (_input, call) => take(() => affect('lookup', call)),
    },
    put: {
      description: 'Sets a value.',
      input: anyInput,
      effect: 'idempotent',
      execute: (_input, call) => take(() => affect('put', call)),
    },
    mail: {
      ...external('mail'),
      execute: (_input, call) =>
        take(async () => {
          await call.note({ sending: true });
          return affect('mail', call);
        }),
    },
    // Two of one batch never overlap: the second is stored as one that did not start, until the first is done.
    charge: { ...external('charge'), exclusive: true },
    // Nobody but a person can tell what became of it.
    post: {
      description: 'Posts something.',
      input: anyInput,
      effect: 'external',
      execute: (_input, call) => take(() => affect('post', call)),
    },
  };
}
