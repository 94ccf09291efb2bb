// Why: a tool is the application's code, and its schema too. What either throws is a fault of one call, never of the
// engine; and the types are what keeps an application from handing in a tool that cannot run.
import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import type { Effect } from '../../machines/index.js';
import type { Json } from '../../src/core/json.js';
import type { ToolOutput } from '../../src/core/messages.js';
import {
  jsonSchema,
  reportToModel,
  type Schema,
  type Tool,
  type ToolContext,
  type ToolSet,
  tool,
  toolFor,
  validate,
} from '../../src/core/tools.js';

/** A schema whose check is the given function. */
const schemaOf = (check: (value: unknown) => unknown): Schema => ({
  '~standard': { version: 1, vendor: 'test', validate: check, jsonSchema: { input: () => ({}) } },
});

describe('validate', () => {
  it('gives the value of the schema, synchronous or not', async () => {
    expect(
      await validate(
        schemaOf((value) => ({ value: [value] })),
        1,
      ),
    ).toEqual({ ok: true, value: [1] });
    expect(
      await validate(
        schemaOf(async (value) => ({ value: [value] })),
        2,
      ),
    ).toEqual({ ok: true, value: [2] });
    expect(
      await validate(
        schemaOf(() => ({ value: undefined })),
        3,
      ),
    ).toEqual({ ok: true, value: undefined });
  });

  it('tells every issue with its path, in both forms of it', async () => {
    const issues = [
      { message: 'too long', path: ['a', 0, { key: 'b' }] },
      { message: 'no good', path: [] },
      { message: 'odd', path: [Symbol('s')] },
      { message: 'bare' },
    ];
    for (const check of [() => ({ issues }), async () => ({ issues })]) {
      expect(await validate(schemaOf(check), {})).toEqual({
        ok: false,
        error: 'a.0.b: too long; no good; Symbol(s): odd; bare',
      });
    }
  });

  it('takes what a schema throws, rejects or gives instead of a result for a fault of the input', async () => {
    const broken = [
      () => {
        throw new Error('broken');
      },
      () => Promise.reject(new Error('broken')),
      () => Promise.reject('broken'),
    ];
    for (const check of broken) expect(await validate(schemaOf(check), 1)).toEqual({ ok: false, error: 'broken' });
    for (const nothing of [undefined, null])
      expect(
        (
          await validate(
            schemaOf(() => nothing),
            1,
          )
        ).ok,
      ).toBe(false);
    expect((await validate({} as Schema, 1)).ok).toBe(false);
  });

  it('reads a schema of zod, and gives what zod made of the input', async () => {
    const schema = z.object({ to: z.string(), copies: z.number().default(1) });
    expect(await validate(schema, { to: 'ann' })).toEqual({ ok: true, value: { to: 'ann', copies: 1 } });
    const wrong = await validate(schema, { to: 7 });
    expect(wrong).toMatchObject({ ok: false, error: expect.stringMatching(/^to: /) });
    const late = z.string().refine(async (name) => name !== 'bob', 'not bob');
    expect(await validate(late, 'bob')).toEqual({ ok: false, error: 'not bob' });
    expect(schema['~standard'].jsonSchema.input({ target: 'draft-07' })).toMatchObject({ type: 'object' });
  });
});

describe('jsonSchema', () => {
  const plain = { type: 'object', properties: { to: { type: 'string' } } };

  it('gives the model its schema and lets every input pass', async () => {
    const schema = jsonSchema<{ to: string }>(plain);
    expect(schema['~standard'].jsonSchema.input({ target: 'draft-07' })).toBe(plain);
    expect(await validate(schema, 7)).toEqual({ ok: true, value: 7 });
  });

  it('refuses what the check of the application finds wrong, with its words', async () => {
    const schema = jsonSchema<string>(plain, (value) => (typeof value === 'string' ? undefined : 'must be a text'));
    expect(await validate(schema, 'x')).toEqual({ ok: true, value: 'x' });
    expect(await validate(schema, 7)).toEqual({ ok: false, error: 'must be a text' });
    const throwing = jsonSchema(plain, () => {
      throw new Error('broken');
    });
    expect(await validate(throwing, 7)).toEqual({ ok: false, error: 'broken' });
  });
});

describe('reportToModel', () => {
  it('never parks: the model is told to look, with the cause of the doubt', async () => {
    const doubt = { input: {}, idempotencyKey: 'k', dispatchedAt: 1, cause: 'timeout', notes: [] } as const;
    expect(await reportToModel(doubt)).toEqual({
      outcome: 'failed',
      error: expect.stringMatching(/unknown \(timeout\).*check before you repeat it/),
    });
  });
});

describe('the types of a tool', () => {
  const input = z.object({ to: z.string(), copies: z.number().default(1) });

  it('follow its schema: functions get what the schema gives', () => {
    const mail = tool({
      description: 'Sends a mail.',
      input,
      effect: (given) => {
        expectTypeOf(given).toEqualTypeOf<{ to: string; copies: number }>();
        return given.copies > 1 ? 'external' : 'idempotent';
      },
      approval: ({ to }) => (to === 'all' ? 'required' : 'never'),
      exclusive: ({ to }) => to,
      timeoutMs: ({ copies }) => copies * 100,
      idempotencyKey: ({ to }) => to,
      reconcile: async (call) => {
        expectTypeOf(call.input.copies).toEqualTypeOf<number>();
        return { outcome: 'unknown' };
      },
      execute: (given, call) => {
        expectTypeOf(given.to).toEqualTypeOf<string>();
        expectTypeOf(call).toEqualTypeOf<ToolContext<unknown>>();
        return { sent: given.to };
      },
    });
    expectTypeOf(mail).toEqualTypeOf<Tool<{ to: string; copies: number }, unknown>>();
    const set: ToolSet = {
      mail,
      read: tool({ description: 'Reads.', input: jsonSchema<string>({}), execute: () => null }),
    };
    expect(Object.keys(set)).toEqual(['mail', 'read']);
    expect(mail.effect).toBeTypeOf('function');
  });

  it('fix the dependencies of the application', () => {
    interface Deps {
      readonly send: (to: string) => Promise<number>;
    }
    const appTool = toolFor<Deps>();
    const mail = appTool({
      description: 'Sends a mail.',
      input,
      execute: async ({ to }, { deps }) => {
        expectTypeOf(deps).toEqualTypeOf<Deps>();
        return deps.send(to);
      },
    });
    expectTypeOf(mail).toEqualTypeOf<Tool<{ to: string; copies: number }, Deps>>();
    const set: ToolSet<Deps> = { mail };
    // @ts-expect-error A tool that needs dependencies does not go into a set that has others.
    const other: ToolSet<{ readonly clock: number }> = { mail };
    expect(set.mail).toBe(other.mail);
  });

  it('allow outputs that can be stored, and effects that exist', () => {
    expectTypeOf<Awaited<ReturnType<Tool['execute']>>>().toEqualTypeOf<Json | undefined | ToolOutput>();
    expectTypeOf<Effect>().toEqualTypeOf<'none' | 'idempotent' | 'external'>();
    // @ts-expect-error There is no such effect.
    expect(() => tool({ description: 'x', input, effect: 'harmless', execute: () => null })).toThrow(/^tool\.effect/);
    // @ts-expect-error A Map cannot be stored.
    expect(() => tool({ description: 'x', input, execute: () => new Map() })).not.toThrow();
  });
});
