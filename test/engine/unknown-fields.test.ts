import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTurnEngine } from 'durable-turn';
import { memoryStore, openLevelStore } from 'durable-turn/level';
import { scriptedModel } from 'durable-turn/testing';
import { describe, expect, it, onTestFinished } from 'vitest';

function engineOf() {
  const engine = createTurnEngine({ agent: 'a', store: memoryStore(), model: scriptedModel(['Hello.']) });
  onTestFinished(() => engine.close());
  return engine;
}

describe('a misspelt field, which would be ignored silently, is a TypeError that names the known ones', () => {
  const turnId = 's.0123456789abcdef';
  const person = { outcome: 'notStarted', by: 'ann' };
  const wrong: readonly [name: string, call: (engine: ReturnType<typeof engineOf>) => unknown, known: string][] = [
    ['close', (engine) => engine.close({ grace: 5 } as never), 'graceMs'],
    ['cancelTurn', (engine) => engine.cancelTurn(turnId, { reson: 'x' } as never), 'reason, keepPartialText'],
    [
      'settleCall',
      (engine) => engine.settleCall(turnId, `${turnId}.00001.0000`, { ...person, note: 1 } as never),
      'outcome',
    ],
    ['attend', (engine) => engine.attend('s', { person: 'ann', forMs: 1, role: 'x' } as never), 'person, forMs'],
    ['pruneSessions', (engine) => engine.pruneSessions({ olderThanMs: 1, max: 5 } as never), 'olderThanMs'],
    ['openLevelStore', () => openLevelStore({ path: join(tmpdir(), 'never'), share: true } as never), 'path, shared'],
  ];
  for (const [name, call, known] of wrong) {
    it(name, async () => {
      const thrown = await Promise.resolve(call(engineOf())).catch((error: unknown) => error);
      expect(thrown).toBeInstanceOf(TypeError);
      expect((thrown as Error).message).toMatch(new RegExp(`is unknown; there are ${known}`));
    });
  }

  it('of a handle, too', async () => {
    const { turn } = await engineOf().sendMessage({ sessionId: 's', input: 'x', attended: true });
    await expect(turn.cancel({ reson: 'x' } as never)).rejects.toThrow('reson is unknown');
    expect((await turn.outcome).status).toBe('completed');
  });
});

it('options that are no object are told so', async () => {
  const engine = engineOf();
  for (const call of [() => engine.recover(5 as never), () => engine.close('now' as never)]) {
    await expect(call()).rejects.toThrow(/^options must be an object with /);
  }
  expect(() => engine.follow('s', 'cursor' as never)).toThrow('options must be an object with after, signal.');
});
