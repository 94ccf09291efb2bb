/**
 * Owns the check of what a model port gives beside the parts of its message: why the answer ended, what it took, and
 * the pieces on the way.
 * Must not know providers: a port that passes their own words on is told which field has them, since an unknown reason
 * would read as a clean end, and unknown counts as none.
 */
import { checkFields } from './fields.js';
import type { FinishReason, Usage } from './messages.js';
import type { ModelDelta } from './model.js';
import { shown } from './shown.js';

type Fields = { readonly [name: string]: unknown };

const FINISH_REASONS: Readonly<Record<FinishReason, true>> = {
  stop: true,
  'tool-calls': true,
  length: true,
  'content-filter': true,
  continue: true,
  other: true,
};

const COUNTS: {
  readonly [side in 'input' | 'output']: Readonly<Record<keyof Usage[side], true>>;
} = {
  input: { total: true, cacheRead: true, cacheWrite: true },
  output: { total: true, reasoning: true },
};

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === 'string';
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

/** @throws {TypeError} names the field of an answer and what it has to be. */
export function checkAnswerFacts(answer: unknown): void {
  const { finish, usage, ...rest } = (answer ?? {}) as Fields;
  checkFinish(finish);
  checkUsage(usage);
  for (const [name, [isRight, form]] of Object.entries(OPTIONAL)) {
    if (rest[name] !== undefined && !isRight(rest[name]))
      throw wrong(name, `${form}; leave it out for none`, rest[name]);
  }
}

const OPTIONAL: { readonly [name: string]: readonly [isRight: (value: unknown) => boolean, form: string] } = {
  modelId: [isText, 'a text'],
  responseId: [isText, 'a text'],
  providerMetadata: [isObject, 'an object by provider'],
  sources: [Array.isArray, 'an array'],
  warnings: [(value) => Array.isArray(value) && value.every(isText), 'an array of texts'],
};

const wrong = (field: string, must: string, given: unknown): TypeError =>
  new TypeError(`${field} must be ${must}, not ${shown(given)}.`);

function checkFinish(finish: unknown): void {
  if (!isObject(finish)) throw wrong('finish', "an object such as { reason: 'stop' }", finish);
  const { reason, raw } = finish;
  if (!isText(reason) || !Object.hasOwn(FINISH_REASONS, reason)) {
    const reasons = Object.keys(FINISH_REASONS).join(', ');
    throw new TypeError(
      `finish.reason must be one of ${reasons}, not ${shown(reason)}. The provider's own word goes into finish.raw.`,
    );
  }
  if (raw !== undefined && !isText(raw)) throw wrong('finish.raw', 'a text; leave it out for none', raw);
}

function checkUsage(usage: unknown): void {
  const form = 'an object such as { input: { total: 12 }, output: { total: 3 } }, with {} where nothing is told';
  if (!isObject(usage)) throw wrong('usage', form, usage);
  for (const [side, known] of Object.entries(COUNTS)) {
    const counts = usage[side];
    if (!isObject(counts)) {
      throw new TypeError(`usage.${side} must be an object, not ${shown(counts)}: usage is ${form}.`);
    }
    checkFields(counts, known, (name) => `usage.${side}.${name}`);
    for (const [name, count] of Object.entries(counts)) {
      if (count !== undefined && !isCount(count)) {
        throw wrong(
          `usage.${side}.${name}`,
          'a whole number of tokens, at least 0; leave it out where it is not told',
          count,
        );
      }
    }
  }
}

const DELTAS: Readonly<Record<ModelDelta['type'], readonly string[]>> = {
  text: ['id', 'text'],
  reasoning: ['id', 'text'],
  'tool-input': ['toolCallId', 'toolName', 'text'],
};

/** What is wrong with a piece of an answer; undefined where nothing is. */
export function faultOfDelta(delta: unknown): string | undefined {
  const fields = (delta ?? {}) as Fields;
  const { type } = fields;
  if (!isText(type) || !Object.hasOwn(DELTAS, type)) {
    return `type must be one of ${Object.keys(DELTAS).join(', ')}, not ${shown(type)}`;
  }
  const texts = DELTAS[type as ModelDelta['type']];
  const missing = texts.find((name) => !isText(fields[name]));
  if (missing === undefined) return undefined;
  const form = [`type: '${type}'`, ...texts].join(', ');
  return `${missing} must be a text, not ${shown(fields[missing])}: emit({ ${form} })`;
}
