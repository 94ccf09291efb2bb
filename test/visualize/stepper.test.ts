// The stepper without its page: the real charts through the real core/step, on a simulated clock and disk.
import { describe, expect, it } from 'vitest';
import { TURN_OFFERS } from '../../visualizations/stepper/catalog.js';
import { guardNames, turn } from '../../visualizations/stepper/guards.js';
import { SCENARIOS } from '../../visualizations/stepper/scenarios.js';
import {
  CHARTS,
  fromAddress,
  openOffers,
  type Session,
  startsOf,
  toAddress,
  worldOf,
} from '../../visualizations/stepper/session.js';
import type { TurnWorld } from '../../visualizations/stepper/turn-world.js';

const turnAfter = (moves: string, start = 'unattended'): TurnWorld => {
  const world = worldOf({ chart: 'turn', start, moves: moves.split(' ').filter((m) => m !== ''), scenario: null });
  if (world.chart !== 'turn') throw new Error('not the turn');
  return world.turn;
};
const phaseAfter = (moves: string, start?: string) => turnAfter(moves, start).live?.phase;

describe('every scenario', () => {
  const ends: Readonly<Record<string, string | undefined>> = {
    retry: 'completed',
    hardIdle: 'failed',
    midBatch: 'completed',
    stale: 'executingTools',
    loop: 'stopped',
    approval: 'completed',
    cancel: undefined,
  };
  for (const { id, start, steps } of SCENARIOS) {
    it(`${id} comes to the end it tells, and every one of its moves does something`, () => {
      let before = turnAfter('', start);
      steps.forEach((_, k) => {
        const after = turnAfter(
          steps
            .slice(0, k + 1)
            .map(({ move }) => move)
            .join(' '),
          start,
        );
        expect(after, `step ${k + 1}`).not.toEqual(before);
        before = after;
      });
      expect(Object.keys(ends)).toContain(id);
      expect(before.live?.phase).toBe(ends[id]);
    });
  }

  it('is there for each case a review asks about', () => {
    expect(SCENARIOS.map(({ id }) => id)).toEqual(Object.keys(ends));
  });
});

describe('a checkpoint', () => {
  it('is written at once where the chart forces it, and names the phase', () => {
    const { disk, entries } = turnAfter('loaded send');
    expect(entries.at(-1)).toMatchObject({ directive: 'forced', checkpoint: 'written' });
    expect(disk?.phase).toBe('executingTools');
    expect(disk?.checkpoint.snapshot).toMatchObject({ value: { running: 'executingTools' } });
  });

  it('is postponed when the last one is too near, and taken along by the next boundary', () => {
    const near = turnAfter('loaded read');
    expect(near.entries.at(-1)).toMatchObject({ directive: 'debounced', checkpoint: 'postponed' });
    expect([near.disk?.phase, near.live?.dirty]).toEqual(['setup', true]);
    const later = turnAfter('loaded t5000 read');
    expect([later.disk?.phase, later.live?.dirty]).toEqual(['executingTools', false]);
  });

  it('goes along when the outcome of a stored call has to be written anyway', () => {
    const { entries, disk } = turnAfter('loaded send settled');
    expect(entries.at(-1)).toMatchObject({ directive: 'debounced', checkpoint: 'written' });
    expect(disk?.calls.map(({ state }) => state)).toEqual(['settled']);
  });

  it('is lost with a crash when it was postponed', () => {
    expect(turnAfter('loaded read x').entries.at(-1)?.note).toContain('lost');
    expect(phaseAfter('loaded read x r')).toBe('setup');
  });
});

describe('a crash and a restore', () => {
  const verdict = (moves: string, start?: string) => turnAfter(moves, start).recovery?.verdict;

  it('say what each gate said, in order', () => {
    const gates = turnAfter('loaded send x r').recovery?.gates.map(({ gate }) => gate);
    expect(gates).toEqual([
      'owner',
      'identity',
      'outcome',
      'person',
      'switch',
      'staleness',
      'attempts',
      'attempt',
      'checkpoint',
      'doubts',
    ]);
  });

  it('park a call in doubt whose tool cannot be asked, and go on where it can', () => {
    expect([verdict('loaded send x r'), phaseAfter('loaded send x r')]).toEqual(['reviewRequired', 'awaitingReview']);
    expect([verdict('loaded send x reconcile r'), phaseAfter('loaded send x reconcile r')]).toEqual([
      'resumed',
      'executingTools',
    ]);
  });

  it('abandon the fourth start of a turn that gets nowhere', () => {
    const attempt = 'x r ';
    expect(verdict(`loaded send settled ${attempt.repeat(3)}`)).toBe('resumed');
    expect(verdict(`loaded send settled ${attempt.repeat(4)}`)).toBe('abandoned');
    expect(turnAfter(`loaded send settled ${attempt.repeat(4)}`).recovery?.gate).toBe('attempts');
  });

  it('hold everything while recovery is switched off, but for a person', () => {
    expect(verdict('loaded send x off r')).toBe('held');
    expect(verdict('loaded send x off p')).toBe('reviewRequired');
  });

  it('count no attempt after a hand-over', () => {
    expect(turnAfter('loaded handover x r').disk).toMatchObject({ attempts: 0, recoveries: 0, handedOver: false });
    expect(turnAfter('loaded send x r').disk).toMatchObject({ attempts: 1, recoveries: 1 });
  });

  it('keep the moment of a back-off and of an approval, and arm silence anew', () => {
    const dueAt = (moves: string, start?: string) => turnAfter(moves, start).live?.timers.at(-1)?.dueAt;
    expect(dueAt('loaded limited')).toBe(20_000);
    expect(dueAt('loaded limited x t5000 r')).toBe(20_000);
    expect(phaseAfter('loaded limited x t30000 r')).toBe('awaitingLLM');
    expect(dueAt('loaded ask t60000 x r p', 'attended')).toBe(300_000);
    expect(dueAt('loaded t5000 more x t5000 r')).toBe(10_000 + 540_000);
  });

  it('leave a turn that ended alone', () => {
    const after = turnAfter('loaded done x r');
    expect([after.live, after.recovery]).toEqual([null, null]);
    expect(after.entries.at(-1)?.note).toContain('no marker');
  });
});

describe('the effects', () => {
  it('are those of the phase, until it is left', () => {
    const running = (moves: string) => turnAfter(moves).live?.running;
    expect(running('loaded')).toEqual(['callModel']);
    expect(running('loaded progress input')).toEqual(['callModel']);
    expect(running('loaded overloaded')).toEqual([]);
    expect(running('loaded ask')).toEqual(['runCalls', 'askPerson']);
    expect(running('loaded done')).toEqual([]);
  });
});

describe('what guards say', () => {
  it('can be chosen, and the chart follows', () => {
    expect(phaseAfter('loaded rejected')).toBe('failed');
    expect(phaseAfter('loaded g-retryable-yes rejected')).toBe('retryingLLM');
    expect(phaseAfter('loaded g-retryable-yes g-retryable-auto rejected')).toBe('failed');
    expect(phaseAfter('loaded g-retryable-no overloaded')).toBe('failed');
  });

  it('can be chosen for every guard of the chart', () => {
    expect(guardNames(turn).length).toBeGreaterThan(15);
  });

  it('end the turn as failed when the choice makes the chart run in circles', () => {
    expect(phaseAfter('g-stopAsked-yes g-nudgeable-yes g-stopping-no loaded')).toBeDefined();
  });
});

describe('the events on offer', () => {
  it('are those that lead somewhere', () => {
    const keys = (moves: string) => openOffers({ chart: 'turn', turn: turnAfter(moves) }).map(({ key }) => key);
    expect(keys('')).toEqual(expect.arrayContaining(['loaded', 'nosession', 'cancel', 'handover']));
    expect(keys('')).not.toContain('done');
    expect(keys('loaded done')).toEqual([]);
    expect(keys('loaded x')).toEqual([]);
  });

  it('have keys of their own, which addresses can hold', () => {
    const keys = TURN_OFFERS.map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
    expect(keys.every((key) => /^\w+$/.test(key))).toBe(true);
  });
});

describe('an address', () => {
  it('gives back the session it was made of', () => {
    for (const chart of CHARTS) {
      for (const start of startsOf(chart)) {
        const session: Session = { chart, start, moves: ['loaded', 'g-hardOn-no', 't60000', 'x'], scenario: 'retry' };
        expect(fromAddress(toAddress(session))).toEqual(session);
      }
    }
  });

  it('shows the start when it cannot be read, and leaves out moves that make no sense', () => {
    const first = { chart: 'turn', start: 'unattended', moves: [], scenario: null };
    for (const odd of ['', '#', '#nonsense', '#turn/%E0%A4%A/', '#<script>/x/y']) {
      expect(fromAddress(odd)).toMatchObject({ chart: 'turn', start: 'unattended' });
    }
    expect(fromAddress('#turn/unattended/<b>..%20')).toEqual(first);
    expect(phaseAfter('no-such-move loaded also-none')).toBe('awaitingLLM');
  });

  it('reaches the other charts too', () => {
    const verdictOf = (start: string, moves: string[]) => {
      const world = worldOf({ chart: 'recovery', start, moves, scenario: null });
      return world.chart === 'turn' ? null : world.small.snapshot.value;
    };
    expect(verdictOf('has a live owner', [])).toBe('leftAlone');
    expect(verdictOf('nothing in the way', ['counted', 'decoded', 'doubts'])).toBe('reviewRequired');
    expect(verdictOf('nothing in the way', ['g-stale-yes'])).toBe('abandonedStale');
  });
});
