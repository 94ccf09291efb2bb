// A vitest reporter that ends the output with `N passed, N failed`, alone on a line, which is the line CI counts.
// The line and the exit code never disagree: a file that fails to import, a failing hook, an unhandled error and a
// test that was started but never ended all count as failed, and a run without a single test has failed.
import { writeSync } from 'node:fs';

export default class ClosingLine {
  /** Totals of the latest run; `undefined` until one has ended. */
  totals;

  constructor() {
    // Whatever vitest prints while it closes comes before this: nothing can be printed after 'exit'.
    process.once('exit', () => this.close());
  }

  onTestRunEnd(modules, unhandledErrors) {
    let passed = 0;
    let failed = unhandledErrors.length;
    for (const module of modules) {
      failed += module.errors().length;
      for (const suite of module.children.allSuites()) failed += suite.errors().length;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') passed += 1;
        else if (state !== 'skipped') failed += 1;
      }
    }
    this.totals = { passed, failed };
  }

  close() {
    const { passed, failed } = this.totals ?? { passed: 0, failed: 0 };
    const ok = failed === 0 && passed > 0 && !process.exitCode;
    // A run that failed for a reason no test shows (nothing ran, a worker died) still counts as one failure.
    const counted = ok ? 0 : Math.max(failed, 1);
    if (!ok && !process.exitCode) process.exitCode = 1;
    writeAll(`\n${passed} passed, ${counted} failed\n`);
  }
}

/** Writes synchronously, since nothing asynchronous runs after 'exit', and waits when a pipe is full. */
function writeAll(text) {
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      if (error.code !== 'EAGAIN') return;
    }
  }
}
