// The tools of the scenarios. What they do to the world is told to the receiver, with a moment before and one behind.
import {
  type CallInDoubt,
  type Json,
  jsonSchema,
  type Settlement,
  type Tool,
  type ToolContext,
} from '../../../src/index.js';
import { never } from '../../../src/testing/mortal-store.js';
import { type Life, named } from './life.js';

export const anything = jsonSchema<Json>({ type: 'object' });
type More = Partial<Tool<Json>>;

const effectOf = (tool: string, input: Json, call: { readonly idempotencyKey: string }) => ({
  tool,
  input: named(input),
  key: call.idempotencyKey,
});

const receipt = (key: string): Json => ({ receipt: key });

/** The effect itself, with the moments around it. */
export async function land(life: Life, tool: string, input: Json, call: ToolContext, takesKeys = false): Promise<Json> {
  await life.at(`before the effect of ${tool}`);
  // A tool that is told to stop before it did anything says so by failing; its effect never comes later.
  if (call.signal.aborted) throw call.signal.reason;
  life.outside.land(effectOf(tool, input, call), takesKeys);
  await life.at(`after the effect of ${tool}`);
  return receipt(call.idempotencyKey);
}

function affect(life: Life, tool: string, input: Json, call: ToolContext, takesKeys: boolean): Promise<Json> {
  life.checks.checkStart(tool, call);
  return land(life, tool, input, call, takesKeys);
}

/** Nothing but the receiver is asked. */
export function whatReceiverSays(life: Life, key: string): Settlement {
  if (life.outside.has(key)) return { outcome: 'succeeded', output: receipt(key) };
  life.outside.begun.delete(key);
  return { outcome: 'notStarted' };
}

async function ask(life: Life, tool: string, { idempotencyKey }: CallInDoubt, call: ToolContext): Promise<Settlement> {
  if (life.store.dead) return never();
  life.checks.checkForeign(call.sessionId, call.turnId, `reconcile of ${tool}`);
  await life.at(`${tool} is reconciled`);
  return whatReceiverSays(life, idempotencyKey);
}

/** An external effect that can be asked about. */
export const external = (life: Life, tool: string, more: More = {}): Tool<Json> => ({
  description: tool,
  input: anything,
  effect: 'external',
  execute: (input, call) => affect(life, tool, input, call, false),
  reconcile: (doubt, call) => ask(life, tool, doubt, call),
  ...more,
});

/** An external effect that only a person can tell about. */
export function mute(life: Life, tool: string, more: More = {}): Tool<Json> {
  const { reconcile: _asked, ...rest } = external(life, tool, more);
  return rest;
}

/** An external call that takes time before its effect and behind it. */
export const slow = (life: Life, tool: string, more: More = {}): Tool<Json> =>
  external(life, tool, {
    async execute(input, call) {
      life.checks.checkStart(tool, call);
      await life.pause(500);
      const output = await land(life, tool, input, call);
      await life.pause(500);
      return output;
    },
    ...more,
  });

/** A request that lands five seconds after it was sent, whether its sender lives or not. */
export const distant = (life: Life, tool: string): Tool<Json> =>
  external(life, tool, {
    reconcileAfterMs: 10_000,
    async execute(input, call) {
      life.checks.checkStart(tool, call);
      await life.at(`${tool} is sent`);
      life.outside.send(effectOf(tool, input, call), 5_000);
      await life.at(`${tool} is on its way`);
      await life.pause(6_000);
      return receipt(call.idempotencyKey);
    },
  });

/** The receiver takes the key, and does nothing the second time. */
export const put = (life: Life, tool: string, more: More = {}): Tool<Json> => ({
  description: tool,
  input: anything,
  effect: 'idempotent',
  execute: (input, call) => affect(life, tool, input, call, true),
  ...more,
});

export const read = (life: Life, tool: string, more: More = {}): Tool<Json> => ({
  description: tool,
  input: anything,
  effect: 'none',
  async execute(_input, call) {
    if (life.store.dead) return never();
    life.checks.checkForeign(call.sessionId, call.turnId, tool);
    return 'read';
  },
  ...more,
});
