// The verdict on the end of a schedule: the receiver's own count of effects against what the journal and the model were
// told. The engine has no say in it.

import { sessionOfTurn } from '../../../src/core/ids.js';
import type { CallRecord } from '../../../src/index.js';
import type { Situation } from './life.js';
import type { Outside } from './outside.js';
import { wentUnbegun } from './rules.js';
import type { Scenario } from './scenario.js';
import { type View, viewOf } from './view.js';

export interface Verdict {
  readonly effects: number;
  readonly doubled: number;
  readonly lost: number;
}

const ENDS = ['completed'];

function countBy<T>(list: readonly T[], name: (one: T) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const one of list) counts.set(name(one), (counts.get(name(one)) ?? 0) + 1);
  return counts;
}

const isReceiptOf = ({ state, output, idempotencyKey }: CallRecord): boolean =>
  state === 'succeeded' && JSON.stringify(output).includes(idempotencyKey);

/** What the scenario says how often, and for every key: what the journal says has happened has, and just once. */
function countEffects(scenario: Scenario, view: View, outside: Outside, faults: string[]): Verdict {
  let doubled = 0;
  let lost = 0;
  const keys = countBy(outside.landed, ({ key }) => key);
  const calls = [...view.calls.values()];
  const known = new Set(calls.map(({ idempotencyKey }) => idempotencyKey));
  for (const [key, count] of keys) {
    if (count > 1) {
      doubled += count - 1;
      faults.push(`C5: the effect with key ${key} has landed ${count} times`);
    }
    if (!known.has(key) && scenario.removes !== true) {
      lost += 1;
      faults.push(`C5: the effect with key ${key} has landed, and no call knows of it`);
    }
  }
  for (const call of calls.filter(isReceiptOf)) {
    if (call.effect === 'none' || keys.has(call.idempotencyKey)) continue;
    lost += 1;
    faults.push(`C5: ${call.toolName} is said to have happened and has not`);
  }
  if (scenario.effects !== undefined) {
    const landed = countBy(outside.landed, ({ tool, input }) => `${tool} ${input}`);
    for (const name of new Set([...landed.keys(), ...Object.keys(scenario.effects)])) {
      const [is, wanted] = [landed.get(name) ?? 0, scenario.effects[name] ?? 0];
      if (is > wanted) doubled += is - wanted;
      if (is < wanted) lost += wanted - is;
      if (is !== wanted) faults.push(`C5: ${name} has landed ${is} times, not ${wanted}`);
    }
  }
  return { effects: outside.landed.length, doubled, lost };
}

/** What has to be true of every session that rests. */
function checkRest(scenario: Scenario, view: View, outside: Outside, faults: string[]): void {
  for (const head of view.heads.values()) {
    const { sessionId, turnId, ended, waitingInput, outcomesDue } = head;
    if (turnId !== null && (ended === null || !(scenario.ends ?? ENDS).includes(ended.kind))) {
      faults.push(`${sessionId} ended as ${ended?.kind} (${ended?.reason ?? ''})`);
    }
    if (waitingInput > 0 || outcomesDue.length > 0) faults.push(`I11: ${sessionId} rests, and something waits in it`);
    if (view.checkpoints.has(sessionId) && ended?.kind !== 'abandoned') faults.push(`${sessionId} keeps a checkpoint`);
  }
  const inReview = new Set(view.reviews.map(({ callId }) => callId));
  for (const { callId, state, toolName, effect } of view.calls.values()) {
    // What never started is in nobody's doubt: the call of a turn that was abandoned stays as it was.
    if (effect !== 'external' || !['dispatched', 'inDoubt'].includes(state) || inReview.has(callId)) continue;
    faults.push(`C12: ${toolName} is ${state} in the end, and nobody is asked about it`);
  }
  for (const turnId of view.outcomes.keys()) {
    if (outside.counted(`outcome ${turnId}`) === 0) faults.push(`the outcome of ${turnId} was told to nobody`);
  }
  for (const [messageId, turnId] of outside.turns) {
    const sessions = [...view.messages.values(), ...view.archive.values()];
    const times = sessions.flat().filter(({ meta }) => meta.id === messageId).length;
    if (wentUnbegun(view, sessionOfTurn(turnId) ?? '', messageId) && times === 0) continue;
    if (times !== 1 && scenario.removes !== true) faults.push(`I11: ${messageId} of ${turnId} is there ${times} times`);
  }
}

export function judge(scenario: Scenario, { image, outside }: Situation, faults: string[]): Verdict {
  const view = viewOf(image);
  const verdict = countEffects(scenario, view, outside, faults);
  checkRest(scenario, view, outside, faults);
  faults.push(...(scenario.judge?.(view, outside) ?? []));
  return verdict;
}
