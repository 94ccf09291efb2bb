/**
 * Owns the canonical list: what of it has to be written, and that every local call in it has exactly one result.
 * Must not know keys or a database.
 */
import type {
  AssistantMessage,
  Message,
  StoredMessage,
  ToolCallPart,
  ToolMessage,
  ToolOutput,
  ToolResultPart,
} from './messages.js';
import { localCalls } from './messages.js';
import type { TranscriptWrite } from './ports.js';

/**
 * What makes the stored list equal to the canonical one (I3). Messages never change, so the same object is the same
 * message: an unchanged prefix costs a comparison, new messages are appended, anything else is a new epoch.
 *
 * @param known So many messages are known to be the same at the beginning of both: they cost nothing.
 */
export function planTranscript(
  stored: readonly StoredMessage[],
  canonical: readonly StoredMessage[],
  epoch: number,
  known = 0,
): TranscriptWrite | undefined {
  let same = known;
  while (same < stored.length && same < canonical.length && stored[same] === canonical[same]) same += 1;
  if (same < stored.length) return { kind: 'rewrite', epoch: epoch + 1, messages: canonical };
  if (same === canonical.length) return undefined;
  return { kind: 'append', from: same, messages: canonical.slice(same) };
}

const NO_RESULT: ToolOutput = {
  type: 'error-text',
  value: 'This call was interrupted and has no result. It may have taken effect: check before you repeat it.',
};

/**
 * Gives every local tool call in a list exactly one result, in the model's order, right behind its message (I10):
 * whatever stopped a turn, providers refuse anything else. Results without a call and second results go; a call
 * without a result gets one that says so. A list that is in order is returned as it is.
 */
export function repairTranscript(messages: readonly Message[]): readonly Message[] {
  return repair(
    messages,
    (message) => message,
    (message) => message,
  );
}

/** The same for a list with metadata: `store` makes the record of a tool message that repair had to make. */
export function repairStored(
  list: readonly StoredMessage[],
  store: (message: ToolMessage, answered: StoredMessage) => StoredMessage,
): readonly StoredMessage[] {
  return repair(list, (stored) => stored.message, store);
}

type Make<T> = (message: ToolMessage, answered: T) => T;

function repair<T>(list: readonly T[], read: (item: T) => Message, make: Make<T>): readonly T[] {
  const { found, foreign } = assignResults(list.map(read));
  const repaired: T[] = [];
  for (let index = 0; index < list.length; index += 1) {
    const item = list[index] as T;
    const message = read(item);
    if (message.role === 'tool') {
      // Results stand behind their calls already; what else such a message holds stays where it is.
      const others = message.content.filter((part) => part.type !== 'tool-result' || foreign.has(part));
      if (others.length === message.content.length) repaired.push(item);
      else if (others.length > 0) repaired.push(make({ ...message, content: others }, item));
      continue;
    }
    repaired.push(item);
    const calls = localCalls(message);
    if (calls.length === 0) continue;
    const behind = toolMessagesBehind(list, index, read);
    if (answersInOrder(calls, behind.map(read), foreign)) {
      repaired.push(...behind);
      index += behind.length;
    } else {
      const results = calls.map((call, at) => found.get(index)?.[at] ?? resultPart(call, NO_RESULT));
      repaired.push(make({ role: 'tool', content: results }, item));
    }
  }
  return repaired.length === list.length && repaired.every((item, index) => item === list[index]) ? list : repaired;
}

/** Which call each result belongs to. */
interface Assigned {
  /** For each answer, by index: the results of its calls. */
  readonly found: ReadonlyMap<number, readonly (ToolResultPart | undefined)[]>;
  /** Results of calls that the provider ran itself: left alone, wherever they stand. */
  readonly foreign: ReadonlySet<unknown>;
}

/** A result belongs to the nearest answer before it that waits for its id. */
function assignResults(messages: readonly Message[]): Assigned {
  const providers = new Set<string>();
  const foreign = new Set<ToolResultPart>();
  const answers = new Map<number, (ToolResultPart | undefined)[]>();
  const waiting: { readonly id: string; readonly results: (ToolResultPart | undefined)[]; readonly at: number }[] = [];
  messages.forEach((message, index) => {
    const calls = localCalls(message);
    const results: (ToolResultPart | undefined)[] = calls.map(() => undefined);
    if (calls.length > 0) answers.set(index, results);
    // Later answers in front, calls of one answer in their order: equal ids are taken in the model's order.
    waiting.unshift(...calls.map((call, at) => ({ id: call.toolCallId, results, at })));
    if (message.role === 'assistant') {
      for (const part of message.content) if (part.type === 'tool-call') providers.add(part.toolCallId);
      for (const call of calls) providers.delete(call.toolCallId);
    }
    if (message.role !== 'tool') return;
    for (const part of message.content) {
      if (part.type !== 'tool-result') continue;
      const at = waiting.findIndex((call) => call.id === part.toolCallId);
      const call = at === -1 ? undefined : waiting.splice(at, 1)[0];
      if (call !== undefined) call.results[call.at] = part;
      else if (providers.has(part.toolCallId)) foreign.add(part);
    }
  });
  return { found: answers, foreign };
}

function toolMessagesBehind<T>(list: readonly T[], index: number, read: (item: T) => Message): readonly T[] {
  let end = index + 1;
  while (end < list.length && read(list[end] as T).role === 'tool') end += 1;
  return list.slice(index + 1, end);
}

function answersInOrder(
  calls: readonly ToolCallPart[],
  behind: readonly Message[],
  foreign: ReadonlySet<unknown>,
): boolean {
  const ids = behind
    .flatMap((message) => (message.role === 'tool' ? message.content : []))
    .flatMap((part) => (part.type === 'tool-result' && !foreign.has(part) ? [part.toolCallId] : []));
  return ids.length === calls.length && calls.every((call, at) => call.toolCallId === ids[at]);
}

export function resultPart(call: Pick<ToolCallPart, 'toolCallId' | 'toolName'>, output: ToolOutput): ToolResultPart {
  return { type: 'tool-result', toolCallId: call.toolCallId, toolName: call.toolName, output };
}

/** The answer whose calls have no results yet: always the last one that makes calls, or none. */
export function openAnswer(
  list: readonly StoredMessage[],
): (StoredMessage & { readonly message: AssistantMessage }) | undefined {
  const last = list.at(-1);
  if (last === undefined || last.message.role !== 'assistant' || localCalls(last.message).length === 0)
    return undefined;
  return last as StoredMessage & { readonly message: AssistantMessage };
}
