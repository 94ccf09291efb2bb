// A program that writes by LevelDB alone until a write fails, waits until there is space again, and goes on with the same
// handle. It says how many of the writes that were acknowledged and synced then are there when the folder is opened anew.
import { once } from 'node:events';
import { Level } from 'level';

const level = new Level(process.argv[2] ?? '');
await level.open();
const until = async (): Promise<void> => {
  for (let n = 0; ; n += 1) await level.put(`before ${n}`, 'x'.repeat(1_000), { sync: true });
};
await until().catch(() => process.stdout.write('failed\n'));
await once(process.stdin, 'data');
for (let n = 0; n < 60; n += 1) await level.put(`more ${n}`, 'acknowledged', { sync: true });
await level.close();
await level.open();
const found = await level.keys({ gte: 'more', lt: 'mose' }).all();
process.stdout.write(`${found.length} of 60\n`);
await level.close();
process.exit();
