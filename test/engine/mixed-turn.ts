// One turn with everything in it that a crash can hurt, and a receiver that counts what really happened.
import type { Json, Tool, ToolSet, TurnEngine } from '../../src/index.js';
import { calm } from './waiting.js';
import { act, calls, look, type World } from './world.js';

/** The world outside: it keeps what landed under which key, as a payment service does. */
export class Receiver {
  readonly landed: string[] = [];
  private readonly byKey = new Map<string, string>();

  take(what: string, key: string): string {
    const before = this.byKey.get(key);
    if (before !== undefined) return before;
    this.landed.push(what);
    this.byKey.set(key, `${what} is done`);
    return `${what} is done`;
  }

  find(key: string): string | undefined {
    return this.byKey.get(key);
  }
}

/** `mail` has an effect that a receiver could not undo: here it is asked; `file` may be repeated with its key. */
export function mixedTools(receiver: Receiver): ToolSet {
  const mail: Tool<Json> = act((input, call) => receiver.take(`mail ${JSON.stringify(input)}`, call.idempotencyKey), {
    reconcile: async (call) => {
      const found = receiver.find(call.idempotencyKey);
      return found === undefined ? { outcome: 'notStarted' } : { outcome: 'succeeded', output: found };
    },
  });
  const file = act((input, call) => receiver.take(`file ${JSON.stringify(input)}`, call.idempotencyKey), {
    effect: 'idempotent',
  });
  return { mail, file, read: look(() => 'read') };
}

/** What the model says is decided by what it was shown, so that a killed process makes no difference. */
export const mixedScript = (request: { readonly messages: readonly { readonly role: string }[] }) => {
  const answered = request.messages.filter(({ role }) => role === 'assistant').length;
  if (answered === 0) return calls('read');
  if (answered === 1) return calls(['mail', { to: 'a' }], 'read', ['file', { n: 1 }], ['mail', { to: 'a' }]);
  if (answered === 2) return calls(['file', { n: 1 }], ['mail', { to: 'b' }]);
  return 'all is done';
};

export const EFFECTS = ['file {"n":1}', 'file {"n":1}', 'mail {"to":"a"}', 'mail {"to":"a"}', 'mail {"to":"b"}'];

/** Goes on until the session is at rest, moving the clock where a commit is tried again. */
export async function toRest(world: World, sessionId = 's', ms = 1_000): Promise<void> {
  for (let round = 0; round < 40; round += 1) {
    await calm(10);
    const head = await world.store.head(sessionId);
    if (head !== undefined && !head.inProgress && head.waitingInput === 0) return;
    await world.clock.advance(ms);
  }
  throw new Error(`session ${sessionId} never comes to rest`);
}

/** The next process, in which nothing goes wrong. */
export async function bootAndRecover(world: World, receiver: Receiver): Promise<TurnEngine> {
  const engine = world.boot({
    tools: mixedTools(receiver),
    recovery: { attemptsWithoutProgress: 100, recoveries: 100 },
  });
  await engine.recover();
  return engine;
}
