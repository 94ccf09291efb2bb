/**
 * Owns what a tool is to the engine: its schema, its effect on the world, and what a resumed turn may do with it.
 * Must not know how calls are stored or run.
 */
import type { Effect } from '../../machines/index.js';
import { messageOf } from './errors.js';
import { copyOf, type Json } from './json.js';
import type { ProviderOptions, ToolOutput } from './messages.js';
import type { DoubtCause } from './records.js';
import { checkTool } from './tool-check.js';

/** A Standard Schema that also gives its JSON Schema, as zod 4.2 and others do. */
export interface Schema<T = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: unknown; readonly output: T } | undefined;
    validate(value: unknown): unknown;
    readonly jsonSchema: { input(options: { target: string }): Record<string, unknown> };
  };
}

/** Whether a person has to agree before a call runs. */
export type ApprovalVerdict = 'never' | 'required' | { readonly deny: string };

/** What a tool gets with its input. */
export interface ToolContext<D = unknown> {
  /** Aborts on cancel, on the tool's time-out and when the process closes. */
  readonly signal: AbortSignal;
  /** The same for every dispatch of this call: give it to the receiver. */
  readonly idempotencyKey: string;
  /** A person is there now. */
  readonly attended: boolean;
  /** The turn was interrupted and goes on by itself. */
  readonly recovered: boolean;
  readonly callId: string;
  readonly turnId: string;
  readonly sessionId: string;
  readonly deps: D;
  /** Durable when it resolves, and given to `reconcile`: write down what only the tool knows. */
  note(value: Json): Promise<void>;
  /** For people who watch; never stored. */
  progress(value: Json): void;
}

/** A call that was dispatched and whose outcome is not known. */
export interface CallInDoubt<I = unknown> {
  readonly input: I;
  readonly idempotencyKey: string;
  /** ms since the epoch. */
  readonly dispatchedAt: number;
  readonly cause: DoubtCause;
  readonly notes: readonly Json[];
}

/** What became of a call in doubt. */
export type Settlement =
  | { readonly outcome: 'succeeded'; readonly output: Json | ToolOutput }
  | { readonly outcome: 'failed'; readonly error: string }
  | { readonly outcome: 'notStarted' };

export interface Tool<I = unknown, D = unknown> {
  /** For the model. */
  readonly description: string;
  readonly input: Schema<I>;
  /** What a call does to the world outside; decided once per call. Default `external`, the one that is never repeated on its own. */
  readonly effect?: Effect | ((input: NoInfer<I>) => Effect);
  /** Default `never`. */
  readonly approval?:
    | ApprovalVerdict
    | ((input: NoInfer<I>, call: ToolContext<D>) => ApprovalVerdict | Promise<ApprovalVerdict>);
  /** What happens to a call that needs approval when nobody is there. Default `refuse`, with a reason the model reads. */
  readonly unattended?: 'refuse' | 'park';
  /** How long one call may take, in ms. Default: the limit `toolMs`. */
  readonly timeoutMs?: number | ((input: NoInfer<I>) => number);
  /** How long after its dispatch a call could still land, in ms: `reconcile` is asked when that is over. Default 0. */
  readonly reconcileAfterMs?: number;
  /** Calls with the same name here never overlap; `true` is the tool's own name. */
  readonly exclusive?: boolean | ((input: NoInfer<I>) => string);
  /** Names this tool had in earlier deploys. */
  readonly formerNames?: readonly string[];
  /** Providers that can hold the model to the schema do so. Default: what the provider does by itself. */
  readonly strict?: boolean;
  /** Inputs that show the model what a call looks like, where the provider has a place for them. */
  readonly inputExamples?: readonly NoInfer<I>[];
  readonly providerOptions?: ProviderOptions;
  /** The key for the receiver, instead of the engine's. */
  idempotencyKey?(input: NoInfer<I>): string;
  execute(
    input: NoInfer<I>,
    call: ToolContext<D>,
  ): Json | undefined | ToolOutput | Promise<Json | undefined | ToolOutput>;
  /** What the model reads of an output. */
  modelOutput?(output: Json, input: NoInfer<I>): ToolOutput;
  /** Finds out what became of a call in doubt. Must say `unknown` while the call could still land. */
  reconcile?(call: CallInDoubt<NoInfer<I>>, context: ToolContext<D>): Promise<Settlement | { outcome: 'unknown' }>;
}

/** A tool of whatever input. */
// biome-ignore lint/suspicious/noExplicitAny: the input of each call is checked by the tool's own schema.
export type AnyTool<D = any> = Tool<any, D>;

export type ToolSet<D = unknown> = { readonly [name: string]: AnyTool<D> };

/**
 * Types a tool by its schema, which only the engine checks.
 * @throws {TypeError} for what is no object, and for a field that is unknown or wrong, by its name.
 */
export function tool<I, D = unknown>(definition: Tool<I, D>): Tool<I, D> {
  if (typeof definition !== 'object' || definition === null) {
    throw new TypeError('tool needs an object: { description, input, execute, … }.');
  }
  checkTool(definition, 'tool');
  return definition;
}

/** Types tools by their schemas, with the application's dependencies fixed. */
export const toolFor =
  <D>() =>
  <I>(definition: Tool<I, D>): Tool<I, D> =>
    tool(definition);

/** A ready `reconcile` that never parks: the model is told to look before it repeats. */
export const reportToModel = (call: CallInDoubt): Promise<Settlement> =>
  Promise.resolve({
    outcome: 'failed',
    error: `The outcome of this call is unknown (${call.cause}). It may have taken effect: check before you repeat it.`,
  });

/**
 * A schema from plain JSON Schema, with a check of your own where the types matter at run time.
 * @throws {TypeError} for a schema that is no object, or a check that is no function.
 */
export function jsonSchema<T>(
  schema: Record<string, unknown>,
  check?: (value: unknown) => string | undefined,
): Schema<T> {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
    throw new TypeError("jsonSchema needs a JSON Schema as an object: { type: 'object', properties: { … } }.");
  }
  if (check !== undefined && typeof check !== 'function') {
    throw new TypeError('the check of jsonSchema must be a function that gives what is wrong, or undefined.');
  }
  return {
    '~standard': {
      version: 1,
      vendor: 'durable-turn',
      validate(value) {
        const fault = check?.(value);
        return fault === undefined ? { value } : { issues: [{ message: fault }] };
      },
      jsonSchema: { input: () => schema },
    },
  };
}

export type Validated = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: string };

/** Runs a schema, synchronous or not; what it throws is a fault of the input, not of the engine. */
export async function validate(schema: Schema, value: unknown): Promise<Validated> {
  try {
    // A copy: what a tool does to its input must not reach the journal or the transcript.
    const result = (await schema['~standard'].validate(copyOf(value))) as {
      value?: unknown;
      issues?: readonly { message: string; path?: readonly (PropertyKey | { key: PropertyKey })[] }[];
    };
    if (result.issues === undefined) return { ok: true, value: result.value };
    const lines = result.issues.map((issue) => {
      const path = (issue.path ?? []).map((key) => String(typeof key === 'object' ? key.key : key)).join('.');
      return path === '' ? issue.message : `${path}: ${issue.message}`;
    });
    return { ok: false, error: lines.join('; ') };
  } catch (thrown) {
    return { ok: false, error: messageOf(thrown) };
  }
}
