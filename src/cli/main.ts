#!/usr/bin/env node
/**
 * Owns the command `durable-turn`: it reads which sub-command is meant and hands the rest on.
 * Must not know what a sub-command does; each is loaded only when it is asked for, so that one needs no package of
 * another's.
 */
import { readFileSync } from 'node:fs';

const USAGE = `Usage: durable-turn <command> [options]

  demo        kills a service in the middle of a turn and shows that each effect happens exactly once
  visualize   draws the chart of an XState machine

  --help      this text; after a command, the options of the command
  --version   the version of the package
`;

function version(): string {
  const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
  return String(manifest.version);
}

/** Answers the exit code: 0, or 1 where the command failed, or 2 where the arguments make no sense. */
async function run([command, ...args]: readonly string[]): Promise<number> {
  switch (command) {
    case 'demo':
      return (await import('./demo/command.js')).demo(args);
    case 'visualize':
      return (await import('./visualize.js')).visualize(args);
    case '--help':
    case '-h':
    case 'help':
      process.stdout.write(USAGE);
      return 0;
    case '--version':
    case '-v':
      process.stdout.write(`${version()}\n`);
      return 0;
    default: {
      const what = command === undefined ? 'name a command' : `there is no command or option ${command}`;
      process.stderr.write(`durable-turn: ${what}\n\n${USAGE}`);
      return 2;
    }
  }
}

process.exitCode = await run(process.argv.slice(2));
