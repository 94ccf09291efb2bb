/**
 * Owns what a failed call of a provider means for the turn: the kind of a ModelError.
 * Must not know a class of the SDK: errors are read by their shape, since several generations may be loaded. An abort is
 * not told here but by the signal of the call: providers report it as an error of status 200, or not at all.
 */
import type { ModelErrorKind } from '../../machines/index.js';
import { ModelError, messageOf } from '../core/errors.js';
import { retryAfterMs } from './retry-after.js';
import { type Fields, isFields } from './specification.js';

/** What can be seen of an error, whatever made it. */
interface Signs {
  readonly message: string;
  readonly name: string;
  readonly status: number | undefined;
  /** Words of the provider: `type` and `code` of its error. */
  readonly words: ReadonlySet<string>;
  /** Everything it says, to find out whether the list is too long. */
  readonly text: string;
  readonly headers: Fields;
  readonly network: boolean;
}

/** Providers say it in many ways, and only a few with a code. */
const TOO_LONG =
  /context[ _-]?(length|window|size|limit)|(prompt|input|request) (is )?too (long|large)|too many (input |prompt )?tokens|maximum (prompt|input|context) length|token count.{0,40}exceeds|exceeds?.{0,40}(context|maximum number of tokens)/i;

const NETWORK_CODES =
  /^(E(CONNRESET|CONNREFUSED|CONNABORTED|TIMEDOUT|PIPE|NOTFOUND|AI_AGAIN|HOSTUNREACH|NETUNREACH)|UND_ERR_)/;

const KIND_OF_WORD: ReadonlyMap<string, ModelErrorKind> = new Map([
  ['rate_limit_error', 'rateLimited'],
  ['rate_limit_exceeded', 'rateLimited'],
  ['overloaded_error', 'overloaded'],
  ['api_error', 'network'],
  ['server_error', 'network'],
  ['timeout_error', 'network'],
  ['authentication_error', 'auth'],
  ['permission_error', 'auth'],
  ['invalid_api_key', 'auth'],
  // Waiting does not fill an account.
  ['insufficient_quota', 'rejected'],
  ['billing_error', 'rejected'],
  ['invalid_request_error', 'rejected'],
  ['not_found_error', 'rejected'],
  ['request_too_large', 'contextLength'],
  ['context_length_exceeded', 'contextLength'],
  ['exceed_context_size_error', 'contextLength'],
]);

/** Errors of the SDK itself, by name. */
const KIND_OF_NAME: ReadonlyMap<string, ModelErrorKind> = new Map([
  ['AI_LoadAPIKeyError', 'auth'],
  ['AI_NoSuchModelError', 'rejected'],
  ['AI_UnsupportedFunctionalityError', 'rejected'],
  ['AI_InvalidPromptError', 'rejected'],
  ['AI_InvalidArgumentError', 'rejected'],
  // The answer did not arrive as it was sent.
  ['AI_EmptyResponseBodyError', 'network'],
  ['AI_InvalidResponseDataError', 'network'],
  ['AI_JSONParseError', 'network'],
  ['AbortError', 'network'],
  ['TimeoutError', 'network'],
]);

/** `now` is ms since the epoch: a date to wait for may need it. */
export function modelErrorOf(thrown: unknown, now: number): ModelError {
  if (thrown instanceof ModelError) return thrown;
  const signs = signsOf(thrown);
  const wait = retryAfterMs(signs.headers, now);
  return new ModelError(kindOf(signs), signs.message, {
    cause: thrown,
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
  });
}

function kindOf(signs: Signs): ModelErrorKind {
  const { status, words } = signs;
  if (words.has('insufficient_quota') || words.has('billing_error')) return 'rejected';
  if (status === 429) return 'rateLimited';
  if (status === 503 || status === 529) return 'overloaded';
  if (status === 401 || status === 403) return 'auth';
  if (status === 413) return 'contextLength';
  const ofWord = [...words].map((word) => KIND_OF_WORD.get(word)).find((kind) => kind !== undefined);
  if ((ofWord ?? 'rejected') === 'rejected' && TOO_LONG.test(signs.text)) return 'contextLength';
  if (status !== undefined && status >= 400)
    return status >= 500 || status === 408 || status === 425 ? 'network' : (ofWord ?? 'rejected');
  return ofWord ?? KIND_OF_NAME.get(signs.name) ?? (signs.network ? 'network' : 'other');
}

function signsOf(thrown: unknown): Signs {
  const error = isFields(thrown) ? thrown : {};
  const status = numberAt(error, 'statusCode') ?? numberAt(error, 'status');
  const name = typeof error.name === 'string' ? error.name : '';
  const body = typeof error.responseBody === 'string' ? error.responseBody : '';
  const message = typeof error.message === 'string' && error.message !== '' ? error.message : messageOf(thrown);
  return {
    message,
    name,
    status,
    words: wordsOf(error, body),
    text: `${message} ${body}`,
    headers: isFields(error.responseHeaders) ? error.responseHeaders : {},
    // A call that never got a status, and a stream that broke behind a good one.
    network: isNetwork(thrown) || (name === 'AI_APICallError' && (status === undefined || status < 300)),
  };
}

const numberAt = (fields: Fields, name: string): number | undefined =>
  typeof fields[name] === 'number' ? (fields[name] as number) : undefined;

/** `type` and `code` wherever providers put them: in the error, in its data, in the body. */
function wordsOf(error: Fields, body: string): ReadonlySet<string> {
  const words = new Set<string>();
  const look = (value: unknown, depth: number): void => {
    if (!isFields(value)) return;
    for (const name of ['type', 'code']) if (typeof value[name] === 'string') words.add(value[name]);
    if (depth > 0) for (const name of ['error', 'data']) look(value[name], depth - 1);
  };
  look(error, 2);
  try {
    look(JSON.parse(body), 1);
  } catch {
    // Proxies answer in HTML.
  }
  return words;
}

/** fetch hides the reason in a chain of causes. */
function isNetwork(thrown: unknown): boolean {
  let error: unknown = thrown;
  for (let depth = 0; depth < 5 && isFields(error); depth += 1) {
    if (typeof error.code === 'string' && NETWORK_CODES.test(error.code)) return true;
    if (error instanceof TypeError && /^(fetch failed|terminated|network error)$/i.test(error.message)) return true;
    error = error.cause;
  }
  return false;
}
