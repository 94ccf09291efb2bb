// Tools that a test calls without an engine.
import { expect, it } from 'vitest';
import { callContext } from '../../src/testing/index.js';
import { Bank, payTool } from './shop.js';

it('a tool runs with the dependencies and the key it is given, and nothing else is there', async () => {
  const bank = new Bank();
  expect(await payTool(bank).execute({}, callContext({}, { idempotencyKey: 'k' }))).toBe('ch_0');
  expect(bank.book.entries).toEqual([{ tool: 'pay', key: 'k' }]);
  const deps = { now: () => 5 };
  expect(callContext(deps)).toMatchObject({ deps, attended: false, recovered: false, idempotencyKey: 'key' });
  expect(callContext(deps, { attended: true, sessionId: 'mine' })).toMatchObject({ attended: true, sessionId: 'mine' });
});

it('what a tool notes and tells can be read, as it was then', async () => {
  const context = callContext(undefined);
  const value = { id: 1 };
  await context.note(value);
  context.progress('half');
  value.id = 2;
  expect([context.notes, context.told]).toEqual([[{ id: 1 }], ['half']]);
});

it('a field nobody knows is refused: the tool would be called without it', () => {
  expect(() => callContext(undefined, { idempotencykey: 'k' } as never)).toThrow(
    'over.idempotencykey is unknown; there',
  );
});
