// A program that has a folder open by LevelDB alone, or tries to: for the traps of its lock.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Level } from 'level';

const [mode, folder = ''] = process.argv.slice(2);
const level = new Level(folder);
try {
  await level.open();
  process.stdout.write('opened\n');
  if (mode === 'hold') {
    // Waits to be told, or killed.
    for await (const chunk of process.stdin) {
      if (`${chunk}`.includes('read LOCK')) readFileSync(join(folder, 'LOCK'));
      process.stdout.write('done\n');
    }
  }
  await level.close();
} catch (error) {
  const { code, cause } = error as { code?: string; cause?: { code?: string } };
  process.stdout.write(`${code} ${cause?.code}\n`);
}
