/**
 * Owns the receiver, a process of its own: it writes every effect it accepts to its file before it answers, and says
 * by key whether it has one. Must not know turns, and must not remove doubles: it is naive, so that it can count them.
 */
import { timingSafeEqual } from 'node:crypto';
import { fsyncSync, openSync, writeSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { started, tell } from './parent.js';
import type { FromReceiver, Landed, ToReceiver } from './wire.js';

/** How long an answer takes once the effect is on disk: room for a kill between an effect and its record. */
const ANSWER_MS = 160;
const BODY_BYTES = 65_536;

class Receiver {
  private readonly file: number;
  private readonly authorization: Buffer;
  private readonly counts = new Map<string, number>();

  constructor({ file, token }: ToReceiver) {
    this.file = openSync(file, 'a');
    this.authorization = Buffer.from(`Bearer ${token}`);
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!this.isAllowed(request)) return answer(response, 401, { error: 'a bearer token is needed' });
    if (request.method === 'GET') return this.lookUp(request, response);
    if (request.method !== 'POST') return answer(response, 405, { error: 'POST or GET' });
    const key = request.headers['idempotency-key'];
    const notAfter = Number(request.headers['x-not-after']);
    const body = await bodyOf(request);
    if (typeof key !== 'string' || body === undefined) return answer(response, 400, { error: 'a key and a body' });
    // The sender may already have been told that this key is not here: what comes late must not land.
    if (!(Date.now() <= notAfter)) return answer(response, 410, { error: 'too late, nothing happened' });
    this.accept({ ...body, key });
    await pause(ANSWER_MS);
    return answer(response, 201, { receipt: key.slice(-6) });
  }

  /** The effect: on disk before anybody is told. */
  private accept(landed: Landed): void {
    writeSync(this.file, `${JSON.stringify(landed)}\n`);
    fsyncSync(this.file);
    this.counts.set(landed.key, (this.counts.get(landed.key) ?? 0) + 1);
    tell<FromReceiver>({ type: 'landed', landed });
  }

  private lookUp(request: IncomingMessage, response: ServerResponse): void {
    const key = decodeURIComponent(request.url?.split('/').at(-1) ?? '');
    const count = this.counts.get(key) ?? 0;
    answer(response, count > 0 ? 200 : 404, { receipt: key.slice(-6), count });
  }

  private isAllowed(request: IncomingMessage): boolean {
    const given = Buffer.from(request.headers.authorization ?? '');
    return given.length === this.authorization.length && timingSafeEqual(given, this.authorization);
  }
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** undefined for a body that was cut off by a kill, is too long or is no effect: then nothing happened. */
async function bodyOf(request: IncomingMessage): Promise<Omit<Landed, 'key'> | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request) {
      bytes += chunk.length;
      if (bytes > BODY_BYTES) return undefined;
      chunks.push(chunk);
    }
    const { to, text, callId } = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    return [to, text, callId].every((value) => typeof value === 'string') ? { to, text, callId } : undefined;
  } catch {
    return undefined;
  }
}

const receiver = new Receiver(await started<ToReceiver>());
const server = createServer((request, response) => {
  receiver.serve(request, response).catch(() => response.destroy());
});
server.listen(0, '127.0.0.1', () => {
  tell<FromReceiver>({ type: 'listening', port: (server.address() as AddressInfo).port });
});
