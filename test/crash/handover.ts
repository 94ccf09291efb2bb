// Deploys: ten processes in a row are told to go (SIGTERM) while one turn runs, and each hands it over to the next.
import { describe, expect, it } from 'vitest';
import { endOf, expectKilled, LONG_MS } from './kills.js';
import type { Service } from './package.js';
import type { Order, Processes } from './processes.js';
import { expectCompleted, lookInto } from './verdict.js';

// Grace is time, so the clock of these processes is the real one.
const SEND: Order = { script: 'row', drive: 'send', paceMs: 0 };
const MODEL = 'before model call 1 of this process is answered';
const MAIL = 'after the effect of call 2 (mail)';

/** Where a process is when it is told to go; each kind does one batch of its own before that. */
const KINDS: readonly Omit<Order, 'script' | 'drive'>[] = [
  { holdAt: 'before model call 2 of this process is answered' },
  // A tool that does not come back within the grace: its call is in doubt, and the next process asks what became of it.
  { holdAt: MAIL, graceMs: 20 },
  // A tool that comes back within the grace: its outcome is durable before the process goes.
  { holdAt: MAIL, letGo: true, graceMs: 30_000 },
];

export function describeHandOver(service: Service, processes: Processes): void {
  describe.concurrent('a turn that is handed over by SIGTERM', () => {
    it(
      'passes through a row of ten processes without an attempt spent or an effect doubled, and completes',
      async () => {
        const place = processes.place();
        for (let n = 0; n < 10; n += 1) {
          const running = await processes.start(place, { ...SEND, ...KINDS[n % KINDS.length] });
          await running.said('held');
          running.kill('SIGTERM');
          expect(endOf(await running.ended).rest, `process ${n + 1}`).toEqual({ status: 'handedOver' });
          const { session, markers } = await lookInto(service, place);
          expect(session.head).toMatchObject({ inProgress: true, handedOver: true, attempts: 0, recoveries: 0 });
          expect(markers.map(({ turnId }) => turnId)).toEqual([session.head.turnId]);
        }
        // The mark of a hand-over is for one start: the process after it is killed, and that counts.
        expectKilled(await processes.run(place, { ...SEND, killAt: MODEL }), place, MODEL);
        expect((await lookInto(service, place)).session.head).toMatchObject({ handedOver: false, recoveries: 0 });
        endOf(await processes.run(place, SEND));
        expect((await lookInto(service, place)).session.head).toMatchObject({ recoveries: 1 });
        const roles = ['user', ...Array.from({ length: 10 }, () => ['assistant', 'tool']).flat(), 'assistant'];
        await expectCompleted(service, place, { roles, calls: 20, starts: 2 });
        processes.remove(place);
      },
      LONG_MS,
    );
  });
}
