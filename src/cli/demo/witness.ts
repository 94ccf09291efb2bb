/**
 * Owns what the director has seen of one turn, across all its processes: the calls with their times, the model's
 * times, the effects, the kills. Must not know how it is shown, and must not judge: the verdict asks the world.
 */
import type { TurnEvent } from '../../index.js';
import type { Story } from './story.js';
import type { FromService, Landed, Reported } from './wire.js';

/** A stretch of time, running in one process or waiting for a person over several; `cut` by a kill. `to` is null while it lasts. */
export interface Span {
  readonly from: number;
  to: number | null;
  cut: boolean;
  readonly waits: boolean;
}

export interface SeenCall {
  readonly label: string;
  readonly spans: Span[];
  readonly landed: number[];
  readonly asked: number[];
  /** As it was told last. */
  state: string;
}

export interface CutOff {
  readonly modelRan: boolean;
  /** Waiting for a person, which a kill does not change. */
  readonly waiting: readonly string[];
  /** Dispatched and not recorded as settled, by whether their effect is out there already. */
  readonly landed: readonly string[];
  readonly notLanded: readonly string[];
  /** Cut off by an earlier kill, and nobody has found out what became of them. */
  readonly inDoubt: readonly string[];
}

export class Witness {
  readonly calls = new Map<string, SeenCall>();
  readonly model: SeenCall = { label: 'model', spans: [], landed: [], asked: [], state: '' };
  readonly kills: number[] = [];
  readonly starts: number[] = [];
  phase = '';
  private readonly labelOf: Story['labelOf'];

  constructor({ labelOf }: Pick<Story, 'labelOf'>) {
    this.labelOf = labelOf;
  }

  /** `at`: ms on the director's clock. Whether it is news: a note of a call tells the state of the call once more. */
  hear(message: FromService, at: number): boolean {
    if (message.type === 'up') this.starts.push(at);
    if (message.type === 'parked' && message.found) {
      this.phase = 'awaitingApproval';
      for (const { id, toolName } of message.approvals) this.wait(this.call(id, toolName), at);
    }
    return message.type !== 'event' || this.hearEvent(message.event, at);
  }

  land({ callId }: Landed, at: number): void {
    this.call(callId, 'post').landed.push(at);
  }

  kill(at: number): CutOff {
    this.kills.push(at);
    const modelRan = close(this.model, at, true);
    const inDoubt = [...this.calls.values()].filter(({ state }) => state === 'inDoubt');
    const waiting = [...this.calls.values()].filter(waits);
    const open = [...this.calls.values()].filter((call) => !waits(call) && close(call, at, true));
    for (const call of open) call.state = 'cut off';
    this.phase = '';
    return {
      modelRan,
      waiting: waiting.map(({ label }) => label),
      landed: open.filter((call) => call.landed.length > 0).map(({ label }) => label),
      notLanded: open.filter((call) => call.landed.length === 0).map(({ label }) => label),
      inDoubt: inDoubt.map(({ label }) => label),
    };
  }

  private hearEvent(event: TurnEvent, at: number): boolean {
    if (event.type === 'phase') {
      this.phase = event.phase;
      if (event.phase === 'awaitingLLM') open(this.model, at);
      else close(this.model, at, false);
    } else if (event.type === 'call') {
      const call = this.call(event.callId, event.toolName);
      const known = call.state === event.state;
      call.state = event.state;
      if (known) return false;
      if (event.state === 'dispatched') open(call, at);
      else close(call, at, false);
    } else if (event.type === 'approvalRequested') {
      this.wait(this.call(event.approval.id, event.approval.toolName), at);
    } else if (event.type === 'progress') {
      const call = this.call(event.callId, 'call');
      const reported = event.value as unknown as Reported;
      if ('landed' in reported) call.landed.push(at);
      else call.asked.push(at);
    }
    return true;
  }

  /** Over restarts: one stretch. */
  private wait(call: SeenCall, at: number): void {
    if (!waits(call)) open(call, at, true);
  }

  private call(callId: string, toolName: string): SeenCall {
    const known = this.calls.get(callId);
    if (known !== undefined) return known;
    const made: SeenCall = { label: this.labelOf(callId, toolName), spans: [], landed: [], asked: [], state: '' };
    this.calls.set(callId, made);
    return made;
  }
}

function open(call: SeenCall, at: number, waits = false): void {
  close(call, at, false);
  call.spans.push({ from: at, to: null, cut: false, waits });
}

const waits = ({ spans }: SeenCall): boolean => spans.at(-1)?.to === null && spans.at(-1)?.waits === true;

/** Whether it was open. */
function close(call: SeenCall, at: number, cut: boolean): boolean {
  const span = call.spans.at(-1);
  if (span === undefined || span.to !== null) return false;
  span.to = at;
  span.cut = cut;
  return true;
}
