/**
 * Owns the checks of what a service hands to the engine: each error names the field and the fix, before anything is
 * written. Must not know how any of it is used.
 */
import {
  DEFAULT_RECOVERY_POLICY,
  LIMIT_UNITS,
  type LimitName,
  type Limits,
  OFF_MS,
  type RecoveryPolicy,
  turnMachine,
} from '../../machines/index.js';
import { checkFields } from '../core/fields.js';
import { checkId } from '../core/ids.js';
import { shown } from '../core/shown.js';
import { checkSchema, checkTools } from '../core/tool-check.js';
import { checkCallValues, checkModel } from './check-plan.js';
import { randomIds, systemClock } from './clock.js';
import type { EngineOptions, Settings } from './options.js';
import type { RecoverOptions } from './turn-engine.js';

/** A filter that is misspelt would give everything. @throws {TypeError} */
export function checkFilter(filter: { readonly sessionId?: string }): void {
  if (typeof filter !== 'object' || filter === null)
    throw new TypeError('the filter must be an object: { sessionId }.');
  checkFields(filter, { sessionId: true });
  if (filter.sessionId !== undefined) checkId(filter.sessionId, 'sessionId');
}

/** @throws {TypeError} names the field and its range. */
export function checkRecover(options: RecoverOptions): RecoverOptions {
  checkFields(options, { concurrency: true, everyMs: true });
  const { concurrency, everyMs } = options;
  if (concurrency !== undefined && !(Number.isSafeInteger(concurrency) && concurrency > 0)) {
    throw new TypeError('concurrency must be a whole number of at least 1.');
  }
  if (everyMs !== undefined && !(Number.isSafeInteger(everyMs) && everyMs > 0 && everyMs < OFF_MS)) {
    throw new TypeError(`everyMs must be whole ms, 1 to ${OFF_MS - 1}; leave it out for one round.`);
  }
  return options;
}

const CLOSE_GRACE_MS = 5_000;

/** The grace of `close()`, in ms. @throws {TypeError} names the field and its range. */
export function checkGrace(options: { readonly graceMs?: number }): number {
  checkFields(options, { graceMs: true });
  const { graceMs = CLOSE_GRACE_MS } = options;
  if (!Number.isSafeInteger(graceMs) || graceMs < 0 || graceMs > OFF_MS) {
    throw new TypeError(`graceMs must be whole ms, 0 to ${OFF_MS}.`);
  }
  return graceMs;
}

// biome-ignore lint/suspicious/noExplicitAny: only the names count.
const OPTIONS: Readonly<Record<keyof EngineOptions<any, any>, true>> = {
  agent: true,
  store: true,
  model: true,
  tools: true,
  dependencies: true,
  prepareModelCall: true,
  instructions: true,
  activeTools: true,
  toolChoice: true,
  settings: true,
  providerOptions: true,
  onOutcome: true,
  onEvent: true,
  limits: true,
  answers: true,
  redact: true,
  recovery: true,
  compact: true,
  loopDetector: true,
  migrate: true,
  machine: true,
  clock: true,
  ids: true,
};

/** @throws {TypeError} names the option and what it has to be. */
// biome-ignore lint/suspicious/noExplicitAny: see above.
export function checkOptions(options: EngineOptions<any, any>): Settings {
  if (typeof options !== 'object' || options === null) throw new TypeError('createTurnEngine needs an options object.');
  checkFields(options, OPTIONS);
  checkId(options.agent, 'agent');
  if (typeof options.store?.commit !== 'function') {
    throw new TypeError("store must be a TurnStore; open one with openLevelStore() from 'durable-turn/level'.");
  }
  checkModel(options.model);
  if (options.tools !== undefined && typeof options.tools !== 'function') checkTools(options.tools);
  checkCallValues(options, options.tools);
  if (options.answers !== undefined) checkAnswers(options.answers);
  for (const name of ['dependencies', 'prepareModelCall', 'onOutcome', 'onEvent', 'redact', 'migrate'] as const) {
    if (options[name] !== undefined && typeof options[name] !== 'function') {
      throw new TypeError(`${name} must be a function.`);
    }
  }
  for (const name of ['compact', 'loopDetector'] as const) {
    if (options[name] !== undefined && options[name] !== false && typeof options[name] !== 'function') {
      throw new TypeError(`${name} must be a function, or false for none; leave it out for the engine's own.`);
    }
  }
  checkPorts(options);
  return {
    ...options,
    limits: checkLimits(options.limits ?? {}, 'limits'),
    machine: options.machine ?? turnMachine,
    clock: options.clock ?? systemClock,
    ids: options.ids ?? randomIds,
    policy: checkPolicy(options.recovery),
  };
}

// biome-ignore lint/suspicious/noExplicitAny: see above.
function checkPorts({ machine, clock, ids }: EngineOptions<any, any>): void {
  // By shape: a copy of turnMachine from another copy of the package is one as well.
  if (machine !== undefined && typeof machine?.getInitialSnapshot !== 'function') {
    throw new TypeError('machine must be a turn machine: turnMachine.provide({ guards, delays }).');
  }
  if (clock !== undefined && (typeof clock?.now !== 'function' || typeof clock.after !== 'function')) {
    throw new TypeError('clock must have now() and after(ms, fire); leave it out for the system’s.');
  }
  if (ids !== undefined && typeof ids !== 'function') throw new TypeError('ids must be a function that gives new ids.');
}

function checkAnswers(answers: unknown): void {
  if (typeof answers !== 'object' || answers === null || Array.isArray(answers)) {
    throw new TypeError('answers must be an object of schemas by name.');
  }
  for (const [name, schema] of Object.entries(answers)) checkSchema(schema, `answers.${name}`);
}

/**
 * The given limits, with `Infinity` as 0: both mean off.
 * @throws {TypeError} names the limit, its unit and its range.
 */
export function checkLimits(given: Partial<Limits>, field: string): { readonly [name in LimitName]?: number } {
  if (typeof given !== 'object' || given === null) throw new TypeError(`${field} must be an object of limits.`);
  const checked: { [name in LimitName]?: number } = {};
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const unit = LIMIT_UNITS[name as LimitName];
    if (unit === undefined) {
      throw new TypeError(`${field}.${name} is no limit; there are ${Object.keys(LIMIT_UNITS).join(', ')}.`);
    }
    const most = unit === 'ms' ? OFF_MS - 1 : Number.MAX_SAFE_INTEGER;
    const finite = value === Number.POSITIVE_INFINITY ? 0 : value;
    if (!Number.isSafeInteger(finite) || finite < 0 || finite > most) {
      throw new TypeError(
        `${field}.${name} must be whole ${unit}, 0 to ${most} (0 or Infinity: off), not ${shown(value)}.`,
      );
    }
    if (finite === 0 && (name === 'parallelCalls' || name === 'toolMs')) {
      throw new TypeError(`${field}.${name} cannot be off; give a number of at least 1.`);
    }
    checked[name as LimitName] = finite;
  }
  return checked;
}

function checkPolicy(recovery: EngineOptions['recovery']): RecoveryPolicy {
  if (recovery === undefined || recovery === true) return DEFAULT_RECOVERY_POLICY;
  if (recovery === false) return { ...DEFAULT_RECOVERY_POLICY, enabled: false };
  if (typeof recovery !== 'object' || recovery === null)
    throw new TypeError('recovery must be true, false or an object.');
  for (const [name, value] of Object.entries(recovery)) {
    if (!Object.hasOwn(DEFAULT_RECOVERY_POLICY, name) || name === 'enabled') {
      throw new TypeError(`recovery.${name} is no option; there are stalenessMs, attemptsWithoutProgress, recoveries.`);
    }
    if (!Number.isSafeInteger(value) || (value as number) < 0) {
      throw new TypeError(`recovery.${name} must be a whole number of at least 0, not ${shown(value)}.`);
    }
  }
  return { ...DEFAULT_RECOVERY_POLICY, ...recovery };
}
