// What is handed to LevelDB, by whichever adapter: every write with its size and whether it is synced, and what would be
// on the disk if the power went now. It listens where `level` gives options to its binding, which reads `sync` there and
// nowhere else.
import { cpSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { Level } from 'level';
import { vi } from 'vitest';

export interface Write {
  readonly how: 'put' | 'del' | 'batch' | 'clear';
  /** The folder of its database. */
  readonly folder: string;
  readonly ops: number;
  readonly bytes: number;
  /** Bytes of its largest value. */
  readonly largest: number;
  readonly sync: boolean;
}

type Call = (this: Level, ...given: unknown[]) => Promise<unknown>;
interface Hooks {
  _put: Call;
  _del: Call;
  _batch: Call;
  _clear: Call;
  _get: Call;
  _chainedBatch(this: Level): Chained;
}
/** A batch that is handed over op by op. */
interface Chained {
  _put(key: unknown, value: unknown): void;
  _del(key: unknown): void;
  _write(options: object): Promise<unknown>;
}

const hooks = Level.prototype as unknown as Hooks;
const sizeOf = (value: unknown): number =>
  typeof value === 'string' ? Buffer.byteLength(value) : ((value as Uint8Array | undefined)?.length ?? 0);

interface Op {
  readonly key: unknown;
  readonly value?: unknown;
}

/** The ops of a call, and its options behind them. */
function partsOf(how: Write['how'], given: readonly unknown[]): readonly [readonly Op[], { sync?: unknown }] {
  if (how === 'batch') return [given[0] as readonly Op[], given[1] as object];
  if (how === 'put') return [[{ key: given[0], value: given[1] }], given[2] as object];
  if (how === 'del') return [[{ key: given[0] }], given[1] as object];
  return [[], given[0] as object];
}

const locationOf = (level: Level): string => (level as unknown as { location: string }).location;
const logsIn = (folder: string): readonly string[] => readdirSync(folder).filter((name) => name.endsWith('.log'));

export class RecordedCalls {
  readonly writes: Write[] = [];
  /** How long each log was when a write in it was synced last. */
  readonly #durable = new Map<string, number>();
  readonly #spies: { mockRestore(): void }[] = [];

  constructor() {
    for (const how of ['put', 'del', 'batch', 'clear'] as const) {
      const original = hooks[`_${how}`];
      const listen = async (level: Level, given: unknown[]) => {
        const result = await original.apply(level, given);
        this.#note(how, locationOf(level), given);
        return result;
      };
      const spy = vi.spyOn(hooks, `_${how}`).mockImplementation(function (this: Level, ...given) {
        return listen(this, given);
      });
      this.#spies.push(spy);
    }
    const original = hooks._chainedBatch;
    const listen = (level: Level) => this.#listened(original.call(level), locationOf(level));
    const spy = vi.spyOn(hooks, '_chainedBatch').mockImplementation(function (this: Level) {
      return listen(this);
    });
    this.#spies.push(spy);
  }

  #listened(batch: Chained, folder: string): Chained {
    const [add, remove, write] = [batch._put.bind(batch), batch._del.bind(batch), batch._write.bind(batch)];
    const ops: Op[] = [];
    return Object.assign(batch, {
      _put: (key: unknown, value: unknown) => {
        ops.push({ key, value });
        add(key, value);
      },
      _del: (key: unknown) => {
        ops.push({ key });
        remove(key);
      },
      _write: async (options: object) => {
        await write(options);
        this.#note('batch', folder, [ops, options]);
      },
    });
  }

  #note(how: Write['how'], folder: string, given: readonly unknown[]): void {
    const [ops, options] = partsOf(how, given);
    const bytes = ops.reduce((sum, { key, value }) => sum + sizeOf(key) + sizeOf(value), 0);
    const largest = Math.max(0, ...ops.map(({ value }) => sizeOf(value)));
    // The binding turns it off for clear(), whatever was asked for.
    const sync = options.sync === true && how !== 'clear';
    this.writes.push({ how, folder, ops: ops.length, bytes, largest, sync });
    // What is durable with a synced write is the log in which it is, up to its end.
    for (const name of sync ? logsIn(folder).slice(-1) : []) {
      this.#durable.set(join(folder, name), statSync(join(folder, name)).size);
    }
  }

  /** A copy of the folder as a disk may have it that keeps what was synced and nothing else. */
  withoutPower(folder: string, copy: string): void {
    rmSync(copy, { recursive: true, force: true });
    cpSync(folder, copy, { recursive: true, filter: (name) => !/LOCK$|durable-turn\.run$/.test(name) });
    for (const name of logsIn(copy)) truncateSync(join(copy, name), this.#durable.get(join(folder, name)) ?? 0);
  }

  restore(): void {
    for (const spy of this.#spies) spy.mockRestore();
  }
}

/** Runs something once, between the first read of a record and whatever comes next. */
export function afterFirstGet(run: () => Promise<void>): { restore(): void } {
  const original = hooks._get;
  let ran = false;
  const listen = async (level: Level, given: unknown[]) => {
    const found = await original.apply(level, given);
    if (!ran) {
      ran = true;
      await run();
    }
    return found;
  };
  const spy = vi.spyOn(hooks, '_get').mockImplementation(function (this: Level, ...given) {
    return listen(this, given);
  });
  return { restore: () => spy.mockRestore() };
}
