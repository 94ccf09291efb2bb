// What a process of the service does with its engine, once the store is open: each takes up first what was interrupted.

async function takeUp({ engine }) {
  const { resumed, held, parked, abandoned, damaged } = await engine.recover();
  return { resumed: resumed.map(({ turnId }) => turnId), held, parked, abandoned, damaged };
}

/** The same message in every process, as a caller sends it again that heard no answer. */
async function sendAgain({ engine, witness }, messageId = 'm1') {
  const accepted = await engine.sendMessage({ sessionId: 's', input: 'go', attended: false, messageId });
  witness.write({ what: 'accepted', messageId });
  return accepted;
}

/** Where the turn is now: at its end, handed over, or waiting for a person. */
async function restOf({ engine }, turn) {
  const waits = (await engine.interrupted()).find(({ turnId, waiting }) => turnId === turn.turnId && waiting !== null);
  return waits === undefined ? turn.rest : { status: 'parked', phase: waits.phase };
}

async function send(service) {
  const recovered = await takeUp(service);
  const { accepted, turn } = await sendAgain(service, service.settings.messageId);
  return { recovered, accepted, turnId: turn.turnId, rest: await restOf(service, turn) };
}

/** A person looks at what the world says and settles every call in doubt. */
async function settle(service) {
  const { engine, witness } = service;
  const recovered = await takeUp(service);
  const { turn } = await sendAgain(service);
  await restOf(service, turn);
  const reviews = await engine.reviews();
  for (const { turnId, callId, idempotencyKey } of reviews) {
    const known = witness.has(idempotencyKey)
      ? { outcome: 'succeeded', output: { receipt: idempotencyKey } }
      : { outcome: 'notStarted' };
    await engine.settleCall(turnId, callId, { ...known, by: 'ada' });
    witness.write({ what: 'settled', callId });
  }
  return { recovered, reviews, rest: await turn.outcome };
}

/** Cancels at the moment at which the turn is held, or without waiting where it is not; dies behind the answer. */
async function cancel(service) {
  const { engine, moments, witness, settings } = service;
  const { turn } = await sendAgain(service);
  if (settings.holdAt !== undefined) await moments.held;
  const { status } = await engine.cancelTurn(turn.turnId, { reason: 'not needed any more' });
  witness.write({ what: 'cancelled', status });
  if (settings.killAt === undefined) process.kill(process.pid, 'SIGKILL');
  return { rest: await turn.rest };
}

/** Two conversations at the same time, one message behind the other, until the process dies or has sent enough. */
async function traffic(service) {
  const { engine, witness, settings } = service;
  const recovered = await takeUp(service);
  const talk = async (sessionId) => {
    for (let n = 1; n <= settings.upTo[sessionId]; n += 1) {
      const messageId = `${sessionId} ${n}`;
      const { turn } = await engine.sendMessage({ sessionId, input: `order ${n}`, attended: false, messageId });
      witness.write({ what: 'accepted', messageId });
      await turn.outcome;
    }
  };
  await Promise.all(Object.keys(settings.upTo).map(talk));
  return { recovered };
}

export const drives = { send, settle, cancel, traffic };
