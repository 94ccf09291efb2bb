/**
 * Owns the body that `useChat` reads: one turn as Server-Sent Events, pulled at the pace of its reader.
 * Must not know what the chunks mean.
 */
import type { SessionEvents } from '../core/events.js';
import { checkFields } from '../core/fields.js';
import { UIChunks } from './ui-chunks.js';
import { type Place, placeOf, placeText } from './ui-place.js';

export interface UIMessageStreamOptions {
  /**
   * The turn to show. Default: that of `after`, else the one in progress; where there is none, the stream ends at once.
   * One that the session does not have ends it with an `error` chunk; one that waiting input was promised is waited for.
   */
  readonly turnId?: string;
  /** The last `id` a client has got (`Last-Event-ID`): what it has of the turn is left out. Anything else is the beginning. */
  readonly after?: string;
}

/** What a response with this body has to have. */
export const UI_MESSAGE_STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  'x-vercel-ai-ui-message-stream': 'v1',
  'x-accel-buffering': 'no',
} as const;

/**
 * One turn as a UI message stream of the AI SDK 5, 6 or 7: `events` are those of `engine.follow(sessionId)`. It ends
 * with `[DONE]` when the turn has; without it where `events` end before (the process closes): the client reconnects.
 * Approvals are parts of the type `data-approval`, text that counts for nothing is named by `data-discarded`. What
 * `events` throw is the error of the stream. Whoever hands in events of its own gives them the `archive` of those of
 * `follow()`: it has what compactions took out of the turn.
 * @throws {TypeError} names the option.
 */
export function toUIMessageStream(
  events: SessionEvents,
  options: UIMessageStreamOptions = {},
): ReadableStream<Uint8Array> {
  checkStream(events, options);
  const chunks = new UIChunks(options.turnId, placeOf(options.after));
  const source = events[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  const leave = async (): Promise<void> => {
    await source.return?.();
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        for (;;) {
          const { done, value } = await source.next();
          if (done === true) return controller.close();
          const archived = chunks.needsArchive(value) ? await events.archive() : [];
          const frames = chunks.take(value, archived).map(({ chunk, place }) => frameOf(JSON.stringify(chunk), place));
          if (chunks.ended) frames.push(frameOf('[DONE]', chunks.place));
          if (frames.length === 0) continue;
          controller.enqueue(encoder.encode(frames.join('')));
          if (!chunks.ended) return;
          controller.close();
          return leave();
        }
      } catch (thrown) {
        await leave();
        throw thrown;
      }
    },
    cancel: leave,
  });
}

const frameOf = (data: string, place: Place): string => `id: ${placeText(place)}\ndata: ${data}\n\n`;

/** @throws {TypeError} names the option. */
function checkStream(events: SessionEvents, options: UIMessageStreamOptions): void {
  if (typeof events?.[Symbol.asyncIterator] !== 'function') {
    throw new TypeError('toUIMessageStream needs the events of engine.follow(sessionId).');
  }
  if (typeof events.archive !== 'function') {
    throw new TypeError('toUIMessageStream needs the events of engine.follow(sessionId) with their archive().');
  }
  checkFields(options, { turnId: true, after: true });
  const { turnId, after } = options;
  if (turnId !== undefined && (typeof turnId !== 'string' || turnId === '')) {
    throw new TypeError('turnId must be the id of a turn; take it from turn.turnId.');
  }
  if (after !== undefined && typeof after !== 'string') throw new TypeError('after must be the last id of a frame.');
}
