// A process of long-history.mjs: one engine, one session with so many megabytes of history, and a turn in it whenever the
// parent asks. Must not know what its times are compared with.
import { once } from 'node:events';
import { inFolder } from './disk.mjs';
import { fixedTool, KILOBYTES_2, textOf, timedModel, timeTurn, withEngine } from './turns.mjs';

const [megabytes, iterations, warmUp] = process.argv.slice(2).map(Number);

const historyOf = (bytes) =>
  Array.from({ length: Math.ceil(bytes / KILOBYTES_2) }, (_, n) => ({
    role: n % 2 === 0 ? 'user' : 'assistant',
    content: [{ type: 'text', text: textOf(KILOBYTES_2, n) }],
  }));

const model = timedModel(iterations);
await inFolder((folder) =>
  withEngine(folder, { model, tools: { work: fixedTool('external') } }, async (engine) => {
    for (let done = 0; done < warmUp; done += iterations) await timeTurn(engine, model, `warm-${done}`);
    if (megabytes > 0) await engine.importSession('s', historyOf(megabytes * 1024 * 1024));
    process.send('ready');
    for (let turn = 1; ; turn += 1) {
      const [asked] = await once(process, 'message');
      if (asked === 'end') break;
      process.send(await timeTurn(engine, model, 's', `m${turn}`));
    }
  }),
);
process.disconnect();
