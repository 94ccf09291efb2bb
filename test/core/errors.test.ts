// Why: codes are what services branch on, so they and `retryable` are a contract; and an error that cannot be told is
// itself an error in the one place where none may be thrown.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  DefinitiveFailure,
  HardIdleTimeout,
  ModelError,
  messageOf,
  OutcomeUnknown,
  TurnError,
  type TurnErrorCode,
} from '../../src/core/errors.js';

/** Whether the same call is worth another try. A new code has to be added here, with the answer. */
const RETRYABLE: Readonly<Record<TurnErrorCode, boolean>> = {
  TURN_BUSY: true,
  TURN_CALL_NOT_IN_DOUBT: false,
  TURN_CONFLICT: false,
  TURN_DAMAGED: false,
  TURN_ENGINE_CLOSING: true,
  TURN_INBOX_FULL: true,
  TURN_INVALID_VALUE: false,
  TURN_NOT_FOUND: false,
  TURN_NOT_RESUMABLE: false,
  TURN_OUTCOMES_DUE: true,
  TURN_POLICY: false,
  TURN_STORE_CLOSED: false,
  TURN_STORE_FAILED: true,
  TURN_STORE_FORMAT: false,
  TURN_STORE_LOCKED: true,
  TURN_TOO_LARGE: false,
};

describe('TurnError', () => {
  it.each(Object.entries(RETRYABLE))('%s: worth another try: %s', (code, retryable) => {
    const error = new TurnError(code as TurnErrorCode, 'text');
    expect([error.code, error.retryable, error.name, error.message]).toEqual([code, retryable, 'TurnError', 'text']);
    expect(error).toBeInstanceOf(Error);
  });

  it('keeps what caused it', () => {
    const cause = new Error('disk');
    expect(new TurnError('TURN_STORE_FAILED', 'text', { cause }).cause).toBe(cause);
    expect('cause' in new TurnError('TURN_BUSY', 'text')).toBe(false);
  });
});

describe('ModelError', () => {
  it('says the kind of failure and how long the provider asks to wait', () => {
    const error = new ModelError('rateLimited', 'slow down', { retryAfterMs: 0, cause: 'http 429' });
    expect([error.kind, error.retryAfterMs, error.cause, error.name]).toEqual([
      'rateLimited',
      0,
      'http 429',
      'ModelError',
    ]);
    expect(new ModelError('other', 'x').retryAfterMs).toBeUndefined();
    expect('cause' in new ModelError('other', 'x')).toBe(false);
  });

  it('of an unknown kind is misuse that names the kinds, and keeps what the provider said', () => {
    const make = (kind: unknown) => () => new ModelError(kind as never, 'too many requests');
    expect(make('ratelimited')).toThrow(TypeError);
    expect(make('ratelimited')).toThrow(
      /^kind must be one of rateLimited, overloaded, .*, other, not "ratelimited" \(of the ModelError "too many requests"\)\.$/,
    );
    for (const kind of [undefined, null, 429, 'toString']) expect(make(kind)).toThrow(/^kind must be/);
  });
});

it('what tools throw is known by name, because two copies of this package may be loaded', () => {
  const names = [OutcomeUnknown, DefinitiveFailure, HardIdleTimeout].map((Kind) => new Kind('x').name);
  expect(names).toEqual(['OutcomeUnknown', 'DefinitiveFailure', 'HardIdleTimeout']);
});

describe('messageOf', () => {
  it('is the message of an error, or its name where it has none', () => {
    expect(messageOf(new Error('no'))).toBe('no');
    expect(messageOf(new RangeError(''))).toBe('RangeError');
  });

  it('tells anything else that was thrown', () => {
    expect(messageOf('text')).toBe('text');
    expect(messageOf('')).toBe('');
    expect(messageOf(undefined)).toBe('a value that is not an Error was thrown (undefined)');
    expect(messageOf(Symbol('s'))).toBe('a value that is not an Error was thrown (Symbol(s))');
    expect(messageOf(7n)).toContain('(7)');
  });

  it('is told at once for a list, however long it says it is', () => {
    const endless: unknown[] = [];
    endless.length = 2 ** 32 - 1;
    expect(messageOf(endless)).toBe('a value that is not an Error was thrown ([object Array])');
    expect(messageOf(Object.assign(new Error('x'), { message: endless }))).toBe('[object Array]');
    expect(messageOf(new Uint8Array(2 ** 28))).toContain('[object Uint8Array]');
  });

  const resisting = [
    Object.create(null),
    Object.assign(new Error('x'), { message: { odd: true } }),
    Object.assign(new Error('x'), { message: Object.create(null) }),
    Object.defineProperty(new Error('x'), 'message', {
      get: () => {
        throw new Error('no');
      },
    }),
    {
      toString: () => {
        throw new Error('no');
      },
    },
    Proxy.revocable({}, {}).proxy,
    new Proxy(
      {},
      {
        getPrototypeOf: () => {
          throw new Error('no');
        },
      },
    ),
  ];
  it('is a text for everything, and never throws', () => {
    for (const thrown of resisting) expect(typeof messageOf(thrown)).toBe('string');
    fc.assert(
      fc.property(
        fc.anything({ withNullPrototype: true, withBigInt: true, withDate: true, withMap: true }),
        (thrown) => {
          expect(typeof messageOf(thrown)).toBe('string');
        },
      ),
    );
  });
});
