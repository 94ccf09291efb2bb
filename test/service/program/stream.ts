// A session as server-sent events: the first connection, a reload, another tab, and a reconnect behind a deploy.
import { once } from 'node:events';
import type { TurnEngine } from 'durable-turn';
import type { FastifyReply, FastifyRequest } from 'fastify';

const BEAT_MS = 15_000;

export async function streamEvents(
  engine: TurnEngine,
  person: string, // from the authenticated request
  request: FastifyRequest<{ Params: { id: string } }>,
  reply: FastifyReply,
): Promise<void> {
  const { id } = request.params;
  await engine.session(id); // one that cannot be read gets an answer that says why, and no stream
  // Whoever has the stream open is there: renewed with every beat, gone soon behind the last one.
  const attend = () => engine.attend(id, { person, forMs: 4 * BEAT_MS });
  await attend();
  reply.hijack();
  const out = reply.raw;
  const gone = new AbortController();
  out.once('close', () => gone.abort()); // a closed tab is no cancel: the turn goes on
  out.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' });
  out.write('retry: 500\n\n');
  const beat = setInterval(() => {
    out.write(': still here\n\n');
    void attend();
  }, BEAT_MS);
  try {
    const after = request.headers['last-event-id'];
    const { signal } = gone;
    for await (const event of engine.follow(id, typeof after === 'string' ? { after, signal } : { signal })) {
      const taken = out.write(`id: ${event.cursor}\ndata: ${JSON.stringify(event)}\n\n`);
      // A slow reader is waited for here and nowhere else; what it misses becomes a new snapshot.
      if (!taken) await once(out, 'drain', { signal });
    }
  } catch (error) {
    if (!gone.signal.aborted) request.log.error(error);
  } finally {
    clearInterval(beat);
    out.end();
  }
}
