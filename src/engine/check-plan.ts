/**
 * Owns the checks of what a model call is made with, whether the engine's options or a plan of `prepareModelCall` gave
 * it: each error names the field and the fix. Must not know how a request is built from it.
 */
import { checkFields } from '../core/fields.js';
import { isProviderOptions } from '../core/messages.js';
import type { Model, ModelSettings, ToolChoice } from '../core/model.js';
import { shown } from '../core/shown.js';
import type { CallPlan } from './options.js';

const PLAN: Readonly<Record<keyof CallPlan, true>> = {
  instructions: true,
  activeTools: true,
  toolChoice: true,
  model: true,
  settings: true,
  providerOptions: true,
  messages: true,
  stop: true,
};

const SETTINGS: Readonly<Record<keyof ModelSettings, true>> = {
  maxOutputTokens: true,
  temperature: true,
  stopSequences: true,
  reasoning: true,
  responseSchema: true,
  headers: true,
};

/**
 * A plan of one call: only it is looked at, since the engine's own values were checked when the engine was made.
 * @throws {TypeError} names the field and what it has to be.
 */
export function checkPlan(plan: CallPlan, tools: unknown): void {
  if (typeof plan !== 'object') throw new TypeError('it must give an object; {} for no change.');
  checkFields(plan, PLAN);
  if (plan.model !== undefined) checkModel(plan.model);
  checkCallValues(plan, tools);
  if (plan.messages !== undefined && !Array.isArray(plan.messages)) {
    throw new TypeError('messages must be an array of messages; leave it out for the canonical list.');
  }
  if (plan.stop !== undefined && typeof plan.stop !== 'string') {
    throw new TypeError('stop must be a text: the reason why the turn stops.');
  }
}

/**
 * The values that the engine's options and a plan have in common. `tools`: the engine's option; the names of a set that
 * a function builds for each turn are that function's business.
 * @throws {TypeError} names the field and what it has to be.
 */
export function checkCallValues(given: Omit<CallPlan, 'model' | 'messages' | 'stop'>, tools: unknown): void {
  const { instructions, activeTools, toolChoice, settings, providerOptions } = given;
  const known = typeof tools === 'function' ? undefined : Object.keys(tools ?? {});
  if (instructions !== undefined) checkInstructions(instructions);
  if (activeTools !== undefined) {
    if (!Array.isArray(activeTools) || !activeTools.every(isText)) {
      throw new TypeError('activeTools must be an array of the names of tools; leave it out for all tools.');
    }
    for (const name of activeTools) checkToolName(name, 'activeTools', known);
  }
  if (toolChoice !== undefined) checkToolChoice(toolChoice, known);
  if (settings !== undefined) checkSettings(settings);
  if (providerOptions !== undefined && !isProviderOptions(providerOptions)) {
    throw new TypeError('providerOptions must be an object of options by provider: { anthropic: { … } }.');
  }
}

/** @throws {TypeError} names the field and what it has to be. */
export function checkModel(model: Model): void {
  if (typeof model?.call !== 'function') throw new TypeError('model must have a call() method.');
  const { id, contextTokens } = model;
  if (!isText(id) || id === '') throw new TypeError(`model.id must be a text that names the model, not ${shown(id)}.`);
  if (contextTokens !== undefined && !isCount(contextTokens)) {
    throw new TypeError(
      `model.contextTokens must be a whole number of tokens, not ${shown(contextTokens)}; leave it out where it is not known.`,
    );
  }
}

function checkInstructions(instructions: CallPlan['instructions']): void {
  if (typeof instructions === 'string') return;
  const isSystem = (one: unknown): boolean => isObject(one) && one.role === 'system' && isText(one.content);
  if (!Array.isArray(instructions) || !instructions.every(isSystem)) {
    throw new TypeError("instructions must be a text, or an array of messages { role: 'system', content: 'text' }.");
  }
}

function checkToolChoice(choice: ToolChoice, known: readonly string[] | undefined): void {
  if (['auto', 'none', 'required'].includes(choice as string)) return;
  if (!isObject(choice) || !isText(choice.tool)) {
    throw new TypeError("toolChoice must be 'auto', 'none', 'required' or { tool: 'name' }.");
  }
  checkFields(choice, { tool: true }, (field) => `toolChoice.${field}`);
  checkToolName(choice.tool, 'toolChoice.tool', known);
}

function checkToolName(name: string, field: string, known: readonly string[] | undefined): void {
  if (known === undefined || known.includes(name)) return;
  const there = known.length === 0 ? 'there are no tools' : `there are ${known.join(', ')}`;
  throw new TypeError(`${field} names "${name}", which is no tool; ${there}.`);
}

function checkSettings(settings: ModelSettings): void {
  if (!isObject(settings)) throw new TypeError('settings must be an object: { temperature: 0 }.');
  checkFields(settings, SETTINGS, (field) => `settings.${field}`);
  const { maxOutputTokens, temperature, stopSequences, reasoning, headers } = settings as ModelSettings;
  const wrong = (field: string, what: string): TypeError => new TypeError(`settings.${field} must be ${what}.`);
  if (maxOutputTokens !== undefined && !isCount(maxOutputTokens)) {
    throw wrong('maxOutputTokens', 'a whole number of at least 1');
  }
  if (temperature !== undefined && !Number.isFinite(temperature)) throw wrong('temperature', 'a number');
  if (stopSequences !== undefined && !(Array.isArray(stopSequences) && stopSequences.every(isText))) {
    throw wrong('stopSequences', 'an array of texts');
  }
  if (reasoning !== undefined && !isText(reasoning)) throw wrong('reasoning', 'a text');
  if (headers !== undefined && !(isObject(headers) && Object.values(headers).every(isText))) {
    throw wrong('headers', 'an object of texts by name');
  }
}

const isText = (value: unknown): value is string => typeof value === 'string';

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) > 0;

const isObject = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
