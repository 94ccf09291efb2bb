// The HTTP side of a chat: messages in, a stop button, approvals, health; the stream out is in stream.ts.
// Knows nothing of models and tools.
import { readFileSync } from 'node:fs';
import { type TurnEngine, TurnError } from 'durable-turn';
import type { FastifyInstance } from 'fastify';
import { streamEvents } from './stream.js';

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

const PERSON = 'the owner of the token';

export function routes(app: FastifyInstance, engine: TurnEngine, isReady: () => boolean): void {
  // Whatever the session is doing: starts a turn, joins the running one, or was sent before. Durable when it answers.
  app.post<Session & Message>('/sessions/:id/messages', { schema: { body: message } }, async (request, reply) => {
    const { text, messageId } = request.body;
    const input = { sessionId: request.params.id, input: text, messageId, attended: true };
    const { accepted, turn } = await engine.sendMessage(input);
    return reply.code(202).send({ accepted, turnId: turn.turnId });
  });

  app.get<Session>('/sessions/:id/events', (request, reply) => streamEvents(engine, PERSON, request, reply));

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
