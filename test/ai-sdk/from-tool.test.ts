// A tool of the AI SDK as a tool of a turn, in a turn: the engine runs it, the SDK's own functions made it.
import { jsonSchema as sdkSchema, tool as sdkTool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fromTool } from '../../src/ai-sdk/index.js';
import { jsonSchema, type Tool, type TurnEvent } from '../../src/index.js';
import { createWorld } from '../whole-turn/world.js';

const city = z.object({ city: z.string() });

/** Runs one call of the tool in a turn and gives what the model reads of it. */
async function run(tool: Tool<any, any>, input: object = { city: 'Oslo' }) {
  const world = createWorld();
  world.says({ calls: [{ tool: 'own', input: input as never }] }, 'done');
  const engine = world.boot({ tools: { own: tool } });
  const { turn } = await engine.sendMessage({ sessionId: 's', input: 'go', attended: true });
  await turn.outcome;
  return { outputs: await world.outputs(), events: world.events as readonly TurnEvent[], requests: world.requests };
}

describe('a tool of the AI SDK', () => {
  it('runs with the key, the signal and the id of its call', async () => {
    const seen: any[] = [];
    const execute = async ({ city: name }: { city: string }, options: any) => {
      seen.push(options);
      return { weather: `rain in ${name}` };
    };
    const tool = fromTool(sdkTool({ description: 'Tells.', inputSchema: city, execute }), { effect: 'none' });
    const { outputs, requests } = await run(tool);
    expect(outputs).toEqual([{ type: 'json', value: { weather: 'rain in Oslo' } }]);
    expect(seen[0]).toMatchObject({ messages: [], abortSignal: expect.any(AbortSignal) });
    expect(seen[0].context.idempotencyKey).toEqual(expect.any(String));
    expect(seen[0].experimental_context.callId).toBe(seen[0].toolCallId);
    expect(requests[0]?.tools[0]).toMatchObject({ description: 'Tells.', inputSchema: { required: ['city'] } });
  });

  it('checks its input with the schema it has: zod, or jsonSchema() of the SDK, lazy or not', async () => {
    const fussy = sdkSchema<{ city: string }>(
      { type: 'object', properties: { city: { type: 'string' } } },
      {
        validate: (value: any) =>
          value.city === 'Oslo' ? { success: true, value } : { success: false, error: new Error('only Oslo') },
      },
    );
    for (const inputSchema of [fussy, (() => fussy) as never]) {
      const tool = fromTool(sdkTool({ inputSchema, execute: async () => 'rain' }), { effect: 'none' });
      expect((await run(tool)).outputs).toEqual([{ type: 'text', value: 'rain' }]);
      const [refused] = (await run(tool, { city: 'Bergen' })).outputs;
      expect(refused).toMatchObject({ type: 'error-text', value: expect.stringContaining('only Oslo') });
    }
    const zod = fromTool(sdkTool({ inputSchema: city, execute: async () => 'rain' }), { effect: 'none' });
    expect((await run(zod, { city: 7 })).outputs[0]).toMatchObject({ type: 'error-text' });
    const loose = fromTool(
      { inputSchema: { jsonSchema: { type: 'object' } }, execute: () => null },
      { effect: 'none' },
    );
    expect((await run(loose)).outputs).toEqual([{ type: 'json', value: null }]);
  });

  it('yields progress, and its last value is the output', async () => {
    const execute = async function* () {
      yield 'looking';
      yield 'found';
      yield { weather: 'rain' };
    };
    const { outputs, events } = await run(fromTool(sdkTool({ inputSchema: city, execute }), { effect: 'none' }));
    expect(outputs).toEqual([{ type: 'json', value: { weather: 'rain' } }]);
    expect(events.flatMap((event) => (event.type === 'progress' ? [event.value] : []))).toEqual(['looking', 'found']);
  });

  it('says itself what the model reads, in the form of its generation', async () => {
    const media = {
      type: 'content' as const,
      value: [{ type: 'media' as const, data: 'AAAA', mediaType: 'image/png' }],
    };
    const shown = {
      type: 'content',
      value: [{ type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } }],
    };
    const told: unknown[] = [];
    const toModelOutput = (given: unknown) => {
      told.push(given);
      return media;
    };
    const tool = { inputSchema: city, execute: async () => 'rain', toModelOutput };
    expect((await run(fromTool(tool, { effect: 'none', sdk: 6 }))).outputs).toEqual([shown]);
    expect((await run(fromTool(tool, { effect: 'none', sdk: 5 }))).outputs).toEqual([shown]);
    expect(told).toEqual([{ toolCallId: expect.any(String), input: { city: 'Oslo' }, output: 'rain' }, 'rain']);
    expect(() => fromTool(tool)).toThrow(/sdk: 5/);
  });

  it('needs approval where it says so, unless the application says otherwise', async () => {
    const base = { inputSchema: city, execute: async () => 'rain' };
    expect(fromTool({ ...base, needsApproval: true }).approval).toBe('required');
    expect(fromTool({ ...base, needsApproval: true }, { approval: 'never' }).approval).toBe('never');
    expect(fromTool({ ...base, needsApproval: false }).approval).toBe('never');
    expect(fromTool(base).approval).toBeUndefined();
    const asked = fromTool({
      ...base,
      needsApproval: async (input: { city: string }) => input.city === 'Oslo',
    }).approval;
    if (typeof asked !== 'function') throw new Error('no function');
    expect([await asked({ city: 'Oslo' }, {} as never), await asked({ city: 'Bergen' }, {} as never)]).toEqual([
      'required',
      'never',
    ]);
  });

  it('has the careful effect where nobody says otherwise, and says all a tool of a turn can say', () => {
    const base = { inputSchema: jsonSchema({ type: 'object' }), execute: () => 1, providerOptions: { own: { a: 1 } } };
    const side = {
      effect: 'idempotent',
      timeoutMs: 5,
      exclusive: true,
      formerNames: ['old'],
      unattended: 'park',
    } as const;
    expect(fromTool(base).effect).toBeUndefined();
    expect(fromTool(base, side)).toMatchObject({ ...side, providerOptions: { own: { a: 1 } } });
  });

  it('tells the provider how strictly its schema counts, and what inputs look like', async () => {
    const inputExamples = [{ input: { city: 'Oslo' } }, { input: { city: 'Bergen' } }];
    const tool = sdkTool({ inputSchema: city, strict: true, inputExamples, execute: async () => 'rain' });
    const { requests } = await run(fromTool(tool, { effect: 'none' }));
    const told = { strict: true, inputExamples: [{ city: 'Oslo' }, { city: 'Bergen' }] };
    expect(requests[0]?.tools[0]).toMatchObject(told);
    const silent = await run(fromTool({ inputSchema: city, execute: () => 1 }));
    expect(Object.keys(silent.requests[0]?.tools[0] ?? {})).toEqual(['name', 'description', 'inputSchema']);
  });

  it('is refused where it waits for callbacks that no turn calls', () => {
    for (const name of ['onInputStart', 'onInputDelta', 'onInputAvailable']) {
      const tool = { inputSchema: city, execute: () => 1, [name]: () => undefined };
      expect(() => fromTool(tool)).toThrow(new RegExp(`${name}.*engine.follow`));
    }
  });

  it('is refused with what the provider could not read: examples without `input`, a strict that is no boolean', () => {
    const made = (fields: object) => () => fromTool({ inputSchema: city, execute: () => 1, ...fields });
    for (const inputExamples of [null, {}, 'Oslo', [{ city: 'Oslo' }], [{ input: {} }, null], [{ input: undefined }]]) {
      expect(made({ inputExamples })).toThrow(/^The tool has inputExamples that must be an array of \{ input \}/);
    }
    for (const strict of [null, 'true', 1]) {
      expect(made({ strict })).toThrow('The tool has a strict that must be true or false.');
    }
  });

  it('is refused where it cannot run here, or has no JSON Schema at once', () => {
    expect(() => fromTool({ inputSchema: city })).toThrow(/execute.*providerTools/);
    const late = { inputSchema: { jsonSchema: Promise.resolve({}) }, execute: () => 1 };
    for (const tool of [late, { execute: () => 1 }, { inputSchema: { '~standard': {} }, execute: () => 1 }]) {
      expect(() => fromTool(tool)).toThrow(/JSON Schema at once/);
    }
  });
});
