/**
 * Owns the journal of one turn: the records of its calls, the steps they may take, their idempotency keys.
 * Must not know tools, storage or the machine of the turn. The legal steps are those of call.machine.ts (I15).
 */
import { hash } from 'node:crypto';
import { type CallEvent, callMachine, type Effect, LOOP_WINDOW } from '../../machines/index.js';
import { canonicalJson, type Json } from './json.js';
import type { CallRecord, CallState, DoubtCause } from './records.js';

const isRepeatable = (effect: Effect): boolean => effect !== 'external';

/** The steps of the chart, read once: state and event lead to a state, some only for calls that are repeatable. */
const STEPS: ReadonlyMap<string, { readonly to: CallState; readonly guarded: boolean }> = readSteps();

function readSteps(): Map<string, { to: CallState; guarded: boolean }> {
  const steps = new Map<string, { to: CallState; guarded: boolean }>();
  for (const [name, state] of Object.entries(callMachine.config.states ?? {})) {
    for (const [event, transition] of Object.entries(state.on ?? {})) {
      const { target, guard } = transition as { target: string; guard?: string };
      steps.set(`${name} ${event}`, { to: target as CallState, guarded: guard === 'repeatable' });
    }
  }
  return steps;
}

/** undefined where the chart has no such step. */
export function nextCallState(state: CallState, event: CallEvent['type'], effect: Effect): CallState | undefined {
  const step = STEPS.get(`${state} ${event}`);
  return step === undefined || (step.guarded && !isRepeatable(effect)) ? undefined : step.to;
}

/** What runs: the model's input, or what a person made of it (`null` is an input too). */
export const inputOf = ({ input, editedInput }: Pick<CallRecord, 'input' | 'editedInput'>): Json =>
  editedInput === undefined ? input : editedInput;

export const isSettled = (call: CallRecord): boolean => call.state === 'succeeded' || call.state === 'failed';

/** What makes two calls of a turn identical: the tool and the input as the model gave it. */
export const identityOf = (toolName: string, input: Json): string => `${toolName}\n${canonicalJson(input)}`;

export const keyOf = (turnId: string, identity: string, ordinal: number): string =>
  hash('sha256', `${turnId}\n${ordinal}\n${identity}`, 'base64url');

/**
 * The lowest ordinal among the identical calls of the turn whose success the model was not shown, each taken at most
 * once per batch; a new one where there is none. So a call asked again after a doubt keeps its key and does not pay
 * twice, and two identical calls of one batch do not share one. A definitive failure uses its ordinal up as a success
 * does: receivers remember failures by key too.
 */
export function takeOrdinal(identical: readonly CallRecord[], taken: ReadonlySet<number>): number {
  const usedUp = new Set<number>();
  for (const call of identical) if (call.state === 'succeeded' || call.definitive) usedUp.add(call.ordinal);
  let ordinal = 0;
  while (usedUp.has(ordinal) || taken.has(ordinal)) ordinal += 1;
  return ordinal;
}

/** The calls of a turn, oldest first. */
interface Calls {
  readonly length: number;
  readonly at: (nth: number) => CallRecord;
}

/**
 * How many of them nobody asks for the output of any more: they are settled, not of the newest answer, and behind what
 * the loop detector looks at. A turn of a thousand calls must not take the memory of a thousand outputs.
 *
 * @param known So many were told before.
 */
export function countOutdated({ length, at }: Calls, known: number): number {
  let count = known;
  for (; length - count > LOOP_WINDOW; count += 1) {
    const call = at(count);
    if (!isSettled(call) || call.messageId === at(length - 1).messageId) break;
  }
  return count;
}

/** Its output is on disk: with the call, or in the message that showed it to the model. */
export const withoutOutput = (call: CallRecord): CallRecord => ({ ...call, output: null });

/** What a step of the call's life adds to its record. */
export type CallChange = Partial<
  Pick<
    CallRecord,
    'approval' | 'doubt' | 'definitive' | 'notes' | 'output' | 'editedInput' | 'dispatchedAt' | 'settledAt'
  >
>;

export interface JournalCounts {
  readonly dispatched: number;
  readonly settled: number;
}

export class Journal {
  private readonly records = new Map<string, CallRecord>();
  /** By identity; ordinals are counted from all calls of the turn, not from settled ones only. */
  private readonly identical = new Map<string, string[]>();
  private readonly batches = new Map<string, string[]>();
  private readonly order: string[] = [];
  /** As they are on disk. */
  private readonly stored = new Map<string, CallRecord>();
  /** What a checkpoint has to write: of calls on disk, and of those no checkpoint has named yet. */
  private readonly changed = { onDisk: new Set<string>(), elsewhere: new Set<string>() };
  private storedCounts: JournalCounts = { dispatched: 0, settled: 0 };
  /** The outputs of so many of the first calls are on disk only. */
  private outdated = 0;

  constructor(stored: readonly CallRecord[]) {
    this.storedCounts = this.countsWith(stored);
    for (const call of stored) {
      this.keep(call);
      this.stored.set(call.callId, call);
    }
    this.forgetOutputs();
  }

  get(callId: string): CallRecord | undefined {
    return this.records.get(callId);
  }

  /** The calls of one answer, in the model's order. */
  batch(messageId: string): readonly CallRecord[] {
    const ids = this.batches.get(messageId) ?? [];
    return ids.map((id) => this.records.get(id) as CallRecord);
  }

  /** The last calls of the turn, oldest first. */
  recent(count: number): readonly CallRecord[] {
    return this.order.slice(-count).map((id) => this.records.get(id) as CallRecord);
  }

  all(): Iterable<CallRecord> {
    return this.records.values();
  }

  /** On disk, in this or an earlier state. */
  isStored(callId: string): boolean {
    return this.stored.has(callId);
  }

  /** As it is on disk. */
  storedAs(callId: string): CallRecord | undefined {
    return this.stored.get(callId);
  }

  identicalTo(identity: string): readonly CallRecord[] {
    const ids = this.identical.get(identity) ?? [];
    return ids.map((id) => this.records.get(id) as CallRecord);
  }

  add(call: CallRecord): void {
    this.keep(call);
    this.note(call.callId);
  }

  /**
   * One step of a call's life. The driver only asks for steps it found possible, so an illegal one is a defect here.
   * @throws {Error} when the chart has no such step.
   */
  advance(callId: string, event: CallEvent['type'], change: CallChange): CallRecord {
    const call = this.records.get(callId);
    if (call === undefined) throw new Error(`no call ${callId} in the journal`);
    const state = nextCallState(call.state, event, call.effect);
    if (state === undefined) throw new Error(`${callId} is ${call.state}; ${event} is no step of its life`);
    const dispatch = event === 'call.dispatched' ? call.dispatch + 1 : call.dispatch;
    return this.replace(Object.assign({ ...call }, change, { state, dispatch }));
  }

  /**
   * Changes what a record says without a step of its life: notes, approvals. One whose output is on disk only stays as
   * it is there: it would be overwritten.
   */
  amend(callId: string, change: CallChange): CallRecord {
    const call = this.records.get(callId);
    if (call === undefined) throw new Error(`no call ${callId} in the journal`);
    if (isSettled(call) && call.output === null) return call;
    return this.replace(Object.assign({ ...call }, change));
  }

  /** A process died: what it had handed to tools is in doubt, whatever it was doing. */
  loseDispatched(cause: DoubtCause): readonly CallRecord[] {
    const lost = [...this.records.values()].filter((call) => call.state === 'dispatched');
    return lost.map((call) => this.advance(call.callId, 'call.lost', { doubt: cause }));
  }

  /** The counts the head carries once these records are written; a mismatch with what is found is damage. */
  countsWith(written: readonly CallRecord[]): JournalCounts {
    let { dispatched, settled } = this.storedCounts;
    for (const call of written) {
      const before = this.stored.get(call.callId);
      dispatched += Number(call.dispatch > 0) - Number(before !== undefined && before.dispatch > 0);
      settled += Number(isSettled(call)) - Number(before !== undefined && isSettled(before));
    }
    return { dispatched, settled };
  }

  /** Changes of calls that are on disk already: an outcome is durable as it arrives. */
  changedStored(): readonly CallRecord[] {
    return Array.from(this.changed.onDisk, (id) => this.records.get(id) as CallRecord);
  }

  /** Everything a checkpoint writes. */
  changedAll(): readonly CallRecord[] {
    const { onDisk, elsewhere } = this.changed;
    return Array.from([...onDisk, ...elsewhere], (id) => this.records.get(id) as CallRecord);
  }

  /** Called when the commit that holds these records is durable; gives those whose life took a step by it. */
  written(calls: readonly CallRecord[]): readonly CallRecord[] {
    this.storedCounts = this.countsWith(calls);
    const stepped: CallRecord[] = [];
    for (const call of calls) {
      const before = this.stored.get(call.callId);
      if (before?.state !== call.state || before.dispatch !== call.dispatch) stepped.push(call);
      this.stored.set(call.callId, call);
      for (const ids of Object.values(this.changed)) ids.delete(call.callId);
      if (this.records.get(call.callId) !== call) this.note(call.callId);
    }
    this.forgetOutputs();
    return stepped;
  }

  /** Only what is on disk as it is here; what changed since is looked at again behind its commit. */
  private forgetOutputs(): void {
    const at = (nth: number): CallRecord => this.records.get(this.order[nth] as string) as CallRecord;
    const end = countOutdated({ length: this.order.length, at }, this.outdated);
    for (; this.outdated < end; this.outdated += 1) {
      const call = at(this.outdated);
      if (this.stored.get(call.callId) !== call) return;
      const rest = withoutOutput(call);
      this.records.set(call.callId, rest);
      this.stored.set(call.callId, rest);
    }
  }

  private keep(call: CallRecord): void {
    this.records.set(call.callId, call);
    this.order.push(call.callId);
    push(this.identical, identityOf(call.toolName, call.input), call.callId);
    push(this.batches, call.messageId, call.callId);
  }

  private replace(call: CallRecord): CallRecord {
    this.records.set(call.callId, call);
    this.note(call.callId);
    return call;
  }

  private note(callId: string): void {
    if (this.stored.has(callId)) this.changed.onDisk.add(callId);
    else this.changed.elsewhere.add(callId);
  }
}

function push(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
