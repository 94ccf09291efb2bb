// Why: a checkpoint writes only what is new, and what is on disk has to equal a whole rewrite all the same, after any
// sequence of edits (I3, case C10). A store that appends to a list that was edited keeps messages nobody sees.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StoredMessage } from '../../src/core/messages.js';
import type { TranscriptWrite } from '../../src/core/ports.js';
import { planTranscript } from '../../src/core/transcript.js';

let made = 0;
const fresh = (): StoredMessage => {
  made += 1;
  return {
    message: { role: 'user', content: [{ type: 'text', text: 'the same text' }] },
    meta: { id: `m${made}`, at: made, turnId: 't', origin: 'input' },
  };
};
const several = (count: number): StoredMessage[] => Array.from({ length: count }, fresh);

interface Disk {
  readonly epoch: number;
  readonly list: readonly StoredMessage[];
}

/** What a store does with a plan: it appends behind what it has, or switches to a new epoch. */
function apply({ epoch, list }: Disk, write: TranscriptWrite | undefined): Disk {
  if (write === undefined) return { epoch, list };
  if (write.kind === 'rewrite') return { epoch: write.epoch, list: [...write.messages] };
  if (write.from !== list.length) throw new Error(`an append at ${write.from} to ${list.length} messages`);
  return { epoch, list: [...list, ...write.messages] };
}

type Edit = readonly [kind: 'append' | 'replace' | 'remove' | 'insert' | 'truncate' | 'compact' | 'save', at: number];

function edit(list: readonly StoredMessage[], [kind, at]: Edit): readonly StoredMessage[] {
  const place = list.length === 0 ? 0 : at % list.length;
  switch (kind) {
    case 'append':
      return [...list, ...several(1 + (at % 3))];
    case 'replace':
      return list.length === 0 ? list : list.toSpliced(place, 1, fresh());
    case 'remove':
      return list.toSpliced(place, 1);
    case 'insert':
      return list.toSpliced(place, 0, fresh());
    case 'truncate':
      return list.slice(0, place);
    case 'compact':
      return [fresh(), ...list.slice(place)];
    default:
      return list;
  }
}

const edits: fc.Arbitrary<readonly Edit[]> = fc.array(
  fc.tuple(
    fc.constantFrom<Edit[0]>('append', 'append', 'save', 'save', 'replace', 'remove', 'insert', 'truncate', 'compact'),
    fc.nat(20),
  ),
  { maxLength: 40 },
);

const isPrefix = (of: readonly StoredMessage[], list: readonly StoredMessage[]): boolean =>
  of.every((item, index) => item === list[index]);

describe('planTranscript', () => {
  it('leads to what a whole rewrite would have written, after any sequence of edits (I3)', () => {
    fc.assert(
      fc.property(edits, (sequence) => {
        let list: readonly StoredMessage[] = [];
        let disk: Disk = { epoch: 0, list: [] };
        for (const step of [...sequence, ['save', 0] as const]) {
          list = edit(list, step);
          if (step[0] !== 'save') continue;
          disk = apply(disk, planTranscript(disk.list, list, disk.epoch));
          expect(disk.list.length === list.length && isPrefix(list, disk.list)).toBe(true);
        }
      }),
    );
  });

  it('appends exactly where the stored list is a prefix, and then writes the new messages only (case C10)', () => {
    fc.assert(
      fc.property(edits, edits, (before, after) => {
        const stored = before.reduce(edit, several(3));
        const list = after.reduce(edit, stored);
        const write = planTranscript(stored, list, 7);
        if (!isPrefix(stored, list)) {
          expect(write).toEqual({ kind: 'rewrite', epoch: 8, messages: list });
        } else if (stored.length === list.length) {
          expect(write).toBeUndefined();
        } else {
          expect(write).toEqual({ kind: 'append', from: stored.length, messages: list.slice(stored.length) });
        }
      }),
    );
  });

  const [a, b, c] = several(3) as [StoredMessage, StoredMessage, StoredMessage];

  it('costs nothing where nothing changed', () => {
    expect(planTranscript([], [], 0)).toBeUndefined();
    expect(planTranscript([a, b], [a, b], 3)).toBeUndefined();
  });

  it('writes a new epoch when anything but the end changed', () => {
    const rewrite = (...messages: StoredMessage[]) => ({ kind: 'rewrite', epoch: 4, messages });
    expect(planTranscript([a, b], [a, c], 3)).toEqual(rewrite(a, c));
    expect(planTranscript([a, b], [b, a], 3)).toEqual(rewrite(b, a));
    expect(planTranscript([a, b], [a], 3)).toEqual(rewrite(a));
    expect(planTranscript([a, b], [], 3)).toEqual(rewrite());
    expect(planTranscript([a, b], [c, a, b], 3)).toEqual(rewrite(c, a, b));
  });

  it('takes the same object for the same message, and an equal one for another: messages never change', () => {
    expect(planTranscript([a], [a, b], 0)).toEqual({ kind: 'append', from: 1, messages: [b] });
    expect(planTranscript([a], [structuredClone(a)], 0)?.kind).toBe('rewrite');
  });
});
