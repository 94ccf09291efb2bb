// A real HTTP server on the loopback interface that plays a provider: it keeps what it was asked and answers what a test
// tells it to, frame by frame, so that a stream can be slow, silent, or cut.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Asked {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: any;
}

/** A whole body, or frames of a stream. `CUT` breaks the connection, and an iterable can take its time. */
export type Frame = string | typeof CUT | typeof SILENCE;
export const CUT = Symbol('the connection breaks');
export const SILENCE = Symbol('nothing more comes, and the connection stays');

export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly frames?: readonly Frame[] | AsyncIterable<Frame>;
  /** Not even headers come. */
  readonly silent?: true;
}

export class Loopback {
  readonly asked: Asked[] = [];
  /** Settles for each request whose client has gone before the answer was whole. */
  readonly gone: Promise<void>[] = [];
  private readonly replies: (Reply | ((asked: Asked) => Reply))[] = [];
  private readonly server: Server;

  constructor() {
    this.server = createServer((request, response) => void this.answer(request, response));
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  /** What it answers next, in this order; behind the end it repeats the last one. */
  says(...replies: readonly (Reply | ((asked: Asked) => Reply))[]): void {
    this.replies.push(...replies);
  }

  get lastAsked(): Asked {
    return this.asked.at(-1) as Asked;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new Promise<void>((resolve) => response.once('close', () => resolve()));
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const asked = {
      path: request.url ?? '',
      headers: request.headers,
      body: JSON.parse(Buffer.concat(chunks).toString() || 'null'),
    };
    this.asked.push(asked);
    this.gone.push(gone);
    const next = this.replies.length > 1 ? this.replies.shift() : this.replies[0];
    if (next === undefined) throw new Error('the test has not said what to answer');
    await reply(response, typeof next === 'function' ? next(asked) : next, gone);
  }
}

async function reply(
  response: ServerResponse,
  { status = 200, headers, body, frames, silent }: Reply,
  gone: Promise<void>,
) {
  if (silent === true) return gone;
  if (frames === undefined) {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
    return;
  }
  response.writeHead(status, { 'content-type': 'text/event-stream', ...headers });
  response.flushHeaders();
  for await (const frame of frames) {
    if (frame === SILENCE) return;
    if (frame === CUT) {
      // Behind what was written, unlike a reset.
      response.socket?.end();
      return;
    }
    if (typeof frame === 'string') response.write(frame);
    if (response.destroyed) return;
  }
  response.end();
  await gone;
}

/** Listens until the test is over. */
export async function loopback(): Promise<Loopback> {
  const server = new Loopback();
  await server.listen();
  onTestFinished(() => server.close());
  return server;
}
