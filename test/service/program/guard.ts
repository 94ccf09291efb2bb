// Who may talk to the service: whoever shows the token, in a header or, from the page, in a cookie. Put your own here.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';

const OPEN = new Set(['/', '/page.js', '/healthz', '/login']);

export function guard(app: FastifyInstance, token: string): void {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  const known = (shown: string | undefined) => shown !== undefined && timingSafeEqual(digest(shown), digest(token));

  app.addHook('onRequest', async (request, reply) => {
    const path = request.url.split('?')[0] as string;
    if (!OPEN.has(path) && !known(shownBy(request))) return reply.code(401).send({ error: 'no token, or a wrong one' });
  });

  // A browser's EventSource can send no header of its own. The cookie is for this site only and for no script.
  app.post<{ Body: { token?: unknown } | null }>('/login', async (request, reply) => {
    const shown = request.body?.token;
    if (typeof shown !== 'string' || !known(shown)) return reply.code(401).send({ error: 'a wrong token' });
    const cookie = `token=${encodeURIComponent(shown)}; HttpOnly; SameSite=Strict; Path=/`;
    return reply.header('set-cookie', cookie).send({});
  });
}

function shownBy({ headers }: FastifyRequest): string | undefined {
  const bearer = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1];
  const cookie = /(?:^|; )token=([^;]+)/.exec(headers.cookie ?? '')?.[1];
  return bearer ?? (cookie === undefined ? undefined : decodeURIComponent(cookie));
}
