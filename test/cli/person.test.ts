// The person of the demo must not lose a decision to a kill, nor decide before a restart has found the turn parked.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Person } from '../../src/cli/demo/person.js';
import type { FromService } from '../../src/cli/demo/wire.js';
import type { Approval } from '../../src/index.js';

const approval: Approval = {
  id: 'call',
  sessionId: 'session',
  turnId: 'turn',
  callId: 'call',
  toolName: 'publish',
  input: {},
  effect: 'external',
  requestedAt: 0,
  expiresAt: null,
};
const turn = { cursor: 'life.1', sessionId: 'session', turnId: 'turn', at: 0, durable: true };

const parked = (found: boolean): FromService => ({ type: 'parked', found, attempts: 0, approvals: [approval] });
const asked: FromService = { type: 'event', event: { ...turn, type: 'approvalRequested', approval } };
const decided = (result: 'applied' | 'alreadyDecided'): FromService => ({ type: 'decided', id: 'call', result });
const recovered = (found: { resumed?: number; parked?: number }): FromService => ({
  type: 'recovered',
  resumed: 0,
  held: 0,
  parked: 0,
  abandoned: 0,
  ...found,
});

function aPerson() {
  const said: string[] = [];
  const person = new Person(({ id, allow, by }, again) => {
    said.push(`${by} ${allow ? 'allows' : 'refuses'} ${id}${again ? ' again' : ''}`);
  });
  const hear = (...messages: readonly FromService[]): void => {
    for (const message of messages) person.hear(message);
    vi.advanceTimersByTime(1_000);
  };
  return { person, said, hear };
}

describe('the person of the demo', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('says nothing in the process that asked, and decides once a restart has found the turn parked', () => {
    const { person, said, hear } = aPerson();
    hear(asked, parked(false));
    expect({ said, isThere: person.isThere }).toEqual({ said: [], isThere: false });
    hear(recovered({ parked: 1 }), parked(true));
    expect({ said, isThere: person.isThere }).toEqual({ said: ['ann allows call'], isThere: true });
  });

  it('keeps a thought from a process that is gone to itself', () => {
    const { person, said, hear } = aPerson();
    person.hear(parked(true));
    person.stopThinking();
    hear();
    expect(said).toEqual([]);
    hear(recovered({ parked: 1 }), parked(true));
    expect(said).toEqual(['ann allows call']);
  });

  it('says it again where no answer came, whether the turn still waits or went on', () => {
    const waits = aPerson();
    waits.hear(parked(true));
    waits.hear(recovered({ parked: 1 }), parked(true));
    waits.hear(decided('applied'));
    expect(waits.said).toEqual(['ann allows call', 'ann allows call again']);
    const wentOn = aPerson();
    wentOn.hear(parked(true));
    wentOn.hear(recovered({ resumed: 1 }), decided('alreadyDecided'));
    wentOn.hear(recovered({ resumed: 1 }));
    expect(wentOn.said).toEqual(['ann allows call', 'ann allows call again']);
  });

  it('answers once more when a call that has to run again asks again, and only once', () => {
    const { said, hear } = aPerson();
    hear(parked(true));
    hear(decided('applied'));
    hear(asked, parked(false));
    expect(said).toEqual(['ann allows call', 'ann allows call']);
  });
});
