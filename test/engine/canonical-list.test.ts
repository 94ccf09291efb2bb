// Why: what the list knows to be on disk already it does not write again. Were it ever wrong about that, the transcript
// on disk would differ from the one the model was shown, and nobody would notice before the next recovery (I3).
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { StoredMessage } from '../../src/core/messages.js';
import { CanonicalList } from '../../src/engine/canonical-list.js';
import { newHead } from '../../src/engine/head-writer.js';

let made = 0;
const message = (): StoredMessage => {
  made += 1;
  return {
    message: { role: 'user', content: [{ type: 'text', text: `${made}` }] },
    meta: { id: `m${made}`, at: 0, turnId: 't', origin: 'input' },
  };
};

/** Where a list is cut, as a part of its length. */
const place = fc.double({ min: 0, max: 1, noNaN: true });
const action = fc.oneof(
  fc.constant({ kind: 'append' } as const),
  fc.constant({ kind: 'commit' } as const),
  // The commit fails and is made again, or something else comes first.
  fc.constant({ kind: 'plan' } as const),
  fc.record({ kind: fc.constant('cut' as const), at: place }),
  fc.record({ kind: fc.constant('compact' as const), at: place }),
);

it('what is written after any edits gives the whole list, and what compactions took out of it (I3)', () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 40 }), fc.nat(5), (actions, stored) => {
      let disk: readonly StoredMessage[] = Array.from({ length: stored }, message);
      let archive: readonly StoredMessage[] = [];
      const removed: StoredMessage[] = [];
      let head = newHead('s', 'a', 'r');
      const list = new CanonicalList(disk);
      const commit = (): void => {
        const { parts, patch } = list.toWrite(head);
        const { transcript } = parts;
        if (transcript?.kind === 'append') disk = [...disk.slice(0, transcript.from), ...transcript.messages];
        else if (transcript !== undefined) disk = [...transcript.messages];
        archive = [...archive, ...(parts.archive ?? [])];
        head = { ...head, ...patch };
        list.written(parts);
        expect(disk).toEqual(list.messages);
        expect(list.bareMessages()).toEqual(disk.map((stored) => stored.message));
        expect(list.onDisk).toEqual(disk);
        expect([head.count, head.archived]).toEqual([disk.length, archive.length]);
      };
      for (const step of [...actions, { kind: 'commit' } as const]) {
        const at = 'at' in step ? Math.floor(step.at * list.messages.length) : 0;
        if (step.kind === 'append') list.append(message());
        else if (step.kind === 'commit') commit();
        else if (step.kind === 'plan') list.toWrite(head);
        else if (step.kind === 'cut') list.replace(list.messages.slice(0, at));
        else {
          removed.push(...list.messages.slice(0, at));
          list.compactTo([message(), ...list.messages.slice(at)], list.messages.slice(0, at));
        }
      }
      expect(archive).toEqual(removed);
    }),
  );
});

it('what is known to be on disk is not looked at again: appending costs the same behind any list', () => {
  const list = new CanonicalList(Array.from({ length: 1_000 }, message));
  const looked: number[] = [];
  const watched = new Proxy(list.messages as StoredMessage[], {
    get: (target, name, receiver) => {
      if (typeof name === 'string' && /^\d+$/.test(name)) looked.push(Number(name));
      return Reflect.get(target, name, receiver);
    },
  });
  Object.assign(list, { list: watched });
  list.append(message());
  expect(list.bareMessages()).toHaveLength(1_001);
  const { parts } = list.toWrite(newHead('s', 'a', 'r'));
  expect(parts.transcript).toMatchObject({ kind: 'append', from: 1_000 });
  expect(looked.filter((index) => index < 1_000)).toEqual([]);
});

it('a model port that edits or keeps the messages of its request changes no list, and sees none change', () => {
  const list = new CanonicalList([message(), message()]);
  const request = list.bareMessages() as unknown[];
  list.append(message());
  expect(request).toHaveLength(2);
  request.length = 0;
  expect(list.bareMessages()).toEqual(list.messages.map((stored) => stored.message));
});
