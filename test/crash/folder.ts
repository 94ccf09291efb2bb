// One folder, two processes: the second must not touch what the first has open, and gets it when the first is dead.
import { describe, expect, it } from 'vitest';
import { endOf, LONG_MS } from './kills.js';
import type { Service } from './package.js';
import type { Order, Processes, Refused } from './processes.js';
import { expectCompleted } from './verdict.js';

const SEND: Order = { script: 'talk', drive: 'send' };

export function describeFolder(service: Service, processes: Processes): void {
  describe.concurrent('two processes on one folder', () => {
    it(
      'I7: the second is refused with TURN_STORE_LOCKED and what to do, and opens it once the first was killed',
      async () => {
        const place = processes.place();
        const holdAt = 'before model call 1 of this process is answered';
        const first = await processes.start(place, { ...SEND, holdAt });
        await first.said('held');
        const { code, last, stderr } = await processes.run(place, SEND);
        expect({ code, stderr, said: last?.what }).toEqual({ code: 0, stderr: '', said: 'refused' });
        const { error } = last as Refused;
        expect(error).toMatchObject({ name: 'TurnError', code: 'TURN_STORE_LOCKED', retryable: true });
        expect(error.message).toMatch(/another process has it open.*close that one first.*choose another folder/s);
        first.kill('SIGKILL');
        expect((await first.ended).signal).toBe('SIGKILL');
        expect(endOf(await processes.run(place, SEND)).recovered.resumed).toHaveLength(1);
        await expectCompleted(service, place, { roles: ['user', 'assistant'], calls: 0, starts: 2 });
        processes.remove(place);
      },
      LONG_MS,
    );
  });
}
