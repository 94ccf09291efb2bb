/**
 * Owns the check of tools: each error names the tool, the field and what it has to be; and what their functions have
 * to give, which is known only when they are asked. Must not know how calls are run.
 */
import { type Effect, OFF_MS } from '../../machines/index.js';
import { messageOf } from './errors.js';
import { checkFields } from './fields.js';
import { checkId } from './ids.js';
import { checkJson, toJson } from './json.js';
import { isProviderOptions } from './messages.js';
import { shown } from './shown.js';
import type { ApprovalVerdict, Schema, Tool, ToolSet } from './tools.js';

/** What the functions of a tool have to give. */
export const MUST_GIVE = {
  effect: "'none', 'idempotent' or 'external'",
  approval: "'never', 'required' or { deny: 'why' }",
  timeoutMs: 'ms of more than 0',
  exclusive: 'a text: a name that calls share',
  idempotencyKey: 'a text',
  reconcile:
    "{ outcome: 'succeeded', output }, { outcome: 'failed', error }, { outcome: 'notStarted' } or { outcome: 'unknown' }",
} as const;

const EFFECTS: Readonly<Record<Effect, true>> = { none: true, idempotent: true, external: true };

export const isEffect = (value: unknown): value is Effect => isText(value) && Object.hasOwn(EFFECTS, value);
export const isVerdict = (value: unknown): value is ApprovalVerdict =>
  value === 'never' || value === 'required' || isText((value as { deny?: unknown } | null | undefined)?.deny);
export const isTimeout = (value: unknown): value is number => Number.isFinite(value) && (value as number) > 0;

const isText = (value: unknown): value is string => typeof value === 'string';
const isFlag = (value: unknown): boolean => typeof value === 'boolean';
const isFunction = (value: unknown): boolean => typeof value === 'function';
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);

type Rule = readonly [isRight: (value: unknown) => boolean, must: string];

const orFunction = (isRight: (value: unknown) => boolean, must: string): Rule => [
  (value) => isFunction(value) || isRight(value),
  `${must}, or a function of the input`,
];

/** Fields a tool may leave out. */
const OPTIONAL: Readonly<Record<Exclude<keyof Tool, 'description' | 'input' | 'execute'>, Rule>> = {
  effect: orFunction(isEffect, MUST_GIVE.effect),
  reconcile: [isFunction, 'a function'],
  reconcileAfterMs: [
    (ms) => Number.isFinite(ms) && (ms as number) >= 0 && (ms as number) < OFF_MS,
    `ms, 0 to ${OFF_MS - 1}`,
  ],
  approval: orFunction(isVerdict, MUST_GIVE.approval),
  unattended: [(value) => value === 'refuse' || value === 'park', "'refuse' or 'park'"],
  timeoutMs: orFunction(isTimeout, MUST_GIVE.timeoutMs),
  exclusive: orFunction(isFlag, 'true or false'),
  idempotencyKey: [isFunction, 'a function of the input'],
  modelOutput: [isFunction, 'a function of the output'],
  formerNames: [isTexts, 'an array of names'],
  strict: [isFlag, 'true or false'],
  inputExamples: [Array.isArray, 'an array of inputs'],
  providerOptions: [isProviderOptions, 'an object of options by provider: { anthropic: { … } }'],
};

const KNOWN = { description: true, input: true, execute: true, ...OPTIONAL };

/**
 * A set of tools, with their schemas.
 * @throws {TypeError} names the tool and the field.
 */
export function checkTools(tools: unknown): asserts tools is ToolSet {
  if (typeof tools !== 'object' || tools === null || Array.isArray(tools)) {
    throw new TypeError('tools must be an object of tools by name.');
  }
  for (const [name, tool] of Object.entries(tools)) {
    const at = `tools.${name}`;
    checkId(name, 'the name of a tool');
    checkTool(tool, at);
    checkSchema(tool.input, `${at}.input`);
  }
}

/**
 * One tool without its schema, which may name what is not defined yet.
 * @throws {TypeError} names the field.
 */
export function checkTool(tool: unknown, at: string): asserts tool is Tool {
  if (typeof tool !== 'object' || tool === null) throw new TypeError(`${at} must be a tool.`);
  checkFields(tool, KNOWN, (field) => `${at}.${field}`);
  const { execute, description, inputExamples } = tool as Partial<Tool>;
  if (!isFunction(execute)) throw new TypeError(`${at}.execute must be a function.`);
  if (!isText(description)) throw new TypeError(`${at}.description must be a string, for the model.`);
  for (const [field, [isRight, must]] of Object.entries(OPTIONAL)) {
    const value = (tool as { readonly [field: string]: unknown })[field];
    if (value !== undefined && !isRight(value)) {
      throw new TypeError(`${at}.${field} must be ${must}, not ${shown(value)}.`);
    }
  }
  if (inputExamples === undefined) return;
  checkTellable(() => checkJson(inputExamples, 'inputExamples'), `${at}.inputExamples cannot be told to the model`);
}

/** @throws {TypeError} for what is no schema, or has no JSON Schema. */
export function checkSchema(schema: Schema | undefined, field: string): void {
  const standard = schema?.['~standard'];
  if (typeof standard?.validate !== 'function' || typeof standard?.jsonSchema?.input !== 'function') {
    throw new TypeError(`${field} must be a Standard Schema with JSON Schema (zod >= 4.2, or jsonSchema({ … })).`);
  }
  const { jsonSchema } = standard;
  checkTellable(
    () => toJson(jsonSchema.input({ target: 'draft-07' }), field),
    `${field} cannot be told to the model as JSON Schema`,
  );
}

function checkTellable(check: () => unknown, what: string): void {
  try {
    check();
  } catch (thrown) {
    throw new TypeError(`${what}: ${messageOf(thrown)}`);
  }
}
