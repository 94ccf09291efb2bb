// Why: a service holds many turns, and a turn may run for hours. What an ended turn or an old call leaves in memory is
// there for ever, and a process that dies of it dies of it again at every recovery.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, onTestFinished } from 'vitest';
import { createTurnEngine, type Message } from '../../src/index.js';
import { memoryStore } from '../../src/store/level-store.js';
import { scriptedModel } from '../../src/testing/index.js';
import { calm } from './waiting.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

it('nothing holds a turn that has ended, the first of the process included', async () => {
  const store = memoryStore();
  const scripted = scriptedModel([{ say: 'done' }]);
  let message: WeakRef<Message> | undefined;
  const model: typeof scripted = {
    ...scripted,
    call(request, call) {
      message = new WeakRef(request.messages[0] as Message);
      return scripted.call({ ...request, messages: [] }, call);
    },
  };
  const engine = createTurnEngine({ agent: 'a', store, model });
  onTestFinished(() => engine.close());
  const run = async (): Promise<void> => {
    const turn = await engine.startTurn({ sessionId: 's', messageId: 'm', input: 'go', attended: false });
    expect((await turn.outcome).status).toBe('completed');
  };
  await run();
  for (let rounds = 0; rounds < 10 && message?.deref() !== undefined; rounds += 1) {
    await calm();
    collect();
  }
  expect(message?.deref()).toBeUndefined();
});

it('a turn whose outputs do not fit into memory together ends, and is taken up after a kill', async () => {
  const path = mkdtempSync(join(tmpdir(), 'durable-turn-memory-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  const program = join(import.meta.dirname, 'large-outputs.mjs');
  const run = (part: string): Promise<{ readonly out: string; readonly signal: string | null }> =>
    new Promise((resolve) => {
      const args = ['--max-old-space-size=100', program, path, part];
      execFile(process.execPath, args, (error, out) => resolve({ out, signal: error?.signal ?? null }));
    });
  expect(await run('cut')).toEqual({ out: '', signal: 'SIGKILL' });
  const { out, signal } = await run('rest');
  expect(signal).toBeNull();
  expect(JSON.parse(out)).toEqual({ status: 'completed', firstChars: 1_500_000 });
}, 120_000);
