/**
 * Owns what a matrix found: which effects are missing or too many in a schedule, and the sums of all, as a table.
 * Must not know how schedules run.
 */
import { type CrashRun, type Effect, type ParkedCall, WITHOUT_VERDICT } from './crash-run.js';
import { scheduleText } from './crash-schedule.js';

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
  /** Calls that take effect, by what they are about. */
  readonly calls: (tool: string) => ReadonlyMap<string, number>;
  readonly outcome: string | undefined;
}

interface Counted {
  readonly doubled: number;
  readonly lost: number;
}

function countsByKey(effects: readonly Effect[], tool: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const effect of effects) if (effect.tool === tool) counts.set(effect.key, (counts.get(effect.key) ?? 0) + 1);
  return counts;
}

/** How many keys there are for each thing that calls of this tool are about. */
function callsOf(calls: readonly (Effect | ParkedCall)[], tool: string): ReadonlyMap<string, number> {
  const keys = new Map<string, Set<unknown>>();
  for (const call of calls) {
    if (call.tool !== tool) continue;
    const known = keys.get(call.about) ?? new Set();
    // A call that was never dispatched has no key, and is one of its own.
    keys.set(call.about, known.add(call.key ?? call));
  }
  return new Map([...keys].map(([about, of]) => [about, of.size]));
}

/** What a run without a crash did; `effects` replaces how often a call of a tool takes effect. */
export function expectedOf(
  run: CrashRun,
  effects: { readonly [tool: string]: number },
  outcome: string | undefined,
): Expected {
  return {
    perCall: (tool) => effects[tool] ?? Math.max(1, ...countsByKey(run.effects, tool).values()),
    calls: (tool) => callsOf(run.effects, tool),
    outcome,
  };
}

function counted(run: CrashRun, tool: string, expected: Expected): Counted {
  const byKey = countsByKey(run.effects, tool);
  const counts = [...byKey.values()];
  const each = expected.perCall(tool);
  // A call in doubt whose effect took place excuses no other one that is missing.
  const parked = run.parked.filter(({ key }) => !byKey.has(key ?? ''));
  const { missing, more } = compared(expected.calls(tool), callsOf(run.effects, tool), callsOf(parked, tool));
  return {
    // A call that takes place under another key than in any other run is one too many as well.
    doubled: sumOf(counts, (count) => count - each) + more * each,
    lost: sumOf(counts, (count) => each - count) + missing * each,
  };
}

type Calls = ReadonlyMap<string, number>;

/**
 * Calls that are missing, and that are too many. One that is done a second time under another key stands for no other
 * that is missing. What the run without a crash knew nothing of may stand for one: a model may say it differently.
 */
function compared(wanted: Calls, found: Calls, waiting: Calls): { readonly missing: number; readonly more: number } {
  let missing = 0;
  let more = 0;
  for (const [about, count] of wanted) {
    const there = found.get(about) ?? 0;
    more += Math.max(0, there - count);
    missing += Math.max(0, count - there - (waiting.get(about) ?? 0));
  }
  const others = (calls: Calls): number => sumOf([...calls], ([about, count]) => (wanted.has(about) ? 0 : count));
  const done = others(found);
  return { missing: Math.max(0, missing - done - others(waiting)), more: more + Math.max(0, done - missing) };
}

function sumOf<T>(list: readonly T[], excess: (one: T) => number): number {
  let total = 0;
  for (const one of list) total += Math.max(0, excess(one));
  return total;
}

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
