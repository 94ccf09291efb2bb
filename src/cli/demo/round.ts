/**
 * Owns one round: it starts receiver and service, kills the service as planned, starts it again until the turn has
 * come to rest, and asks the world what happened. Must not know the options or what a round looks like in print.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TurnRest } from '../../index.js';
import { type Child, type Ended, startChild } from './children.js';
import type { Kill, KillPlan } from './kill-plan.js';
import { describeRest, isCompleted, type Moment, momentOf, momentOfDecision, momentOfLanding } from './moments.js';
import { PERSON, Person } from './person.js';
import { projectIn, writeProject } from './project.js';
import type { AskedCall, Expected, Story } from './story.js';
import { judge, type Verdict, type World } from './verdict.js';
import type { Decide, FromReceiver, FromService, Landed, ReceiverAddress, ToReceiver, ToService } from './wire.js';
import { type CutOff, Witness } from './witness.js';

export interface DoneKill extends CutOff {
  /** The moment it landed behind. */
  readonly moment: number;
  readonly phase: string;
  readonly service: number;
  readonly pid: number;
}

export interface RoundResult {
  readonly verdict: Verdict;
  readonly kills: readonly DoneKill[];
  readonly witness: Witness;
  readonly startedAt: number;
  readonly endedAt: number;
  /** Why the round failed beside its effects, or null. */
  readonly failure: string | null;
}

export interface RoundWatcher {
  moment(number: number, at: number, who: string, phase: string, moment: Moment): void;
  killed(kill: DoneKill): void;
}

/** How long a turn is parked before the service is killed; the person comes back after that. */
const PARKED_MS = 120;

export class Round {
  private readonly folder: string;
  private readonly watcher: RoundWatcher;
  private readonly story: Story;
  private readonly witness: Witness;
  private readonly pending: Kill[];
  private readonly done: DoneKill[] = [];
  private readonly startedAt = performance.now();
  private moments = 0;
  private landings = 0;
  private services = 0;
  private service: Child<ToService> | undefined;
  private asked: readonly AskedCall[] = [];
  private rest: TurnRest | undefined;
  /** The next planned kill, under way. */
  private armed: NodeJS.Timeout | undefined;
  /** The kill of every round: the one of a parked turn. */
  private parting: NodeJS.Timeout | undefined;
  /** The service that runs now has been killed. */
  private sent = false;
  /** A call has one name, the first it was heard of by: not every message says which tool it is of. */
  private readonly labelOf: Story['labelOf'] = (callId, toolName) =>
    this.witness.calls.get(callId)?.label ?? this.story.labelOf(callId, toolName);
  private readonly person = new Person((decision, again) => this.decide(decision, again));

  constructor(folder: string, plan: KillPlan, watcher: RoundWatcher, story: Story) {
    this.folder = folder;
    this.story = story;
    this.witness = new Witness(story);
    this.pending = [...plan.kills];
    this.watcher = watcher;
  }

  async play(): Promise<RoundResult> {
    writeProject(this.folder);
    const receiver = this.startReceiver();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<string>((resolve) => {
      const { mostMs } = this.story;
      timer = setTimeout(() => resolve(`the turn did not come to rest within ${mostMs / 1000} s`), mostMs);
    });
    const failure = await Promise.race([this.runServices(receiver.address), late]);
    clearTimeout(timer);
    this.disarm();
    this.service?.kill();
    const endedAt = performance.now();
    receiver.child.kill();
    await receiver.child.ended;
    const expected = this.story.expected(this.asked);
    const verdict = judge(expected, worldIn(this.folder, expected));
    const { witness, startedAt, done } = this;
    return { verdict, kills: done, witness, startedAt, endedAt, failure: failure ?? untested(verdict) };
  }

  /** Kills that were planned for a moment the turn did not reach. */
  get unused(): readonly Kill[] {
    return this.pending;
  }

  private startReceiver(): { child: Child<ToReceiver>; address: Promise<ReceiverAddress> } {
    const token = randomBytes(24).toString('base64url');
    let listening!: (address: ReceiverAddress) => void;
    const address = new Promise<ReceiverAddress>((resolve) => {
      listening = resolve;
    });
    const child = startChild<ToReceiver, FromReceiver>('./receiver.js', (message) => {
      if (message.type === 'listening') listening({ url: `http://127.0.0.1:${message.port}`, token });
      else this.heardLanding(message.landed);
    });
    child.send({ type: 'start', file: receiverFile(this.folder), token });
    return { child, address };
  }

  /** The reason of a failure, or null. A service that was killed is started again, even behind the end of its turn. */
  private async runServices(address: Promise<ReceiverAddress>): Promise<string | null> {
    for (;;) {
      this.services += 1;
      this.sent = false;
      const service = startChild<ToService, FromService>('./service.js', (message) => this.heard(message));
      this.service = service;
      service.send({ type: 'start', folder: this.folder, receiver: await address, live: this.story.live });
      this.armNext();
      const ended = await service.ended;
      this.disarm();
      if (this.sent && ended.signal === 'SIGKILL') this.noteKill(service);
      else return this.failureOf(ended);
    }
  }

  private failureOf({ code, signal, errors }: Ended): string | null {
    if (code !== 0) return `service ${this.services} ended with ${signal ?? `exit code ${code}`}\n${errors}`.trimEnd();
    if (this.rest === undefined) return `service ${this.services} ended before its turn did`;
    return isCompleted(this.rest) ? null : describeRest(this.rest);
  }

  private noteKill(service: Child<ToService>): void {
    const phase = this.witness.phase || (this.services === 1 ? 'start' : 'recovery');
    const cutOff = this.witness.kill(performance.now());
    const done = { ...cutOff, moment: this.moments, phase, service: this.services, pid: service.pid };
    this.done.push(done);
    this.watcher.killed(done);
  }

  private heard(message: FromService): void {
    const at = performance.now();
    const isNews = this.witness.hear(message, at);
    if (message.type === 'calls') this.asked = message.calls;
    if (message.type === 'rest') this.rest = message.rest;
    const moment = isNews ? momentOf(message, this.labelOf) : undefined;
    if (moment !== undefined) this.tell(at, `service ${this.services}`, moment);
    this.person.hear(message);
    if (message.type === 'parked' && !this.person.isThere) this.partFrom();
  }

  private decide(decision: Decide, again: boolean): void {
    this.service?.send(decision);
    this.tell(performance.now(), PERSON, momentOfDecision(decision, again, this.labelOf));
  }

  private heardLanding(landed: Landed): void {
    const at = performance.now();
    this.landings += 1;
    this.witness.land(landed, at);
    this.tell(at, 'receiver', momentOfLanding(landed, this.labelOf));
  }

  private tell(at: number, who: string, moment: Moment): void {
    this.moments += 1;
    this.watcher.moment(this.moments, at - this.startedAt, who, this.witness.phase, moment);
    this.armNext();
  }

  /** Arms the next kill once its moment has come; one kill is under way at a time. */
  private armNext(): void {
    const [kill] = this.pending;
    const { service } = this;
    if (kill === undefined || service === undefined || this.armed !== undefined || this.sent) return;
    const isDue = 'moment' in kill ? this.moments >= kill.moment : this.landings >= kill.landed;
    if (!isDue) return;
    const strike = (): void => {
      if (this.sent) return;
      this.pending.shift();
      this.strike();
    };
    // Without a delay the service has not done anything since.
    if (kill.delayMs === 0) strike();
    else this.armed = setTimeout(strike, kill.delayMs);
  }

  /** The turn is parked, and nobody has decided yet: the service goes, and whoever starts next finds the turn. */
  private partFrom(): void {
    this.parting = setTimeout(() => this.strike(), PARKED_MS);
  }

  private strike(): void {
    this.sent = true;
    this.service?.kill();
  }

  private disarm(): void {
    clearTimeout(this.armed);
    clearTimeout(this.parting);
    this.armed = undefined;
    this.person.stopThinking();
  }
}

/** A turn without an effect says nothing about effects: a model that refuses to call tools is no success. */
const untested = ({ rows }: Verdict): string | null =>
  rows.length > 0
    ? null
    : 'nothing was tested: the turn had no effect that can be counted. Ask a model that calls tools (--model).';

const receiverFile = (folder: string): string => join(folder, 'receiver.jsonl');

/** Read from the disk, after everybody who could write is gone. */
function worldIn(folder: string, expected: readonly Expected[]): World {
  const read = (file: string): string | undefined => (existsSync(file) ? readFileSync(file, 'utf8') : undefined);
  const lines = (read(receiverFile(folder)) ?? '').split('\n').filter((line) => line !== '');
  const paths = expected.flatMap((effect) => (effect.kind === 'posted' ? [] : [effect.path]));
  return {
    posted: lines.map((line) => JSON.parse(line) as Landed),
    files: Object.fromEntries(paths.map((path) => [path, read(join(projectIn(folder), path))])),
  };
}
