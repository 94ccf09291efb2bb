// The load, small: `npm run load` is the whole of it.
import { expect, it } from 'vitest';
import { runLoad } from './load.js';
import { makeProject } from './processes.js';

it('20 sessions, killed twice: nothing doubled, nothing lost, every stream comes to its end', async () => {
  const project = await makeProject();
  try {
    const figures = await runLoad(project, { sessions: 20, ms: 5_000, killEveryMs: 2_000, paceMs: 25 });
    expect(figures).toMatchObject({ kills: 2, doubled: 0, lost: 0, neverEnded: 0, wrongPictures: 0, markers: 0 });
    expect(figures.outcomes).toEqual({ completed: figures.turns });
    expect(figures.turns).toBeGreaterThanOrEqual(20);
  } finally {
    project.remove();
  }
});
