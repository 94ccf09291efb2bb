// What is left of a place when its last process has finished: the receiver's file against the transcripts.
import type { StoredMessage } from '../../../src/index.js';
import type { Service } from '../package.js';
import type { Place } from '../processes.js';
import { type WitnessLine, witnessed } from '../witness.js';

export const SESSIONS = ['left', 'right'];

/** Effects of one message of the traffic script; the receiver of `put` takes keys. */
const EFFECTS_OF_A_TURN: Readonly<Record<string, number>> = { put: 1, mail: 2, charge: 3 };
const ONE_TURN = ['user', 'assistant', 'tool', 'assistant', 'tool', 'assistant'];

export interface Count {
  readonly turns: number;
  readonly effects: number;
  readonly doubled: number;
  readonly lost: number;
  readonly faults: readonly string[];
}

/** Ids of the messages of a session that were acknowledged. */
export const sentTo = (place: Place, session: string): readonly string[] => [
  ...new Set(
    witnessed(place, 'accepted').flatMap(({ messageId = '' }) =>
      messageId.startsWith(`${session} `) ? [messageId] : [],
    ),
  ),
];

function receiptsOf(messages: readonly StoredMessage[], tool: string): readonly string[] {
  return messages.flatMap(({ message }) =>
    message.role !== 'tool'
      ? []
      : message.content.flatMap((part) => {
          if (part.type !== 'tool-result' || part.toolName !== tool || part.output.type !== 'json') return [];
          return [(part.output.value as { readonly receipt: string }).receipt];
        }),
  );
}

function countSession(
  place: Place,
  session: string,
  messages: readonly StoredMessage[],
  lines: readonly WitnessLine[],
): Count {
  const faults: string[] = [];
  const inputs = messages.filter(({ meta }) => meta.origin === 'input').map(({ meta }) => meta.id);
  let lost = sentTo(place, session).filter((id) => !inputs.includes(id)).length;
  if (new Set(inputs).size !== inputs.length) faults.push(`I11: an input is twice in ${session}`);
  const roles = messages.map(({ message }) => message.role);
  if (roles.join() !== inputs.flatMap(() => ONE_TURN).join()) faults.push(`I3: ${session} is not whole: ${roles}`);
  let doubled = 0;
  let effects = 0;
  for (const [tool, each] of Object.entries(EFFECTS_OF_A_TURN)) {
    const keys = lines.filter((line) => line.session === session && line.tool === tool).map(({ key }) => key as string);
    const landed = tool === 'put' ? [...new Set(keys)] : keys;
    const receipts = receiptsOf(messages, tool);
    effects += landed.length;
    doubled += Math.max(0, landed.length - each * inputs.length);
    lost += Math.max(0, each * inputs.length - landed.length);
    if ([...landed].sort().join() !== [...receipts].sort().join()) {
      faults.push(`C5: ${tool} in ${session}: what has landed and what the model was told differ`);
    }
  }
  return { turns: inputs.length, effects, doubled, lost, faults };
}

export async function countPlace(service: Service, place: Place): Promise<Count> {
  const store = await service.level.openLevelStore({ path: place.store });
  try {
    const lines = witnessed(place, 'effect');
    const counts: Count[] = [];
    for (const session of SESSIONS) counts.push(countSession(place, session, await store.messages(session), lines));
    const open = (await store.markers('crash')).length + (await store.reviews('crash')).length;
    const sum = (of: (count: Count) => number): number => counts.reduce((total, count) => total + of(count), 0);
    return {
      turns: sum(({ turns }) => turns),
      effects: sum(({ effects }) => effects),
      doubled: sum(({ doubled }) => doubled),
      lost: sum(({ lost }) => lost),
      faults: [...counts.flatMap(({ faults }) => faults), ...(open > 0 ? [`I2: ${open} things are still open`] : [])],
    };
  } finally {
    await store.close();
  }
}
