/**
 * Owns the tool that posts to the receiver: an effect that cannot be taken back, in a place that does not notice
 * doubles. Must not rely on luck: every answer its `reconcile` gives is one that stays true.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { OutcomeUnknown, type ToolContext, tool } from '../../index.js';
import { report, texts } from './tool-parts.js';
import type { ReceiverAddress } from './wire.js';

/** The receiver refuses what arrives later than this after it was noted. */
const WINDOW_MS = 600;
/** How long each post is on its way, in turn: a kill finds some that arrived and some that did not. */
const DISTANCES_MS = [20, 30, 60, 260, 40];
/** "Too late" means that nothing happened, so the tool may try again by itself. */
const TRIES = 10;

interface Note {
  readonly notAfter: number;
}

export function postTool({ url, token }: ReceiverAddress) {
  const authorization = `Bearer ${token}`;
  let posts = 0;

  /** undefined: it came too late, and nothing happened. */
  const send = async (body: object, notAfter: number, call: ToolContext): Promise<string | undefined> => {
    const headers = { authorization, 'idempotency-key': call.idempotencyKey, 'x-not-after': String(notAfter) };
    try {
      const request = { method: 'POST', headers, body: JSON.stringify(body), signal: call.signal };
      const response = await fetch(`${url}/effects`, request);
      if (response.status === 410) return undefined;
      if (response.status !== 201) throw new Error(`the receiver answered ${response.status}`);
      return ((await response.json()) as { receipt: string }).receipt;
    } catch (error) {
      throw new OutcomeUnknown('the post was sent, and its answer did not come', { cause: error });
    }
  };

  const find = async (key: string, signal: AbortSignal): Promise<string | undefined> => {
    const response = await fetch(`${url}/effects/${encodeURIComponent(key)}`, { headers: { authorization }, signal });
    if (response.status === 404) return undefined;
    if (response.status !== 200) throw new Error(`the receiver answered ${response.status}`);
    return ((await response.json()) as { receipt: string }).receipt;
  };

  return tool({
    description: 'Posts a text to a place outside.',
    input: texts('to', 'text'),
    effect: 'external',
    async execute(input, call) {
      for (let tried = 0; tried < TRIES; tried += 1) {
        const notAfter = Date.now() + WINDOW_MS;
        // Durable before anything is sent: who finds no note knows that nothing was.
        await call.note({ notAfter });
        await pause(DISTANCES_MS[posts++ % DISTANCES_MS.length]);
        const receipt = await send({ ...input, callId: call.callId }, notAfter, call);
        if (receipt !== undefined) return { receipt };
      }
      throw new Error('the receiver could not be reached in time');
    },
    async reconcile({ idempotencyKey, notes }, call) {
      const settle = (answer: string, receipt?: string) => {
        report(call, { reconcile: answer });
        return receipt === undefined
          ? ({ outcome: 'notStarted' } as const)
          : ({ outcome: 'succeeded', output: { receipt } } as const);
      };
      const note = notes.at(-1) as Note | undefined;
      if (note === undefined) return settle('no note, so nothing was sent');
      let receipt = await find(idempotencyKey, call.signal);
      if (receipt === undefined) {
        // A post of the process that died may still arrive. After this moment the receiver refuses it.
        await pause(Math.max(0, note.notAfter - Date.now() + 1), undefined, { signal: call.signal });
        receipt = await find(idempotencyKey, call.signal);
      }
      return settle(receipt === undefined ? 'the receiver does not have its key' : 'the receiver has its key', receipt);
    },
  });
}
