/**
 * Owns what a service hands to the engine: its types, and the checks that name the field and the fix.
 * Must not know how any of it is used.
 */
import {
  ATTENDED_LIMITS,
  DEFAULT_RECOVERY_POLICY,
  LIMIT_UNITS,
  type LimitName,
  type Limits,
  OFF_MS,
  type RecoveryPolicy,
  type TurnMachine,
  turnMachine,
  UNATTENDED_LIMITS,
} from '../../machines/index.js';
import type { Migrate } from '../core/checkpoint.js';
import type { TurnEvent, TurnOutcome } from '../core/events.js';
import { checkId } from '../core/ids.js';
import type { Json } from '../core/json.js';
import type { LoopDetector } from '../core/loop-detector.js';
import type { Message, ProviderOptions, SystemMessage, Usage } from '../core/messages.js';
import type { Model, ModelSettings, ToolChoice } from '../core/model.js';
import type { Clock, Ids, TurnStore } from '../core/ports.js';
import type { Head } from '../core/records.js';
import type { Schema, ToolSet } from '../core/tools.js';
import { randomIds, systemClock } from './clock.js';
import type { Compactor } from './compactor.js';

/** What callbacks learn about the turn they serve. */
export interface TurnInfo<X = Json> {
  readonly agent: string;
  readonly sessionId: string;
  readonly turnId: string;
  /** Durable, as it was given with the input. */
  readonly context: X;
  /** A person is there now. */
  readonly attended: boolean;
  readonly recovered: boolean;
  /** The recovery attempt; 0 in the first run. */
  readonly attempt: number;
  readonly usage: Usage;
  readonly modelCalls: number;
  /** ms since the epoch. */
  readonly startedAt: number;
}

/** What one model call is made with; never stored, so a new date or deploy rewrites nothing. */
export interface CallPlan {
  readonly instructions?: string | readonly SystemMessage[];
  /** Names of the tools the model may see. Default: all. */
  readonly activeTools?: readonly string[];
  readonly toolChoice?: ToolChoice;
  readonly model?: Model;
  readonly settings?: ModelSettings;
  readonly providerOptions?: ProviderOptions;
  /** Instead of the canonical list, for this call only. */
  readonly messages?: readonly Message[];
  /** Asks the turn to stop, with this reason. */
  readonly stop?: string;
}

export interface EngineOptions<D = undefined, X = Json> extends Omit<CallPlan, 'messages' | 'stop'> {
  /** A stable id of what runs here; `recover()` touches only its turns. */
  readonly agent: string;
  readonly store: TurnStore;
  readonly model: Model;
  readonly tools?: ToolSet<D> | ((turn: TurnInfo<X>, deps: D) => ToolSet<D> | Promise<ToolSet<D>>);
  /** Built anew for every attempt from the durable context; never stored. At most 60 s. */
  dependencies?(turn: TurnInfo<X>, signal: AbortSignal): D | Promise<D>;
  /** Before every model call. A throw counts as a network error of the model. */
  prepareModelCall?(turn: TurnInfo<X>, messages: readonly Message[], deps: D): CallPlan | Promise<CallPlan>;
  /** At least once across crashes: the marker stays until it resolves. */
  onOutcome?(outcome: TurnOutcome, turn: TurnInfo<X>, deps: D): void | Promise<void>;
  onEvent?(event: TurnEvent): void;
  readonly limits?: Partial<Limits>;
  /** Schemas of final answers, by the names that inputs ask for. */
  readonly answers?: { readonly [name: string]: Schema };
  /** Takes secrets out of what is announced; what is stored is not touched. */
  redact?(value: Json, where: { readonly event: string; readonly tool?: string }): Json;
  /** false: interrupted turns are found and held. */
  readonly recovery?: boolean | Partial<Omit<RecoveryPolicy, 'enabled'>>;
  /** Makes a list shorter that is too long for the model. Default: a summary by the model. false: never. */
  readonly compact?: Compactor | false;
  /** Judges the last calls after every batch. Default: the engine's own rules. false: never. */
  readonly loopDetector?: LoopDetector | false;
  readonly migrate?: Migrate;
  /** `turnMachine.provide({ guards, delays })`: other conditions, the same order. */
  readonly machine?: TurnMachine;
  readonly clock?: Clock;
  readonly ids?: Ids;
}

/** The options with every default in place. Inside the engine the application's own types do not matter. */
// biome-ignore lint/suspicious/noExplicitAny: dependencies and context are the application's, the engine passes them on.
export type Settings = EngineOptions<any, any> & {
  readonly machine: TurnMachine;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly policy: RecoveryPolicy;
};

/** @throws {TypeError} names the option and what it has to be. */
// biome-ignore lint/suspicious/noExplicitAny: see above.
export function checkOptions(options: EngineOptions<any, any>): Settings {
  if (typeof options !== 'object' || options === null) throw new TypeError('createTurnEngine needs an options object.');
  checkId(options.agent, 'agent');
  if (typeof options.store?.commit !== 'function') {
    throw new TypeError("store must be a TurnStore; open one with openLevelStore() from 'durable-turn/level'.");
  }
  if (typeof options.model?.call !== 'function') throw new TypeError('model must have a call() method.');
  if (typeof options.tools === 'object') checkTools(options.tools);
  for (const [name, schema] of Object.entries(options.answers ?? {})) checkSchema(schema, `answers.${name}`);
  for (const name of ['dependencies', 'prepareModelCall', 'onOutcome', 'onEvent', 'redact', 'migrate'] as const) {
    if (options[name] !== undefined && typeof options[name] !== 'function') {
      throw new TypeError(`${name} must be a function.`);
    }
  }
  return {
    ...options,
    limits: checkLimits(options.limits ?? {}, 'limits'),
    machine: options.machine ?? turnMachine,
    clock: options.clock ?? systemClock,
    ids: options.ids ?? randomIds,
    policy: checkPolicy(options.recovery),
  };
}

/** @throws {TypeError} names the tool and the field. */
export function checkTools(tools: unknown): asserts tools is ToolSet {
  if (typeof tools !== 'object' || tools === null) throw new TypeError('tools must be an object of tools by name.');
  for (const [name, tool] of Object.entries(tools)) {
    const at = `tools.${name}`;
    checkId(name, 'the name of a tool');
    if (typeof tool?.execute !== 'function') throw new TypeError(`${at}.execute must be a function.`);
    if (typeof tool.description !== 'string') throw new TypeError(`${at}.description must be a string, for the model.`);
    checkSchema(tool.input, `${at}.input`);
    if (typeof tool.effect !== 'function' && ![undefined, 'none', 'idempotent', 'external'].includes(tool.effect)) {
      throw new TypeError(`${at}.effect must be 'none', 'idempotent', 'external' or a function of the input.`);
    }
    if (tool.reconcileAfterMs !== undefined && !(tool.reconcileAfterMs >= 0 && tool.reconcileAfterMs < OFF_MS)) {
      throw new TypeError(`${at}.reconcileAfterMs must be ms, 0 to ${OFF_MS - 1}.`);
    }
    if (![undefined, 'refuse', 'park'].includes(tool.unattended)) {
      throw new TypeError(`${at}.unattended must be 'refuse' or 'park'.`);
    }
  }
}

function checkSchema(schema: Schema | undefined, field: string): void {
  const standard = schema?.['~standard'];
  if (typeof standard?.validate !== 'function' || typeof standard?.jsonSchema?.input !== 'function') {
    throw new TypeError(`${field} must be a Standard Schema with JSON Schema (zod >= 4.2, or jsonSchema({ … })).`);
  }
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
        `${field}.${name} must be whole ${unit}, 0 to ${most} (0 or Infinity: off), not ${String(value)}.`,
      );
    }
    if (finite === 0 && (name === 'parallelCalls' || name === 'toolMs')) {
      throw new TypeError(`${field}.${name} cannot be off; give a number of at least 1.`);
    }
    checked[name as LimitName] = finite;
  }
  return checked;
}

/** The limits of a turn: what was given for it, then the engine's, then the defaults by presence. */
export function resolveLimits(engine: Partial<Limits>, given: Partial<Limits>, attended: boolean): Limits {
  return { ...(attended ? ATTENDED_LIMITS : UNATTENDED_LIMITS), ...engine, ...given };
}

/** The limit on outputs of a turn that no driver runs. */
export const outputBytesOf = (settings: Settings, head: Pick<Head, 'limits'>): number =>
  resolveLimits(settings.limits ?? {}, head.limits, false).outputBytes;

function checkPolicy(recovery: EngineOptions['recovery']): RecoveryPolicy {
  if (recovery === undefined || recovery === true) return DEFAULT_RECOVERY_POLICY;
  if (recovery === false) return { ...DEFAULT_RECOVERY_POLICY, enabled: false };
  for (const [name, value] of Object.entries(recovery)) {
    if (!Object.hasOwn(DEFAULT_RECOVERY_POLICY, name) || name === 'enabled') {
      throw new TypeError(`recovery.${name} is no option; there are stalenessMs, attemptsWithoutProgress, recoveries.`);
    }
    if (!Number.isSafeInteger(value) || (value as number) < 0) {
      throw new TypeError(`recovery.${name} must be a whole number of at least 0, not ${String(value)}.`);
    }
  }
  return { ...DEFAULT_RECOVERY_POLICY, ...recovery };
}
