// `npm run load`: 500 sessions on the example service for two minutes, SIGKILL every ten seconds. It prints its figures
// and fails where something was doubled or lost. LOAD_SESSIONS and LOAD_SECONDS make it smaller.
import { expect, it } from 'vitest';
import { runLoad } from '../load.js';
import { makeProject } from '../processes.js';

const sessions = Math.min(Number(process.env.LOAD_SESSIONS ?? 500), 2_000);
const seconds = Math.min(Number(process.env.LOAD_SECONDS ?? 120), 600);

it(`${sessions} sessions for ${seconds} s`, { timeout: (seconds + 300) * 1_000 }, async () => {
  const project = await makeProject();
  try {
    const figures = await runLoad(project, { sessions, ms: seconds * 1_000, killEveryMs: 10_000, paceMs: 1_000 });
    console.log(JSON.stringify(figures, null, 2));
    expect(figures).toMatchObject({ doubled: 0, lost: 0, neverEnded: 0, wrongPictures: 0, markers: 0 });
    expect(figures.outcomes).toEqual({ completed: figures.turns });
  } finally {
    project.remove();
  }
});
