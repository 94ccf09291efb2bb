// I2 behind every death: a marker for each session with a turn in progress or an outcome due, and no other. It looks at
// a copy: opening a store tidies up, and the next process is to find what the dead one left.
import { existsSync } from 'node:fs';
import type { Service } from '../package.js';
import type { Place, Processes } from '../processes.js';

export async function wrongMarkers(service: Service, processes: Processes, place: Place): Promise<number> {
  // Killed before it made the folder.
  if (!existsSync(place.store)) return 0;
  const copy = processes.copy(place);
  const store = await service.level.openLevelStore({ path: copy.store });
  try {
    const marked = new Set((await store.markers('crash')).map(({ sessionId }) => sessionId));
    let wrong = 0;
    for await (const { sessionId, inProgress, outcomesDue } of store.sessions('crash')) {
      if (marked.delete(sessionId) !== (inProgress || outcomesDue.length > 0)) wrong += 1;
    }
    return wrong + marked.size;
  } finally {
    await store.close();
    processes.remove(copy);
  }
}
