// A signal while a command still opens its view: nothing is left behind, and the folder is free.
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { viewing } from '../../src/cli/operator/viewing.js';
import { viewFolder } from '../../src/store/view.js';
import { copyOfFixture, printOf } from '../store/fixtures/folders.js';

let scratch = '';
let folder = '';
let temporary = '';
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), 'durable-turn-viewing-'));
  [folder, temporary] = [join(scratch, 'turns'), join(scratch, 'tmp')];
  mkdirSync(temporary);
  copyOfFixture(folder);
  vi.stubEnv('TMPDIR', temporary);
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  rmSync(scratch, { recursive: true, force: true });
});

describe('a command that looks', () => {
  it('ends by a signal that comes while its view is still being copied, and leaves nothing', async () => {
    const before = printOf(folder);
    const others = process.listeners('SIGTERM');
    const exited = new Promise((resolve) => {
      vi.spyOn(process, 'exit').mockImplementation(((code: number) => resolve(code)) as never);
    });
    const look = vi.fn();
    void viewing(folder, look);
    const [end] = process.listeners('SIGTERM').filter((listener) => !others.includes(listener));
    expect(end).toBeDefined();
    end?.('SIGTERM');
    expect(await exited).toBe(143);
    expect(look).not.toHaveBeenCalled();
    expect(readdirSync(temporary)).toEqual([]);
    expect(printOf(folder)).toEqual(before);
    await (await viewFolder(folder)).close();
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      for (const listener of process.listeners(signal)) if (!others.includes(listener)) process.off(signal, listener);
    }
  });

  it('takes its handlers away where there is nothing to look at', async () => {
    const before = process.listenerCount('SIGINT');
    await expect(viewing(join(scratch, 'nowhere'), vi.fn())).rejects.toMatchObject({ code: 'TURN_NOT_FOUND' });
    expect(process.listenerCount('SIGINT')).toBe(before);
  });
});
