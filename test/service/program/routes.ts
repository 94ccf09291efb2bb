// The HTTP side of a chat: messages in, one stream out, a stop button, approvals, health.
// Knows nothing of models and tools.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type TurnEngine, TurnError } from 'durable-turn';
import type { FastifyInstance } from 'fastify';

type Session = { Params: { id: string } };
type Message = { Body: { text: string; messageId: string } };
type Decision = { Body: { allow: boolean; reason?: string } };

const message = {
  type: 'object',
  required: ['text', 'messageId'],
  properties: { text: { type: 'string', minLength: 1 }, messageId: { type: 'string', minLength: 1 } },
};
const decision = {
  type: 'object',
  required: ['allow'],
  properties: { allow: { type: 'boolean' }, reason: { type: 'string' } },
};

/** A person whose stream is open is there; renewed with every beat. */
const BEAT_MS = 15_000;
const PERSON = 'the owner of the token';

export function routes(app: FastifyInstance, engine: TurnEngine, isReady: () => boolean): void {
  // Whatever the session is doing: starts a turn, joins the running one, or was sent before. Durable when it answers.
  app.post<Session & Message>('/sessions/:id/messages', { schema: { body: message } }, async (request, reply) => {
    const { text, messageId } = request.body;
    const input = { sessionId: request.params.id, input: text, messageId, attended: true };
    const { accepted, turn } = await engine.sendMessage(input);
    return reply.code(202).send({ accepted, turnId: turn.turnId });
  });

  // The first connection, a reload, another tab, and a reconnect behind a deploy.
  app.get<Session>('/sessions/:id/events', async (request, reply) => {
    const { id } = request.params;
    await engine.session(id); // one that cannot be read gets an answer that says why, and no stream
    const after = request.headers['last-event-id'];
    const attend = () => engine.attend(id, { person: PERSON, forMs: 4 * BEAT_MS });
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
  });

  app.post<Session>('/sessions/:id/stop', async (request) => {
    const turn = engine.activeTurn(request.params.id);
    const outcome = await turn?.cancel({ reason: 'stop button', keepPartialText: true });
    return { status: outcome?.status ?? 'idle' };
  });

  app.get('/approvals', () => engine.approvals());

  app.post<Session & Decision>('/approvals/:id', { schema: { body: decision } }, async (request, reply) => {
    const result = await engine.decideApproval(request.params.id, { ...request.body, by: PERSON });
    return reply.code(result === 'applied' ? 200 : 409).send({ result });
  });

  app.get('/healthz', (_request, reply) => reply.code(isReady() ? 200 : 503).send({ ready: isReady() }));

  const page = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8');
  app.get('/', (_request, reply) =>
    reply
      .type('text/html')
      .header('content-security-policy', "default-src 'self'; img-src data:")
      .send(page('page.html')),
  );
  app.get('/page.js', (_request, reply) => reply.type('text/javascript').send(page('page.js')));

  app.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
    const code = error instanceof TurnError ? error.code : undefined;
    if (error instanceof TurnError && error.retryable) void reply.code(503).header('retry-after', '1');
    else if (code === 'TURN_NOT_FOUND') void reply.code(404);
    else void reply.code(error.statusCode ?? (error instanceof TypeError ? 400 : 500));
    if (reply.statusCode >= 500) request.log.error(error);
    return reply.send({ error: error.message, code });
  });
}
