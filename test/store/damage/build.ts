// Makes the data folder that is damaged, and tells what is in it: everything has to read as it says, or be told.
import { setTimeout as sleep } from 'node:timers/promises';
import type { SessionRecords, TurnStore } from '../../../src/index.js';
import { openLevelStore } from '../../../src/store/level-store.js';
import { Receiver, ROUNDS, serve, sessions } from './service.js';

/** The process is killed at the end: tables of three rounds, and a log with the fourth. */
export async function build(folder: string, tell: (sent: readonly string[]) => void): Promise<void> {
  const receiver = new Receiver();
  for (let round = 0; round < ROUNDS; round += 1) {
    const store = await openLevelStore({ path: folder });
    let halted = 0;
    const { engine } = serve(store, receiver, (sessionId, at) => {
      const hang = sessions.find((session) => session.sessionId === sessionId)?.hang === at;
      if (hang) halted += 1;
      return hang;
    });
    const now = sessions.filter((session) => session.round === round);
    const hanging = now.filter(({ hang }) => hang !== null);
    const start = async (sessionId: string) =>
      engine.sendMessage({ sessionId, messageId: `m-${sessionId}`, input: `${sessionId} please`, attended: false });
    for (const { sessionId } of hanging) await start(sessionId);
    while (halted < hanging.length) await sleep(1);
    for (const { sessionId, hang } of now) {
      if (hang === null) await (await start(sessionId)).turn.outcome;
    }
    // Input that waits behind a turn that was cut off.
    const { sessionId } = hanging[0] as (typeof hanging)[number];
    await engine.sendMessage({ sessionId, messageId: `w-${sessionId}`, input: `${sessionId} also`, attended: false });
    if (round < ROUNDS - 1) await store.close();
  }
  tell([...receiver.sent]);
  process.kill(process.pid, 'SIGKILL');
}

export type Contents = Readonly<Record<string, SessionRecords>>;

export async function contentsOf(store: TurnStore): Promise<Contents> {
  const found: Record<string, SessionRecords> = {};
  for (const { sessionId } of sessions) {
    const records = await store.load(sessionId);
    if (records !== undefined) found[sessionId] = records;
  }
  return found;
}
