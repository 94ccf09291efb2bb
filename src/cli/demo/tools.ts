/**
 * Owns the tools of the demo's turn: one for each kind of effect, each as a careful program would write it.
 * Must not know that the process will be killed: every line here is what a real tool does as well. The pauses stand
 * for work and distance, and make room for a kill before, during and after an effect.
 */
import { execFile } from 'node:child_process';
import { appendFile, readFile, rename, writeFile } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type ToolSet, tool } from '../../index.js';
import { postTool } from './post-tool.js';
import { report, texts } from './tool-parts.js';
import type { ReceiverAddress } from './wire.js';

const run = promisify(execFile);

export function releaseTools(project: string, receiver: ReceiverAddress): ToolSet {
  return {
    read_file: readTool(project),
    run_tests: testTool(project),
    write_file: writeTool(project),
    append_line: appendTool(project),
    post: postTool(receiver),
    publish: publishTool(receiver),
  };
}

/** The same effect where everybody sees it: a person has to agree, and the turn waits for them over restarts. */
const publishTool = (receiver: ReceiverAddress) => ({
  ...postTool(receiver),
  description: 'Publishes a text for everybody to see.',
  approval: 'required' as const,
  unattended: 'park' as const,
});

/** A model's path may not leave the project. */
function inside(project: string, path: string): string {
  const target = resolve(project, path);
  if (!target.startsWith(project + sep)) throw new Error(`${path} is outside of the project`);
  return target;
}

/** Effect `none`: after a crash it simply runs again. */
const readTool = (project: string) =>
  tool({
    description: 'Reads a file of the project.',
    input: texts('path'),
    effect: 'none',
    execute: async ({ path }) => ({ type: 'text', value: await readFile(inside(project, path), 'utf8') }),
  });

/** A real command that changes nothing: `none` as well. */
const testTool = (project: string) =>
  tool({
    description: 'Runs a test file of the project with Node.',
    input: texts('path'),
    effect: 'none',
    async execute({ path }, { signal }) {
      // Without this variable a run of Node's own test runner around us would be told the result, in its own format.
      const { NODE_TEST_CONTEXT: _outer, ...env } = process.env;
      const { stdout } = await run(process.execPath, [inside(project, path)], { cwd: project, env, signal });
      const passed = /^\D*pass (\d+)$/m.exec(stdout)?.[1];
      return { passed: Number(passed ?? Number.NaN) || 0 };
    },
  });

/** Effect `idempotent`: after a crash it runs again with the same key, and the second time changes nothing. */
const writeTool = (project: string) =>
  tool({
    description: 'Writes a file of the project, whole.',
    input: texts('path', 'text'),
    effect: 'idempotent',
    async execute({ path, text }, call) {
      const target = inside(project, path);
      const temporary = `${target}.${call.idempotencyKey.slice(-8)}.tmp`;
      await writeFile(temporary, text);
      await pause(10);
      // A rename is all or nothing: nobody ever reads half a file.
      await rename(temporary, target);
      report(call, { landed: true });
      await pause(10);
      return { bytes: text.length };
    },
  });

/** Effect `external`: a line too much would be there for good. The key is in the line, so the file can be asked. */
const appendTool = (project: string) =>
  tool({
    description: 'Appends a line to a file of the project.',
    input: texts('path', 'line'),
    effect: 'external',
    async execute({ path, line }, call) {
      await pause(15);
      await appendFile(inside(project, path), `${line} [${call.idempotencyKey}]\n`);
      report(call, { landed: true });
      await pause(220);
      return { appended: true };
    },
    /** The line was written by the process that died, so nothing of it can still be under way. */
    async reconcile({ input, idempotencyKey }, call) {
      const landed = (await textOf(inside(project, input.path))).includes(`[${idempotencyKey}]`);
      report(call, { reconcile: landed ? 'the file has its key' : 'the file does not have its key' });
      return landed ? { outcome: 'succeeded', output: { appended: true } } : { outcome: 'notStarted' };
    },
  });

/** A file that nobody has written yet has no line of anybody's. */
const textOf = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
