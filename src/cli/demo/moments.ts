/**
 * Owns what a message from a process of the demo means to people: one moment of the timeline, or nothing.
 * Must not know how moments are printed or counted.
 */
import type { TurnEvent, TurnRest } from '../../index.js';
import type { Story } from './story.js';
import type { Decide, FromService, Landed, Reported } from './wire.js';

export interface Moment {
  /** Moments with the same words right behind each other share a line; only the names differ. */
  readonly words: string;
  readonly names: readonly string[];
  /** On disk when it was told. */
  readonly durable: boolean;
  readonly tone: 'good' | 'bad' | 'plain';
}

const moment = (words: string, names: readonly string[] = [], more: Partial<Moment> = {}): Moment => ({
  words,
  names,
  durable: false,
  tone: 'plain',
  ...more,
});

type LabelOf = Story['labelOf'];

export function momentOf(message: FromService, labelOf: LabelOf): Moment | undefined {
  switch (message.type) {
    case 'up':
      return moment('started; opens the store and calls recover()');
    case 'recovered': {
      const { resumed, held, parked, abandoned } = message;
      if (resumed + held + parked + abandoned === 0) return moment('recover(): no turn was interrupted');
      return moment(`recover(): ${resumed} resumed, ${held} held, ${parked} parked, ${abandoned} abandoned`);
    }
    case 'accepted':
      // A fresh message is announced by its own event, when it is durable.
      return message.accepted === 'started' ? undefined : moment(`the same message again: ${message.accepted}`);
    case 'parked': {
      const names = message.approvals.map(({ id, toolName }) => labelOf(id, toolName));
      if (!message.found) return moment('parked: nothing runs until a person decides', [], { durable: true });
      const spent = `${message.attempts} attempts spent`;
      return moment(`found parked, gate "person", ${spent}; it waits for a person:`, names, { tone: 'good' });
    }
    case 'decided':
      // Where it was applied, the event says so.
      return message.result === 'applied' ? undefined : moment(`decideApproval(): ${message.result}`);
    case 'calls':
      return undefined;
    case 'rest':
      return isCompleted(message.rest) ? undefined : moment(describeRest(message.rest), [], { tone: 'bad' });
    case 'event':
      return momentOfEvent(message.event, labelOf);
  }
}

export const momentOfLanding = ({ callId }: Landed, labelOf: LabelOf): Moment =>
  moment('took effect:', [labelOf(callId, 'post')], { durable: true, tone: 'good' });

export const momentOfDecision = ({ id, allow, reason }: Decide, again: boolean, labelOf: LabelOf): Moment =>
  moment(`${again ? 'once more' : 'decides'}: ${allow ? 'yes' : 'no'}, "${reason}":`, [labelOf(id, 'a call')]);

export const isCompleted = (rest: TurnRest): boolean => rest.status === 'completed';

export function describeRest(rest: TurnRest): string {
  const why = 'reason' in rest && rest.reason !== undefined ? `: ${rest.reason}` : '';
  return `the turn came to rest as ${rest.status}${why}`;
}

function momentOfEvent(event: TurnEvent, labelOf: LabelOf): Moment | undefined {
  const { durable } = event;
  switch (event.type) {
    case 'phase':
      return event.phase === 'awaitingLLM' ? moment('model called') : undefined;
    case 'message': {
      const { message, meta } = event;
      if (meta.origin === 'nudge') return undefined; // told as the event `nudge`
      if (message.role === 'user') return moment('input accepted, turn started', [], { durable });
      if (message.role !== 'assistant') return undefined;
      const said = message.content.find((part) => part.type === 'text');
      return moment(`transcript: model "${said?.text ?? ''}"`, [], { durable });
    }
    case 'call':
      return moment(`${event.state}:`, [labelOf(event.callId, event.toolName)], { durable });
    case 'progress':
      return momentOfReport(labelOf(event.callId, 'a call'), event.value as unknown as Reported);
    case 'outcome':
      return moment(`outcome: ${event.outcome.status}`, [], {
        durable,
        tone: isCompleted(event.outcome) ? 'good' : 'bad',
      });
    case 'interrupted_turn_resuming':
    case 'interrupted_turn_resumed':
    case 'interrupted_turn_held':
    case 'interrupted_turn_abandoned':
    case 'interrupted_turn_review_required':
      return moment(`${event.type}, gate "${event.gate}": ${event.reason}`, [], { durable, tone: 'good' });
    case 'approvalRequested':
      return moment('asks a person:', [labelOf(event.approval.id, event.approval.toolName)], { durable });
    case 'approvalDecided': {
      const words = `${event.allow ? 'allowed' : 'refused'} by ${event.by}:`;
      return moment(words, [labelOf(event.approvalId, 'a call')], { durable, tone: 'good' });
    }
    case 'usage':
      return moment('model answered');
    case 'delta':
    case 'deltasDiscarded':
      return undefined;
    default:
      return moment(`${event.type}${'reason' in event ? `: ${event.reason}` : ''}`, [], { durable, tone: 'bad' });
  }
}

function momentOfReport(label: string, reported: Reported): Moment | undefined {
  if ('landed' in reported) return moment('took effect:', [label], { tone: 'good' });
  return moment(`reconcile: ${reported.reconcile}:`, [label], { tone: 'good' });
}
