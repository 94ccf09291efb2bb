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

On a data folder that no service has open. These only look, and change nothing:

  verify       checks every file and every record; exit code 1 where something is damaged
  list         all sessions, a line each
  show         one session: transcript, journal of its tool calls, timeline
  interrupted  turns in progress: interrupted, handed over, or waiting for a person
  reviews      calls in doubt that wait for a person
  stats        sizes by kind of record, and the largest sessions
  export       messages of one session, or of all, as JSON lines

These change it:

  repair       repairs a damaged folder on a copy, keeps the originals beside it, and reports
  abandon      ends one turn that must not be resumed
  compact      gives back the room that deleted records still take

  --help      this text; after a command, the options of the command
  --version   the version of the package
`;

function version(): string {
  // By its name: where this code lies in the package is for the build to decide.
  const manifest = JSON.parse(readFileSync(new URL(import.meta.resolve('durable-turn/package.json')), 'utf8'));
  return String(manifest.version);
}

/** Answers the exit code: 0, or 1 where the command failed, or 2 where the arguments make no sense; 3 and 4: see the operator's. */
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
      const { operate } = await import('./operator/command.js');
      const done = operate(command ?? '', args);
      if (done !== undefined) return done;
      const what = command === undefined ? 'name a command' : `there is no command or option ${command}`;
      const asksForJson = command === '--json' || args.includes('--json');
      const text = asksForJson
        ? `${JSON.stringify({ error: what, exitCode: 2 })}\n`
        : `durable-turn: ${what}\n\n${USAGE}`;
      process.stderr.write(text);
      return 2;
    }
  }
}

// A reader that has seen enough, as in `| head`, is no error.
process.stdout.on('error', () => process.exit(0));
process.exitCode = await run(process.argv.slice(2));
