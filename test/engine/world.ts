// A world in which engines live and die: one store, one clock, one provider of answers, and a ledger of what tools did.
// A crash drops the engine without close() and cuts it off: it writes nothing, runs nothing and holds no route any more.
import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import {
  createTurnEngine,
  type EngineOptions,
  type Head,
  type Json,
  jsonSchema,
  type Model,
  type ModelCall,
  type ModelRequest,
  type StoredMessage,
  type Tool,
  type ToolContext,
  type ToolOutput,
  type ToolSet,
  type TurnEngine,
  type TurnEvent,
  type TurnStore,
} from '../../src/index.js';
import { memoryStore } from '../../src/store/level-store.js';
import { type ScriptedAnswer, type SimulatedClock, scriptedModel, simulatedClock } from '../../src/testing/index.js';
import { ProcessStore } from './process-store.js';
import { calm, never, until } from './waiting.js';
import { Witness } from './witness.js';

export type Answer =
  | ScriptedAnswer
  | ((request: ModelRequest, call: ModelCall) => ScriptedAnswer | Promise<ScriptedAnswer>);
export type Options = Partial<EngineOptions<any, any>>;

/** One run of a tool. */
export interface Run {
  readonly tool: string;
  readonly input: Json;
  readonly key: string;
  readonly call: ToolContext;
  /** The number of the process, from 1. */
  readonly process: number;
}

/** A process that can end at any moment. */
export interface Process {
  readonly number: number;
  readonly engine: TurnEngine;
  readonly store: ProcessStore;
}

/** Turns of the event loop in which nothing happens any more before it is called rest. */
const REST = 12;

export class World {
  readonly store: TurnStore;
  readonly clock: SimulatedClock = simulatedClock();
  readonly witness: Witness;
  readonly events: TurnEvent[] = [];
  readonly runs: Run[] = [];
  readonly requests: (ModelRequest & { readonly call: ModelCall })[] = [];
  private readonly answers: Answer[] = [];
  private readonly processes: Process[] = [];
  private lastId = 0;

  constructor(store: TurnStore = memoryStore()) {
    this.store = store;
    this.witness = new Witness(store);
  }

  /** What the provider answers next, in this order, whichever process asks; behind the end it says "done". */
  says(...answers: readonly Answer[]): void {
    this.answers.push(...answers);
  }

  /** Starts a process. The ones before it live on until they crash. */
  boot(options: Options = {}): TurnEngine {
    const number = this.processes.length + 1;
    const store = new ProcessStore(this.store, this.witness);
    const alive = <T>(value: T): T | Promise<T> => (store.dead ? never<T>() : value);
    const given = options.tools ?? {};
    const watched = (tools: ToolSet): ToolSet =>
      Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, this.watch(name, tool, number, store)]));
    const engine = createTurnEngine({
      agent: 'agent',
      model: this.provider(),
      ...options,
      ...(options.model === undefined ? {} : { model: this.listening(options.model, store) }),
      store,
      clock: store.clockOf(this.clock),
      ids: () => `id${++this.lastId}`,
      tools:
        typeof given === 'function'
          ? async (turn, deps) => watched(await (given as (turn: unknown, deps: unknown) => ToolSet)(turn, deps))
          : watched(given),
      onEvent: (event) => {
        if (store.dead) return;
        this.witness.event(event);
        this.events.push(event);
        options.onEvent?.(event);
      },
      ...(options.onOutcome === undefined
        ? {}
        : { onOutcome: async (...told) => alive(await options.onOutcome?.(...told)) }),
    });
    const process = { number, engine, store };
    store.onDeath = () => void this.crash(process);
    this.processes.push(process);
    return engine;
  }

  /** The newest process. */
  get process(): Process {
    return this.processes.at(-1) as Process;
  }

  /** kill -9. */
  async crash(process = this.process): Promise<void> {
    await process.store.end();
    await calm(5);
  }

  /** kill -9, and the next start. */
  async reboot(options: Options = {}): Promise<TurnEngine> {
    await this.crash();
    return this.boot(options);
  }

  /** Until the newest process has been ended by a fate of its store. */
  async death(): Promise<void> {
    await until(() => this.process.store.dead, 'the process died');
    await this.crash();
  }

  /** Everything that can happen without the clock has happened, however long the disk takes; `more` counts more of it. */
  async rest(more: () => number = () => 0): Promise<void> {
    for (let quiet = 0; quiet < REST; quiet += 1) {
      const before = this.process.store.commits + more();
      await setImmediate();
      const { isBusy, commits } = this.process.store;
      if (isBusy || commits + more() !== before) quiet = 0;
    }
  }

  async advance(ms: number): Promise<void> {
    await this.clock.advance(ms);
    await calm();
  }

  eventsOf<K extends TurnEvent['type']>(type: K): readonly (TurnEvent & { type: K })[] {
    return this.events.filter((event): event is TurnEvent & { type: K } => event.type === type);
  }

  async head(sessionId = 's'): Promise<Head> {
    return (await this.store.head(sessionId)) as Head;
  }

  async messages(sessionId = 's'): Promise<readonly StoredMessage[]> {
    return this.store.messages(sessionId);
  }

  /** What the model reads of each call, in the order of the list. */
  async outputs(sessionId = 's'): Promise<readonly ToolOutput[]> {
    return (await this.messages(sessionId)).flatMap(({ message }) =>
      message.role === 'tool' ? message.content.flatMap((part) => ('output' in part ? [part.output] : [])) : [],
    );
  }

  /** The whole journal of the latest turn of a session. */
  async calls(sessionId = 's') {
    return (await this.store.load(sessionId))?.calls ?? [];
  }

  runsOf(tool: string): readonly Run[] {
    return this.runs.filter((run) => run.tool === tool);
  }

  private provider(): Model {
    return scriptedModel(async (request, _modelCall, call) => {
      const answer = this.answers.shift() ?? 'done';
      this.witness.request(request);
      this.requests.push({ ...structuredClone(request), call });
      return typeof answer === 'function' ? answer(request, call) : answer;
    });
  }

  private listening(model: Model, store: ProcessStore): Model {
    return {
      id: model.id,
      ...(model.contextTokens === undefined ? {} : { contextTokens: model.contextTokens }),
      call: async (request, call) => {
        if (store.dead) return never();
        this.witness.request(request);
        this.requests.push({ ...structuredClone(request), call });
        return model.call(request, call);
      },
    };
  }

  private watch(name: string, tool: Tool, process: number, store: ProcessStore): Tool {
    if (typeof tool?.execute !== 'function') return tool;
    return {
      ...tool,
      execute: async (input, call) => {
        if (store.dead) return never();
        this.runs.push({ tool: name, input: input as Json, key: call.idempotencyKey, call, process });
        if (tool.effect !== 'none') await this.witness.toolStarts(name, call.callId);
        const output = await tool.execute(input, call);
        return store.dead ? never() : output;
      },
    };
  }
}

/** Made at the beginning of a test; at its end, what the witness found fails it. */
export function createWorld(store?: TurnStore): World {
  const world = new World(store);
  onTestFinished(() => {
    expect(world.witness.violations).toEqual([]);
  });
  return world;
}

export const anything = jsonSchema<Json>({ type: 'object' });

type Execute = (input: Json, call: ToolContext) => ReturnType<Tool['execute']>;

/** A tool of one line. Without more it has an effect that must not happen twice. */
export const act = (execute: Execute, more: Partial<Tool<Json>> = {}): Tool<Json> => ({
  description: 'does something',
  input: anything,
  execute,
  ...more,
});

export const look = (execute: Execute, more: Partial<Tool<Json>> = {}): Tool<Json> =>
  act(execute, { effect: 'none', ...more });

/** An answer that makes calls: `calls('read', ['write', { text: 'x' }])`. */
export const calls = (...made: readonly (string | readonly [string, Json])[]): ScriptedAnswer => ({
  calls: made.map((call) => (typeof call === 'string' ? { tool: call, input: {} } : { tool: call[0], input: call[1] })),
});

/** The one element of a list. */
export function only<T>(list: readonly T[]): T {
  expect(list).toHaveLength(1);
  return list[0] as T;
}

export const hello = { sessionId: 's', input: 'hello', attended: false } as const;
export const HOUR_MS = 3_600_000;
export const MINUTE_MS = 60_000;

/** A turn of session x that holds the route R. */
export async function busyRoute(world: World, options: Options = {}) {
  world.says({ hang: true });
  const engine = world.boot(options);
  const turn = await engine.startTurn({ ...hello, sessionId: 'x', routeKey: 'R' });
  await until(() => world.requests.length === 1, 'the model is asked');
  return { engine, turn };
}
