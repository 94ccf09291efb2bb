/**
 * Owns what a matrix found: which effects are missing or too many in a schedule, and the sums of all, as a table.
 * Must not know how schedules run.
 */
import type { CrashRun } from './crash-run.js';
import { scheduleText } from './crash-schedule.js';
import type { LedgerEntry } from './ledger.js';

export interface CrashFailure {
  /** Given as `seed`, it runs this schedule alone. */
  readonly seed: string;
  /** What is wrong with it. */
  readonly reason: string;
  /** Where its processes died. */
  readonly at: string;
  readonly timeline: string;
}

/** Sums over all schedules. `doubled`, `lost` and `parked` have the tools of which there are any, by name. */
export interface CrashReport {
  readonly schedules: number;
  /** Crashes that took place; a process may end before it comes to its point. */
  readonly crashes: number;
  /** Effects that took place. */
  readonly effects: Record<string, number>;
  /** Effects beyond those of a run without a crash. */
  readonly doubled: Record<string, number>;
  /** Effects that never took place, and about which nobody was asked. */
  readonly lost: Record<string, number>;
  /** Calls that wait for a person in the end. */
  readonly parked: Record<string, number>;
  /** Schedules by the status they ended with. */
  readonly outcomes: Record<string, number>;
  /** Schedules with an effect doubled or lost, another outcome than expected, or none. */
  readonly failures: number;
  readonly firstFailure?: CrashFailure;
  toString(): string;
}

/** What is right: how often each call of a tool takes effect, how many calls there are, and how it ends. */
export interface Expected {
  readonly perCall: (tool: string) => number;
  readonly calls: (tool: string) => number;
  readonly outcome: string | undefined;
}

interface Counted {
  readonly doubled: number;
  readonly lost: number;
}

function countsByKey(effects: readonly LedgerEntry[], tool: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const effect of effects) if (effect.tool === tool) counts.set(effect.key, (counts.get(effect.key) ?? 0) + 1);
  return counts;
}

/** What a run without a crash did; `effects` replaces how often a call of a tool takes effect. */
export function expectedOf(
  run: CrashRun,
  effects: { readonly [tool: string]: number },
  outcome: string | undefined,
): Expected {
  const found = (tool: string) => countsByKey(run.effects, tool);
  return {
    perCall: (tool) => effects[tool] ?? Math.max(1, ...found(tool).values()),
    calls: (tool) => found(tool).size,
    outcome,
  };
}

function counted(run: CrashRun, tool: string, expected: Expected): Counted {
  const byKey = countsByKey(run.effects, tool);
  const counts = [...byKey.values()];
  const each = expected.perCall(tool);
  // A call in doubt whose effect took place excuses no other one that is missing.
  const parked = run.parked.filter((call) => call.tool === tool && !byKey.has(call.key ?? ''));
  const missing = Math.max(0, expected.calls(tool) - byKey.size - parked.length);
  const more = Math.max(0, byKey.size - expected.calls(tool));
  return {
    // A call that takes place under another key than in any other run is one too many as well.
    doubled: sumOf(counts, (count) => count - each) + more * each,
    lost: sumOf(counts, (count) => each - count) + missing * each,
  };
}

const sumOf = (counts: readonly number[], excess: (count: number) => number): number =>
  counts.reduce((total, count) => total + Math.max(0, excess(count)), 0);

const WITHOUT_VERDICT = ['stuck', 'threw'];

/** Adds runs up. */
export class Tally {
  schedules = 0;
  crashes = 0;
  failures = 0;
  readonly effects: Record<string, number> = {};
  readonly doubled: Record<string, number> = {};
  readonly lost: Record<string, number> = {};
  readonly parked: Record<string, number> = {};
  readonly outcomes: Record<string, number> = {};
  #first: CrashFailure | undefined;
  readonly #expected: Expected;
  readonly #tools: ReadonlySet<string>;

  constructor(expected: Expected, tools: Iterable<string>) {
    this.#expected = expected;
    this.#tools = new Set(tools);
  }

  add(run: CrashRun): void {
    this.schedules += 1;
    this.crashes += run.crashes;
    bump(this.outcomes, run.outcome, 1);
    for (const { tool } of run.effects) bump(this.effects, tool, 1);
    for (const { tool } of run.parked) bump(this.parked, tool, 1);
    const reasons = this.judge(run);
    if (reasons.length === 0) return;
    this.failures += 1;
    const seed = scheduleText(run.schedule);
    const at = run.schedule.map((point, index) => `process ${index + 1} dies at ${point}`).join(', ');
    this.#first ??= { seed, at, reason: reasons.join(', '), timeline: run.timeline };
  }

  /** What is wrong with a run; its sums are added up. */
  private judge(run: CrashRun): string[] {
    const reasons: string[] = [];
    for (const tool of new Set([...this.#tools, ...run.effects.map((effect) => effect.tool)])) {
      const { doubled, lost } = counted(run, tool, this.#expected);
      bump(this.doubled, tool, doubled);
      bump(this.lost, tool, lost);
      if (doubled > 0) reasons.push(`${tool}: ${doubled} doubled`);
      if (lost > 0) reasons.push(`${tool}: ${lost} lost`);
    }
    const { outcome } = this.#expected;
    // A turn that waits for a person is told as parked, and is no failure of its own. One that was given up is, with
    // calls in doubt as well.
    const waits = run.outcome === 'parked' && run.parked.length > 0;
    const asExpected = outcome === undefined || run.outcome === outcome || waits;
    if (!asExpected || WITHOUT_VERDICT.includes(run.outcome)) reasons.push(`the outcome is ${run.outcome}`);
    return reasons;
  }

  report(seed: string): CrashReport {
    const { schedules, crashes, effects, doubled, lost, parked, outcomes, failures } = this;
    const firstFailure = this.#first;
    const report = { schedules, crashes, effects, doubled, lost, parked, outcomes, failures };
    const whole = firstFailure === undefined ? report : { ...report, firstFailure };
    const tools = [...new Set([...this.#tools, ...Object.keys(effects), ...Object.keys(parked)])];
    return { ...whole, toString: () => reportText(whole, tools, seed) };
  }
}

function bump(sums: Record<string, number>, name: string, by: number): void {
  if (by > 0) sums[name] = (sums[name] ?? 0) + by;
}

function reportText(report: Omit<CrashReport, 'toString'>, tools: readonly string[], seed: string): string {
  const { schedules, crashes, effects, doubled, lost, parked, outcomes, failures, firstFailure } = report;
  const head = ['tool', 'effects', 'doubled', 'lost', 'parked'];
  const rows = tools.map((tool) => [tool, ...[effects, doubled, lost, parked].map((sums) => String(sums[tool] ?? 0))]);
  const ends = Object.entries(outcomes).map(([outcome, count]) => `${count} ${outcome}`);
  const lines = [
    `${schedules} schedules, ${crashes} crashes, ${failures} failures; seed ${JSON.stringify(seed)}`,
    ...table([head, ...rows]),
    `outcomes: ${ends.join(', ')}`,
  ];
  if (firstFailure === undefined) return lines.join('\n');
  const { at, reason, timeline, seed: again } = firstFailure;
  return [
    ...lines,
    '',
    `first failure: ${reason}`,
    `${at}; run it alone with seed: ${JSON.stringify(again)}`,
    timeline,
  ].join('\n');
}

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}
