// The example service as a real process, over real HTTP: what a chat needs, and what a deploy and a crash may do to it.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { FollowEvent } from '../../src/index.js';
import { openLevelStore } from '../../src/store/level-store.js';
import { pictureOf } from '../engine/following.js';
import { makeProject, type Project, Service } from './processes.js';
import { Stream } from './stream.js';

let project: Project;
const services: Service[] = [];
const streams: Stream[] = [];

beforeAll(async () => {
  project = await makeProject();
});
afterEach(async () => {
  for (const stream of streams.splice(0)) stream.leave();
  for (const service of services.splice(0)) await service.kill();
});
afterAll(() => project?.remove());

async function started(env: Record<string, string> = {}): Promise<Service> {
  const service = new Service(project, { PACE_MS: '10', ...env });
  services.push(service);
  expect(await service.start()).toBe('ready');
  return service;
}

function follow(service: Service, sessionId = 's'): Stream {
  const stream = new Stream(() => service.address, sessionId);
  streams.push(stream);
  return stream;
}

const ofType =
  (type: FollowEvent['type']) =>
  (event: FollowEvent): boolean =>
    event.type === type;

const outcomeOf = (event: FollowEvent): string => (event.type === 'outcome' ? event.outcome.status : event.type);

/** What the store says once no process has it open. */
async function stored(service: Service, sessionId = 's') {
  const store = await openLevelStore({ path: service.storePath });
  try {
    return { session: await store.load(sessionId), markers: await store.markers('assistant') };
  } finally {
    await store.close();
  }
}

/** Each effect once, and none missing. */
function expectSent(service: Service, count: number): void {
  const effects = service.effects();
  expect(effects.map(({ what }) => what)).toEqual(Array.from({ length: count }, (_, n) => `number ${n + 1}`));
  expect(new Set(effects.map(({ key }) => key)).size).toBe(count);
}

describe('a chat', () => {
  it('streams an answer, and the picture of the stream is what is stored', async () => {
    const service = await started();
    const stream = follow(service);
    await stream.until(ofType('snapshot'));
    expect(await service.send('s', '/send 2', 'm1')).toMatchObject({ status: 202, body: { accepted: 'started' } });
    expect(outcomeOf(await stream.until(ofType('outcome')))).toBe('completed');
    // Sent again: it counts once.
    expect(await service.send('s', '/send 2', 'm1')).toMatchObject({ body: { accepted: 'duplicate' } });
    expectSent(service, 2);
    const picture = pictureOf(stream.events);
    await service.kill();
    const { session } = await stored(service);
    expect(picture.messages).toEqual(session?.messages.map(({ meta }) => meta.id));
    expect(picture).toMatchObject({ partial: [], phase: 'completed' });
    const text = stream.events.flatMap((event) => (event.type === 'delta' ? [event.delta.text] : [])).join('');
    expect(text).toContain('All 2 were sent.');
  });

  it('a connection that breaks comes back behind its last event: no gap, no double', async () => {
    const service = await started();
    const [broken, whole] = [follow(service), follow(service)];
    await Promise.all([broken, whole].map((stream) => stream.until(ofType('snapshot'))));
    await service.send('s', '/talk 60', 'm1');
    for (let n = 0; n < 3; n += 1) {
      await broken.next(ofType('delta'));
      broken.drop();
    }
    await Promise.all([broken, whole].map((stream) => stream.until(ofType('outcome'))));
    expect(broken.connected).toBeGreaterThan(3);
    expect(broken.events.slice(1)).toEqual(whole.events.slice(1));
  });

  it('the stop button ends a turn and keeps what was said', async () => {
    const service = await started();
    const stream = follow(service);
    await service.send('s', '/hang', 'm1');
    await stream.until((event) => event.type === 'delta' && event.delta.text.includes('it.'));
    expect(await service.request('/sessions/s/stop', {})).toMatchObject({ body: { status: 'cancelled' } });
    expect(outcomeOf(await stream.until(ofType('outcome')))).toBe('cancelled');
    expect(JSON.stringify(stream.events)).toContain('"raw":"cancelled"');
    expect(await service.request('/sessions/s/stop', {})).toMatchObject({ body: { status: 'idle' } });
  });

  it('an approval waits over kill -9 and a deploy, and counts once', async () => {
    const service = await started();
    const stream = follow(service);
    await service.send('s', '/publish', 'm1');
    await stream.until(ofType('approvalRequested'));
    await service.kill();
    await service.start();
    await service.deploy();
    await service.start();
    const [approval] = (await service.request('/approvals')).body;
    const snapshot = await stream.until((event) => event.type === 'snapshot' && event.approvals.length > 0);
    expect(snapshot).toMatchObject({ approvals: [approval] });
    const path = `/approvals/${approval.id}`;
    const answers = await Promise.all([1, 2].map(() => service.request(path, { allow: true, reason: 'go' })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(outcomeOf(await stream.until(ofType('outcome')))).toBe('completed');
    expect(service.effects()).toMatchObject([{ tool: 'publish' }]);
  });

  it('a token is needed for all but the page and its health, and errors say what is wrong', async () => {
    const service = await started();
    const plain = (path: string, init: RequestInit = {}) => fetch(`${service.address}${path}`, init);
    for (const path of ['/', '/page.js', '/healthz']) expect((await plain(path)).status, path).toBe(200);
    for (const path of ['/approvals', '/sessions/s/events', '/nothing']) {
      expect((await plain(path)).status, path).toBe(401);
      expect((await plain(path, { headers: { authorization: 'Bearer wrong' } })).status, path).toBe(401);
      expect((await plain(path, { headers: { cookie: 'token=wrong' } })).status, path).toBe(401);
    }
    expect((await plain('/login', { method: 'POST' })).status).toBe(401);
    expect(await service.send('s', '', 'm1')).toMatchObject({ status: 400 });
    expect(await service.request('/approvals/nothing', { allow: true })).toMatchObject({ status: 400 });
    expect(await service.request('/approvals/nothing', {})).toMatchObject({ status: 400 });
    expect(await service.request('/healthz')).toEqual({ status: 200, body: { ready: true } });
  });
});

describe('a deploy', () => {
  it('ten in a row during one turn spend no attempt and double nothing', async () => {
    const service = await started();
    const stream = follow(service);
    await service.send('s', '/send 12', 'm1');
    for (let n = 1; n <= 10; n += 1) {
      await stream.until((event) => event.type === 'call' && event.toolName === 'send' && event.state === 'dispatched');
      await stream.next(ofType('delta'));
      expect(await service.deploy(), `deploy ${n}`).toMatchObject({ code: 0, signal: null, stderr: '' });
      expect((await stored(service)).session?.head).toMatchObject({
        inProgress: true,
        handedOver: true,
        attempts: 0,
        recoveries: 0,
      });
      await service.start();
    }
    expect(outcomeOf(await stream.until(ofType('outcome')))).toBe('completed');
    expect(stream.refused.filter((status) => status !== 503)).toEqual([]);
    expectSent(service, 12);
    const picture = pictureOf(stream.events);
    await service.deploy();
    const { session, markers } = await stored(service);
    expect(session?.head).toMatchObject({ attempts: 0, recoveries: 0, ended: { kind: 'completed' } });
    expect(markers).toEqual([]);
    expect(picture.messages).toEqual(session?.messages.map(({ meta }) => meta.id));
  });

  it('lets a tool settle within its grace, refuses new input meanwhile, and ends its streams', async () => {
    const service = await started({ PACE_MS: '400' });
    const stream = follow(service);
    await service.send('s', '/send 1', 'm1');
    await stream.until((event) => event.type === 'call' && event.toolName === 'send' && event.state === 'dispatched');
    const going = service.deploy();
    let refused: { status: number; body: any } | undefined;
    for (let n = 2; refused === undefined; n += 1) {
      const answer = await service.send('s', 'one more', `m${n}`);
      if (answer.status === 503) refused = answer;
    }
    expect(refused.body).toMatchObject({ code: 'TURN_ENGINE_CLOSING' });
    expect(await going).toMatchObject({ code: 0 });
    const { session } = await stored(service);
    expect(session?.calls.find(({ toolName }) => toolName === 'send')).toMatchObject({
      state: 'succeeded',
      dispatch: 1,
    });
  });
});

describe('kill -9', () => {
  it('a turn that makes progress survives ten of them, and each effect happens once', async () => {
    const service = await started();
    const stream = follow(service);
    await service.send('s', '/send 12', 'm1');
    for (let n = 1; n <= 10; n += 1) {
      // A new outcome in this life: progress.
      await stream.next((event) => event.type === 'call' && event.toolName === 'send' && event.state === 'succeeded');
      await stream.next(ofType('delta'));
      expect(await service.kill()).toMatchObject({ signal: 'SIGKILL' });
      expect(await service.start()).toBe('ready');
    }
    expect(outcomeOf(await stream.until(ofType('outcome')))).toBe('completed');
    expectSent(service, 12);
    await service.kill();
    const { session } = await stored(service);
    expect(session?.head.recoveries).toBe(10);
    expect(pictureOf(stream.events).messages).toEqual(session?.messages.map(({ meta }) => meta.id));
  });

  it('a turn that kills its process at every start ends behind its third recovery, and the rest goes on', async () => {
    const service = await started();
    await service.send('s', '/crash', 'm1');
    expect(await service.gone).toMatchObject({ signal: 'SIGKILL' });
    for (let recovery = 1; recovery <= 3; recovery += 1) {
      await service.start();
      expect(await service.gone, `recovery ${recovery}`).toMatchObject({ signal: 'SIGKILL' });
    }
    expect(await service.start()).toBe('ready');
    const stream = follow(service);
    expect(await stream.until(ofType('snapshot'))).toMatchObject({
      inProgress: false,
      outcome: { status: 'abandoned' },
    });
    await service.send('s', '/talk 2', 'm2');
    expect(outcomeOf(await stream.until(ofType('outcome')))).toBe('completed');
  });
});
