// The agent: tools with their effects, and a stand-in for your provider that needs no network. What a message asks for
// it says itself: `/send 3`, `/publish`, `/talk 20`, `/hang`, `/crash`.
import { setTimeout as sleep } from 'node:timers/promises';
import { jsonSchema, type Message, type Model, type ModelAnswer, type ToolSet, tool } from 'durable-turn';
import type { Outbox } from './outbox.js';

const PACE_MS = Number(process.env.PACE_MS ?? 30);

export function makeTools(outbox: Outbox): ToolSet {
  const text = jsonSchema<{ text: string }>({
    type: 'object',
    properties: { text: { type: 'string' } },
    required: ['text'],
  });
  /** Something that must not happen twice, and a world that can be asked whether it happened. */
  const external = (name: string, description: string, approval: 'never' | 'required') =>
    tool({
      description,
      input: text,
      effect: 'external',
      approval,
      unattended: 'park', // an answer may come after a restart
      async execute({ text: what }, { idempotencyKey: key, sessionId, signal }) {
        await sleep(PACE_MS, undefined, { signal });
        outbox.write({ key, tool: name, sessionId, what });
        await sleep(PACE_MS, undefined, { signal }).catch(() => undefined);
        return `done: ${what}`;
      },
      async reconcile({ idempotencyKey }) {
        const what = outbox.find(idempotencyKey);
        return what === undefined ? { outcome: 'notStarted' } : { outcome: 'succeeded', output: `done: ${what}` };
      },
    });
  return {
    send: external('send', 'Sends a message.', 'never'),
    publish: external('publish', 'Publishes something.', 'required'),
    look: tool({ description: 'Looks something up.', input: text, effect: 'none', execute: ({ text: what }) => what }),
  };
}

type Call = readonly [tool: string, text: string];
type Answer = { say: string; calls?: readonly Call[]; ends?: 'hang' | 'crash' };

/** What a provider would make of the list: the nth answer to the last command in it. */
function answerTo(messages: readonly Message[]): Answer {
  const at = messages.findLastIndex((message) => message.role === 'user' && textOf(message).startsWith('/'));
  const [command, given] = textOf(messages[at]).split(' ');
  const count = Number(given ?? 1);
  const done = messages.slice(at + 1).filter(({ role }) => role === 'assistant').length;
  const last = messages.at(-1);
  const refused = last?.role === 'tool' && last.content.some((part) => 'output' in part && part.output.type !== 'text');
  if (command === '/hang') return { say: 'I am thinking about it.', ends: 'hang' };
  if (command === '/crash') return { say: 'Here I go.', ends: 'crash' };
  if (command === '/publish' && done === 0)
    return { say: 'I would like to publish.', calls: [['publish', 'the news']] };
  if (command === '/publish') return { say: refused ? 'I did not publish.' : 'Published.' };
  if (command === '/send' && done < count) {
    return {
      say: `Sending number ${done + 1}.`,
      calls: [
        ['look', 'address'],
        ['send', `number ${done + 1}`],
      ],
    };
  }
  if (command === '/send') return { say: `All ${count} were sent.` };
  return { say: Array.from({ length: command === '/talk' ? count : 5 }, (_, n) => `word${n}`).join(' ') };
}

function textOf(message: Message | undefined): string {
  const part = message?.role === 'user' ? message.content[0] : undefined;
  return part?.type === 'text' ? part.text : '';
}

export const model: Model = {
  id: 'stand-in',
  async call({ messages }, { emit, signal }): Promise<ModelAnswer> {
    const { say, calls = [], ends } = answerTo(messages);
    for (const piece of say.split(/(?<= )/)) {
      await sleep(PACE_MS, undefined, { signal });
      emit({ type: 'text', id: 'answer', text: piece });
    }
    if (ends === 'crash') process.kill(process.pid, 'SIGKILL');
    if (ends !== undefined) await sleep(3_600_000, undefined, { signal });
    const asked = calls.map(([toolName, text], index) => ({ toolName, toolCallId: `call_${index}`, input: { text } }));
    return {
      content: [{ type: 'text', text: say }, ...asked.map((call) => ({ type: 'tool-call' as const, ...call }))],
      finish: { reason: calls.length > 0 ? 'tool-calls' : 'stop' },
      usage: { input: {}, output: {} },
    };
  },
};
