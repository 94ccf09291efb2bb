/**
 * Owns what only this process knows about calls: the tool, the input in the tool's own form, what applies at dispatch.
 * Must not know the journal or how calls run.
 */
import { OFF_MS } from '../../machines/index.js';
import type { Admission } from '../core/batch.js';
import { messageOf } from '../core/errors.js';
import type { CallRecord } from '../core/records.js';
import { shown } from '../core/shown.js';
import { isTimeout } from '../core/tool-check.js';
import type { ReadCall } from './admission.js';
import { warnOfTool } from './tool-warning.js';

export class KnownCalls {
  private readonly calls = new Map<string, ReadCall>();

  add(calls: readonly ReadCall[]): void {
    for (const call of calls) this.calls.set(call.record.callId, call);
  }

  /** A new batch: every call of the one before is settled, and never starts again. */
  begin(batch: readonly ReadCall[]): void {
    this.calls.clear();
    this.add(batch);
  }

  get(callId: string): ReadCall | undefined {
    return this.calls.get(callId);
  }

  /** A person changed the input; this is its form after the schema. */
  edit(callId: string, input: unknown): void {
    const call = this.calls.get(callId);
    if (call !== undefined) this.calls.set(callId, { ...call, input });
  }

  /** Asked at every dispatch: what was decided while somebody was there counts only while somebody is (I6). */
  admission({ callId }: CallRecord, attended: boolean): Admission {
    const call = this.calls.get(callId);
    if (call === undefined) return { kind: 'refuse', reason: 'This call is not known here.' };
    return call.attended === attended ? call.admission : { kind: 'pending' };
  }

  /** The tool's own time-out where it gives a sensible one, else the limit of the turn. */
  timeoutMs({ callId, toolName }: CallRecord, toolMs: number): number {
    const { tool, input } = this.calls.get(callId) ?? {};
    const { timeoutMs } = tool ?? {};
    if (typeof timeoutMs !== 'function') return Math.min(timeoutMs ?? toolMs, OFF_MS);
    let did: string;
    try {
      const given: unknown = timeoutMs(input);
      if (isTimeout(given)) return Math.min(given, OFF_MS);
      did = `gave ${shown(given)}`;
    } catch (thrown) {
      did = `threw ${shown(messageOf(thrown))}`;
    }
    // A function of the application that fails says nothing about the time: the limit stands.
    warnOfTool(toolName, 'timeoutMs', did, `The limit toolMs counts instead: ${toolMs} ms.`);
    return toolMs;
  }
}
