// A chat service on one machine: turns survive kill -9 and deploys, readers survive reconnects. Copy it.
// Owns start and stop; routes.ts has the HTTP side, agent.ts the model and the tools.

import { createTurnEngine } from 'durable-turn';
import { openLevelStore } from 'durable-turn/level';
import Fastify from 'fastify';
import { makeTools, model } from './agent.js';
import { guard } from './guard.js';
import { openOutbox } from './outbox.js';
import { routes } from './routes.js';

const { STORE = './data', OUTBOX = './outbox.jsonl', PORT = '3000', TOKEN = '', GRACE_MS = '10000' } = process.env;
if (TOKEN === '') throw new Error('TOKEN is missing: the secret that clients show');

const store = await openLevelStore({ path: STORE });
const engine = createTurnEngine({
  agent: 'assistant',
  store,
  model,
  tools: makeTools(openOutbox(OUTBOX)),
  limits: { approvalMs: 24 * 3_600_000 },
});

let ready = false;
const app = Fastify({ bodyLimit: 100_000 });
guard(app, TOKEN);
routes(app, engine, () => ready);

// A deploy: no attempt is spent, streams end, and the next process goes on. Shorter than what the platform grants.
process.once('SIGTERM', async () => {
  ready = false;
  await engine.close({ graceMs: Number(GRACE_MS) });
  await app.close();
  await store.close();
});

const address = await app.listen({ host: '127.0.0.1', port: Number(PORT) });
await engine.recover({ everyMs: 10_000 });
ready = true;
console.log(`ready at ${address}`);
