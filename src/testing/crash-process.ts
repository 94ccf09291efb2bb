/**
 * Owns one process of a schedule: its store, clock and model, all cut off at the moment at which the process dies.
 * Must not know why it dies there, nor what its death is to show.
 */
import type { Model, ModelAnswer } from '../core/model.js';
import type { Commit } from '../core/ports.js';
import type { DiskImage } from './crash-disk.js';
import type { CrashPoint } from './crash-schedule.js';
import { CrashStore } from './crash-store.js';
import { droppable } from './crash-time.js';
import type { SimulatedClock } from './simulated-clock.js';
import { commitText, type Timeline } from './timeline.js';

export interface ProcessStart {
  /** From 1. */
  readonly number: number;
  /** What it finds on its disk. */
  readonly image: DiskImage;
  readonly clock: SimulatedClock;
  readonly model: Model;
  /** Where it dies; undefined: it lives. */
  readonly point: CrashPoint | undefined;
  readonly timeline: Timeline;
  /** Told of each commit before it is written. */
  readonly onCommit: (commit: Commit) => void;
}

/** Lines of one process in the timeline. */
const MOST_TOLD = 2_000;

export class CrashProcess {
  readonly store: CrashStore;
  readonly clock: SimulatedClock;
  readonly model: Model;
  /** Resolves with its death. */
  readonly death: Promise<void>;
  /** The moments it came past, in their order. */
  readonly points: CrashPoint[] = [];
  readonly #start: ProcessStart;
  readonly #drop: () => void;
  #died!: () => void;
  #effects = 0;
  #told = 0;

  constructor(start: ProcessStart) {
    this.#start = start;
    const timers = droppable(start.clock);
    this.clock = timers.clock;
    this.#drop = timers.drop;
    this.death = new Promise((resolve) => {
      this.#died = resolve;
    });
    this.store = new TellingStore(
      {
        image: start.image,
        fate: (nth) => {
          if (this.#isHere(`write ${nth} before`)) this.#die();
          return 'pass';
        },
        onApplied: (nth) => {
          if (this.#isHere(`write ${nth} behind`)) this.#die();
        },
      },
      (commit) => {
        this.tell(`commits ${commitText(commit)}`);
        start.onCommit(commit);
      },
    );
    this.model = this.#mortal(start.model);
  }

  /** An effect took place: what the tool awaits. */
  effect(tool: string, key: string): Promise<void> {
    this.#effects += 1;
    this.tell(`EFFECT ${tool} ${key}${this.store.dead ? ', of a call it no longer hears of' : ''}`);
    if (this.store.dead) return Promise.resolve();
    if (this.#isHere(`effect ${this.#effects}`)) this.#die();
    return this.store.whileAlive(() => undefined);
  }

  #isHere(point: CrashPoint): boolean {
    this.points.push(point);
    return this.#start.point === point;
  }

  #die(): void {
    this.tell(`DIES at ${this.#start.point}`);
    this.end();
    this.#died();
  }

  /** Whatever it still does reaches nobody. */
  end(): void {
    this.store.die();
    this.#drop();
  }

  /** Does more than any that comes to an end, and was cut off: it might never have let anybody look at it again. */
  get isEndless(): boolean {
    return this.#told > MOST_TOLD;
  }

  tell(what: string): void {
    this.#start.timeline.add(this.#start.number, what);
    this.#told += 1;
    if (this.isEndless) this.end();
  }

  #mortal(model: Model): Model {
    return {
      id: model.id,
      ...(model.contextTokens === undefined ? {} : { contextTokens: model.contextTokens }),
      call: (request, call) =>
        this.store.whileAlive(async () => {
          this.tell(`asks the model, ${request.messages.length} messages`);
          try {
            const answer = await model.call(request, call);
            this.tell(`reads ${answerText(answer)}`);
            return answer;
          } catch (thrown) {
            this.tell(`reads an error: ${thrown}`);
            throw thrown;
          }
        }),
    };
  }
}

function answerText({ content }: ModelAnswer): string {
  const parts = content.map((part) => {
    if (part.type === 'tool-call') return `call ${part.toolName} ${JSON.stringify(part.input)}`;
    return part.type === 'text' ? JSON.stringify(part.text) : part.type;
  });
  return parts.join(', ');
}

/** Tells of each commit before it is written. */
class TellingStore extends CrashStore {
  readonly #tell: (commit: Commit) => void;

  constructor(options: ConstructorParameters<typeof CrashStore>[0], tell: (commit: Commit) => void) {
    super(options);
    this.#tell = tell;
  }

  override commit(commit: Commit): Promise<void> {
    if (!this.dead) this.#tell(commit);
    return super.commit(commit);
  }
}
