/**
 * Owns what belongs to an answer and not to its message: finish reason, usage, warnings, in each specification.
 * Must not know parts.
 */
import { ModelError } from '../core/errors.js';
import type { AnswerFacts, FinishReason, Usage } from '../core/messages.js';
import { type Fields, isFields } from './specification.js';

/** Words of providers that say more than what the packages make of them. */
const BY_RAW: ReadonlyMap<string | undefined, FinishReason> = new Map([
  ['pause_turn', 'continue'],
  ['compaction', 'continue'],
  ['model_context_window_exceeded', 'length'],
]);

const REASONS: ReadonlySet<unknown> = new Set<FinishReason>([
  'stop',
  'tool-calls',
  'length',
  'content-filter',
  'other',
]);

/**
 * V2 gives a word, V3 and V4 `{ unified, raw }`. `seenRaw` is the provider's word where it was seen in a raw chunk,
 * since V2 does not tell it.
 * @throws {ModelError} `network` for an end that is none: the stream was cut or gave an error.
 */
export function finishOf(finish: unknown, seenRaw: string | undefined): AnswerFacts['finish'] {
  const fields = isFields(finish) ? finish : { unified: finish };
  const raw = typeof fields.raw === 'string' ? fields.raw : seenRaw;
  const said = fields.unified === 'unknown' && raw !== undefined ? 'other' : fields.unified;
  if (!REASONS.has(said)) {
    throw new ModelError('network', `the answer ended without a good finish (${String(said)})`);
  }
  const reason = BY_RAW.get(raw) ?? (said as FinishReason);
  return raw === undefined ? { reason } : { reason, raw };
}

/** The finish reason in a chunk as the provider sent it, of the two protocols that nearly all of them speak. */
export function rawFinishOf(chunk: unknown): string | undefined {
  const { delta, choices } = (isFields(chunk) ? chunk : {}) as { delta?: Fields; choices?: readonly Fields[] };
  const reason = delta?.stop_reason ?? choices?.[0]?.finish_reason;
  return typeof reason === 'string' ? reason : undefined;
}

/** V2 counts are flat, those of V3 and V4 nested. What is not told is left out. */
export function usageOf(given: unknown, metadata: unknown): Usage {
  const usage = isFields(given) ? given : {};
  if (!isFields(usage.inputTokens) && !isFields(usage.outputTokens)) return v2Usage(usage, metadata);
  const input = isFields(usage.inputTokens) ? usage.inputTokens : {};
  const output = isFields(usage.outputTokens) ? usage.outputTokens : {};
  return {
    input: counts({ total: input.total, cacheRead: input.cacheRead, cacheWrite: input.cacheWrite }),
    output: counts({ total: output.total, reasoning: output.reasoning }),
    ...(isFields(usage.raw) ? { raw: usage.raw as NonNullable<Usage['raw']> } : {}),
  };
}

function v2Usage(usage: Fields, metadata: unknown): Usage {
  const own = isFields(metadata) && isFields(metadata.anthropic) ? metadata.anthropic.usage : undefined;
  const anthropic = isFields(own) ? own : {};
  const [read, write] = [anthropic.cache_read_input_tokens, anthropic.cache_creation_input_tokens];
  // Anthropic counts cached tokens beside the others, and V2 passes that on; everybody else counts them in.
  const beside = [read, write].reduce<number>((sum, count) => sum + (typeof count === 'number' ? count : 0), 0);
  const total = typeof usage.inputTokens === 'number' ? usage.inputTokens + beside : undefined;
  return {
    input: counts({ total, cacheRead: usage.cachedInputTokens ?? read, cacheWrite: write }),
    output: counts({ total: usage.outputTokens, reasoning: usage.reasoningTokens }),
    raw: counts(usage),
  };
}

/** Packages calculate some counts themselves, and what comes of a count that the provider did not tell is none. */
function counts(given: Fields): { readonly [name: string]: number } {
  const told = Object.entries(given).filter(([, count]) => Number.isSafeInteger(count) && (count as number) >= 0);
  return Object.fromEntries(told) as { readonly [name: string]: number };
}

/** One line for each warning, whatever its form. */
export function warningText(warning: unknown): string {
  if (!isFields(warning)) return String(warning);
  const { type, feature, setting, tool, message, details } = warning;
  const what = feature ?? setting ?? (isFields(tool) ? tool.name : undefined) ?? message;
  return [type, what, details].filter((word) => typeof word === 'string').join(': ');
}
