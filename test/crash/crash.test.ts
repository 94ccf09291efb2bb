// Real processes, really killed. One package is packed for all of these tests, which is why they are one test file.
import { afterAll } from 'vitest';
import { describeAttempts } from './attempts.js';
import { describeBatch } from './batch.js';
import { describeCancel } from './cancel.js';
import { describeFolder } from './folder.js';
import { describeHandOver } from './handover.js';
import { installService } from './package.js';
import { Processes } from './processes.js';
import { describeRandom } from './random.js';
import { describeReview } from './review.js';

const service = await installService();
const processes = new Processes(service);

afterAll(async () => {
  await processes.endAll();
  console.log(`${processes.count} processes of the packed package were started`);
  service.remove();
});

describeRandom(service, processes);
describeHandOver(service, processes);
describeAttempts(service, processes);
describeCancel(service, processes);
describeFolder(service, processes);
await describeReview(service, processes);
await describeBatch(service, processes);
