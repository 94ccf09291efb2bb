/**
 * Owns what leaves the engine of an event once the application's `redact` has seen it. What is stored is not touched.
 * Must not know who listens.
 */
import type { EventBody, SessionView } from '../core/events.js';
import type { Json } from '../core/json.js';
import type { StoredMessage } from '../core/messages.js';
import type { Settings } from './options.js';

type Redact = NonNullable<Settings['redact']>;

/** A redaction that throws must not let through what it was to hide. */
const HIDDEN = '[not shown: redact failed]';

export function redactEvent(redact: Redact, event: EventBody): EventBody {
  const hide = <T>(value: T, tool?: string): T => {
    try {
      const where = tool === undefined ? { event: event.type } : { event: event.type, tool };
      // A copy: a redaction that works in place must not reach what is stored, run or read by the model.
      return redact(structuredClone(value) as Json, where) as T;
    } catch {
      return HIDDEN as T;
    }
  };
  switch (event.type) {
    case 'message':
      return { ...event, message: hide(event.message) };
    case 'delta':
      return { ...event, delta: { ...event.delta, text: hide(event.delta.text) } };
    case 'progress':
      return { ...event, value: hide(event.value) };
    case 'approvalRequested': {
      const { approval } = event;
      return { ...event, approval: { ...approval, input: hide(approval.input, approval.toolName) } };
    }
    case 'reviewRequested': {
      const { review } = event;
      const { input, notes, toolName } = review;
      return { ...event, review: { ...review, input: hide(input, toolName), notes: hide(notes, toolName) } };
    }
    case 'outcome': {
      const { answer, reason, ...outcome } = event.outcome;
      const shown = {
        ...outcome,
        text: hide(outcome.text),
        ...(reason === undefined ? {} : { reason: hide(reason) }),
        ...(answer === undefined ? {} : { answer: hide(answer) }),
      };
      return { ...event, outcome: shown };
    }
    default:
      // Reasons carry what others said: errors of models, tools and stores, words of people.
      return 'reason' in event ? { ...event, reason: hide(event.reason) } : event;
  }
}

const shownBy =
  (redact: Redact) =>
  <E extends EventBody>(event: E): E =>
    redactEvent(redact, event) as E;

export function redactMessages(redact: Redact, list: readonly StoredMessage[]): readonly StoredMessage[] {
  const shown = shownBy(redact);
  return list.map(({ message, meta }) => ({ message: shown({ type: 'message', message, meta }).message, meta }));
}

/** A view shows of each thing what the event shows that tells it. */
export function redactView(redact: Redact, view: SessionView): SessionView {
  const shown = shownBy(redact);
  const { messages, partial, approvals, reviews, outcome } = view;
  return {
    ...view,
    messages: redactMessages(redact, messages),
    partial: partial.map(({ messageId, delta }) => ({
      messageId,
      delta: shown({ type: 'delta', messageId, delta }).delta,
    })),
    approvals: approvals.map((approval) => shown({ type: 'approvalRequested', approval }).approval),
    reviews: reviews.map((review) => shown({ type: 'reviewRequested', review }).review),
    outcome: outcome === null ? null : shown({ type: 'outcome', outcome }).outcome,
  };
}
