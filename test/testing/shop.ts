// A small agent under test, and the receivers its tools talk to: what a user of the kit has.
import {
  createTurnEngine,
  type EngineOptions,
  type Json,
  jsonSchema,
  reportToModel,
  type Tool,
  type ToolContext,
  type ToolSet,
  type TurnEngine,
} from '../../src/index.js';
import {
  type CrashMatrixOptions,
  type CrashWorld,
  type Ledger,
  ledger,
  type ScriptedAnswer,
  scriptedModel,
} from '../../src/testing/index.js';

/** Knows what it was asked by key, as a bank does; what it does twice is in the ledger twice. */
export class Bank {
  readonly book: Ledger = ledger();
  private readonly charges = new Map<string, string>();

  async charge(key: string): Promise<string> {
    const id = `ch_${this.charges.size}`;
    this.charges.set(key, id);
    await this.book.record('pay', key);
    return id;
  }

  find(key: string): string | undefined {
    return this.charges.get(key);
  }
}

export const anything = jsonSchema<Json>({ type: 'object' });

type Made = Partial<Tool<Json>>;

/** Pays, and finds out after a crash whether it has paid; `changes` makes it worse. */
export function payTool(bank: Bank, changes: Made = {}): Tool<Json> {
  return {
    description: 'Pays.',
    input: anything,
    effect: 'external',
    execute: (_input, { idempotencyKey }: ToolContext) => bank.charge(idempotencyKey),
    reconcile: async ({ idempotencyKey }) => {
      const id = bank.find(idempotencyKey);
      return id === undefined ? { outcome: 'notStarted' } : { outcome: 'succeeded', output: id };
    },
    ...changes,
  };
}

export { reportToModel };

/** Pays twice in one answer, is refused once by the provider, and is done. */
export const SHOPPING: readonly ScriptedAnswer[] = [
  {
    calls: [
      { tool: 'pay', input: { cents: 500 } },
      { tool: 'pay', input: { cents: 700 } },
    ],
  },
  { fail: 'overloaded' },
  'paid',
];

export const engineWith = (
  { store, clock, model }: CrashWorld,
  tools: ToolSet,
  more: Partial<EngineOptions> = {},
): TurnEngine => createTurnEngine({ agent: 'shop', store, clock, model, tools, ...more });

/** What a service does when it starts, and its caller then. */
export async function order(engine: TurnEngine): Promise<unknown> {
  await engine.recover();
  const { turn } = await engine.sendMessage({ sessionId: 's', messageId: 'm1', input: 'buy', attended: true });
  return turn.rest;
}

export function matrixOf(bank: Bank, tools: ToolSet, more: Partial<CrashMatrixOptions> = {}): CrashMatrixOptions {
  return {
    ledger: bank.book,
    model: () => scriptedModel(SHOPPING),
    createEngine: (world) => engineWith(world, tools),
    scenario: order,
    ...more,
  };
}
