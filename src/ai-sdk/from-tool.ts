/**
 * Owns how a tool of the AI SDK becomes a tool of a turn: its schema, its output, its need of approval.
 * Must not decide what a call does to the world: only the application can say that.
 */
import { checkFields } from '../core/fields.js';
import type { Json } from '../core/json.js';
import type { ToolOutput } from '../core/messages.js';
import type { AnyTool, Schema, ToolContext } from '../core/tools.js';
import { fromOutput } from './model-outputs.js';
import { type Fields, isFields } from './specification.js';

/** What a tool of the SDK does not say of itself. */
export type DurableSide<D> = Pick<
  AnyTool<D>,
  | 'effect'
  | 'reconcile'
  | 'reconcileAfterMs'
  | 'approval'
  | 'unattended'
  | 'timeoutMs'
  | 'exclusive'
  | 'formerNames'
  | 'idempotencyKey'
> & {
  /** The generation of the AI SDK; needed where the tool has `toModelOutput`, whose arguments changed with 6. */
  readonly sdk?: 5 | 6 | 7;
};

const DURABLE: Readonly<Record<keyof DurableSide<unknown>, true>> = {
  effect: true,
  reconcile: true,
  reconcileAfterMs: true,
  approval: true,
  unattended: true,
  timeoutMs: true,
  exclusive: true,
  formerNames: true,
  idempotencyKey: true,
  sdk: true,
};

/**
 * A tool of the AI SDK 5, 6 or 7 as a tool of a turn. Its `execute` gets the call's `signal` as `abortSignal`, and
 * everything a durable tool gets (`idempotencyKey`, `deps`, `note` …) as `context` and `experimental_context`;
 * `messages` is empty. Values it yields are progress, the last one is its output. `needsApproval` becomes `approval`
 * unless `durable` says otherwise. `outputSchema`, `title` and `metadata` say something to browsers and go nowhere.
 * @throws {TypeError} names what is missing: `execute`, a JSON Schema, or `sdk`; or a field that nobody knows or nobody
 * can read; or a callback on the way of an input (`onInputStart` …), which no turn calls: its deltas are events of
 * `engine.follow()`.
 */
export function fromTool<D = unknown>(tool: object, durable: DurableSide<D> = {}): AnyTool<D> {
  checkFields(durable, DURABLE);
  const fields = (tool ?? {}) as Fields;
  const { description, inputSchema, execute, needsApproval, toModelOutput } = fields;
  const { sdk, ...side } = durable;
  if (typeof execute !== 'function') {
    throw new TypeError(
      'fromTool needs a tool with execute; tools the provider runs go to providerTools of fromLanguageModel.',
    );
  }
  if (typeof toModelOutput === 'function' && sdk === undefined) {
    throw new TypeError(
      'The tool has toModelOutput: say which generation made it, with { sdk: 5 }, { sdk: 6 } or { sdk: 7 }.',
    );
  }
  for (const callback of ['onInputStart', 'onInputDelta', 'onInputAvailable']) {
    if (fields[callback] === undefined) continue;
    throw new TypeError(`The tool has ${callback}, which no turn calls: read the deltas of engine.follow() instead.`);
  }
  checkTold(fields);
  return {
    description: textOf(description),
    input: schemaOf(inputSchema),
    ...(needsApproval === undefined ? {} : { approval: approvalOf(needsApproval) }),
    ...toldToModel(fields),
    ...side,
    async execute(input: unknown, call: ToolContext<D>): Promise<ToolOutput> {
      const output = await lastOf(execute(input, optionsOf(call)), call);
      if (typeof toModelOutput !== 'function') return outputOf(output);
      const told = await toModelOutput(sdk === 5 ? output : { toolCallId: call.callId, input, output });
      return fromOutput(told, 'toModelOutput()') as unknown as ToolOutput;
    },
  };
}

function checkTold({ strict, inputExamples }: Fields): void {
  if (strict !== undefined && typeof strict !== 'boolean') {
    throw new TypeError('The tool has a strict that must be true or false.');
  }
  if (inputExamples === undefined) return;
  const areExamples =
    Array.isArray(inputExamples) && inputExamples.every((one) => isFields(one) && one.input !== undefined);
  if (!areExamples) {
    throw new TypeError('The tool has inputExamples that must be an array of { input }: [{ input: { … } }].');
  }
}

/** What only the provider reads. */
function toldToModel({ providerOptions, strict, inputExamples }: Fields): Partial<AnyTool<unknown>> {
  const examples = inputExamples as readonly { readonly input: Json }[] | undefined;
  return {
    ...(isFields(providerOptions)
      ? { providerOptions: providerOptions as NonNullable<AnyTool<unknown>['providerOptions']> }
      : {}),
    ...(strict === undefined ? {} : { strict: strict as boolean }),
    ...(examples === undefined ? {} : { inputExamples: examples.map(({ input }) => input) }),
  };
}

const optionsOf = (call: ToolContext<unknown>): Fields => ({
  toolCallId: call.callId,
  messages: [],
  abortSignal: call.signal,
  context: call,
  experimental_context: call,
});

/** Said outright, so that data that looks like an output stays data. */
function outputOf(output: unknown): ToolOutput {
  return typeof output === 'string'
    ? { type: 'text', value: output }
    : { type: 'json', value: (output ?? null) as Json };
}

async function lastOf(given: unknown, call: ToolContext<unknown>): Promise<unknown> {
  const awaited: unknown = await given;
  if (typeof (awaited as Partial<AsyncIterable<unknown>> | null)?.[Symbol.asyncIterator] !== 'function') return awaited;
  let last: unknown;
  let first = true;
  for await (const value of awaited as AsyncIterable<unknown>) {
    if (!first) call.progress(last as Json);
    first = false;
    last = value;
  }
  return last;
}

function approvalOf(needsApproval: unknown): NonNullable<AnyTool<unknown>['approval']> {
  if (typeof needsApproval !== 'function') return needsApproval === true ? 'required' : 'never';
  return async (input: unknown, call: ToolContext<unknown>) =>
    (await needsApproval(input, optionsOf(call))) === true ? 'required' : 'never';
}

const textOf = (description: unknown): string => (typeof description === 'string' ? description : '');

/** Standard Schemas that give their JSON Schema are taken as they are; `jsonSchema()` of the SDK is wrapped. */
function schemaOf(given: unknown): Schema {
  const schema = typeof given === 'function' && !('~standard' in given) ? given() : given;
  const standard = (schema as Partial<Schema> | undefined)?.['~standard'];
  if (typeof standard?.jsonSchema?.input === 'function') return schema as Schema;
  const { jsonSchema, validate } = isFields(schema) ? schema : {};
  if (!isFields(jsonSchema) || typeof (jsonSchema as Fields).then === 'function') {
    throw new TypeError(
      'fromTool needs an inputSchema that gives its JSON Schema at once: zod 4.2 or newer, or jsonSchema({ … }) of the SDK.',
    );
  }
  return {
    '~standard': {
      version: 1,
      vendor: 'ai-sdk',
      async validate(value) {
        if (typeof validate !== 'function') return { value };
        const result = (await validate(value)) as { success: boolean; value?: unknown; error?: Error };
        return result.success ? { value: result.value } : { issues: [{ message: String(result.error?.message) }] };
      },
      jsonSchema: { input: () => jsonSchema },
    },
  };
}
