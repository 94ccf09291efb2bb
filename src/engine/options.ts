/**
 * Owns what a service hands to the engine, and the settings that come of it. Must not know how any of it is used, nor
 * how it is checked: see check-options.ts and check-plan.ts.
 */
import {
  ATTENDED_LIMITS,
  type Limits,
  type RecoveryPolicy,
  type TurnMachine,
  UNATTENDED_LIMITS,
} from '../../machines/index.js';
import type { Migrate } from '../core/checkpoint.js';
import type { TurnEvent, TurnOutcome } from '../core/events.js';
import type { Json } from '../core/json.js';
import type { LoopDetector } from '../core/loop-detector.js';
import type { Message, ProviderOptions, SystemMessage, Usage } from '../core/messages.js';
import type { Model, ModelSettings, ToolChoice } from '../core/model.js';
import type { Clock, Ids, TurnStore } from '../core/ports.js';
import type { Head } from '../core/records.js';
import type { Schema, ToolSet } from '../core/tools.js';
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
  /** It was interrupted and goes on; not where it only waited for a person. */
  readonly recovered: boolean;
  /** The recovery attempt; 0 in the first run. */
  readonly attempt: number;
  /** Of the turn so far. */
  readonly usage: Usage;
  /** Of the turn so far, retries included. */
  readonly modelCalls: number;
  /** ms since the epoch. */
  readonly startedAt: number;
}

/** What one model call is made with; never stored, so a new date or deploy rewrites nothing. */
export interface CallPlan {
  /** In front of the messages, and in no transcript. Default: none. */
  readonly instructions?: string | readonly SystemMessage[];
  /** Names of the tools the model may see. Default: all. */
  readonly activeTools?: readonly string[];
  /** Default `auto`; the last answer of a turn that stops is always asked for with `none`. */
  readonly toolChoice?: ToolChoice;
  /** Default: the engine's. */
  readonly model?: Model;
  readonly settings?: ModelSettings;
  /** Verbatim to the provider. */
  readonly providerOptions?: ProviderOptions;
  /** Instead of the canonical list, for this call only. */
  readonly messages?: readonly Message[];
  /** Asks the turn to stop, with this reason. */
  readonly stop?: string;
}

export interface EngineOptions<D = undefined, X = Json> extends Omit<CallPlan, 'messages' | 'stop'> {
  /** A stable id of what runs here; `recover()` touches only its turns. */
  readonly agent: string;
  /** Stays open when the engine closes. */
  readonly store: TurnStore;
  readonly model: Model;
  /** Tools by name, or a function that builds them for every attempt; that one has 60 s together with `dependencies`. */
  readonly tools?: ToolSet<D> | ((turn: TurnInfo<X>, deps: D) => ToolSet<D> | Promise<ToolSet<D>>);
  /** Built anew for every attempt from the durable context; never stored. At most 60 s. */
  dependencies?(turn: TurnInfo<X>, signal: AbortSignal): D | Promise<D>;
  /** Before every model call. A throw counts as a network error of the model. */
  prepareModelCall?(turn: TurnInfo<X>, messages: readonly Message[], deps: D): CallPlan | Promise<CallPlan>;
  /** At least once across crashes: the marker stays until it resolves. */
  onOutcome?(outcome: TurnOutcome, turn: TurnInfo<X>, deps: D): void | Promise<void>;
  /** Hears everything, after its commit where it has one. A throw is a warning of the process and stops nothing. */
  onEvent?(event: TurnEvent): void;
  /** For all turns; a turn's own come on top. Default: by presence, `ATTENDED_LIMITS` or `UNATTENDED_LIMITS`. */
  readonly limits?: Partial<Limits>;
  /** Schemas of final answers, by the names that inputs ask for. */
  readonly answers?: { readonly [name: string]: Schema };
  /** Takes secrets out of what is announced; what is stored is not touched. */
  redact?(value: Json, where: { readonly event: string; readonly tool?: string }): Json;
  /** false: interrupted turns are found and held. Default true, with the bounds of `RecoveryPolicy`. */
  readonly recovery?: boolean | Partial<Omit<RecoveryPolicy, 'enabled'>>;
  /** Makes a list shorter that is too long for the model. Default: a summary by the model. false: never. */
  readonly compact?: Compactor | false;
  /** Judges the last calls after every batch. Default: the engine's own rules. false: never. */
  readonly loopDetector?: LoopDetector | false;
  /** Brings checkpoints of another machine or version along. Default: their turns are abandoned. */
  readonly migrate?: Migrate;
  /** `turnMachine.provide({ guards, delays })`: other conditions, the same order. Default: `turnMachine`. */
  readonly machine?: TurnMachine;
  /** Default: the system's. For tests. */
  readonly clock?: Clock;
  /** Default: 96 random bits. For tests. */
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

/** The limits of a turn: what was given for it, then the engine's, then the defaults by presence. */
export function resolveLimits(engine: Partial<Limits>, given: Partial<Limits>, attended: boolean): Limits {
  return { ...(attended ? ATTENDED_LIMITS : UNATTENDED_LIMITS), ...engine, ...given };
}

/** The limit on outputs of a turn that no driver runs. */
export const outputBytesOf = (settings: Settings, head: Pick<Head, 'limits'>): number =>
  resolveLimits(settings.limits ?? {}, head.limits, false).outputBytes;
