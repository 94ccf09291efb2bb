// A headless Chromium, driven over its debugging pipe: no package and no port, so it runs wherever the browser does.
import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** `CHROMIUM` names one; otherwise the first of the usual names on the path. */
export function findChromium(): string | null {
  const named = process.env.CHROMIUM;
  const candidates = named
    ? [named]
    : NAMES.flatMap((name) => (process.env.PATH ?? '').split(delimiter).map((dir) => join(dir, name)));
  for (const file of candidates) {
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // Not this one.
    }
  }
  return null;
}

type Message = Readonly<Record<string, any>>;

/** What the page did that a reader would not want: errors, warnings, and requests for anything but the file. */
export interface Complaints {
  readonly errors: string[];
  readonly requests: string[];
}

export class Chromium {
  readonly #child: ChildProcess;
  readonly #profile: string;
  readonly #waiting = new Map<number, (message: Message) => void>();
  readonly #listeners = new Set<(message: Message) => void>();
  #id = 0;
  #rest = '';

  constructor(binary: string) {
    this.#profile = mkdtempSync(join(tmpdir(), 'durable-turn-chromium-'));
    const args = [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--disable-dev-shm-usage',
      '--window-size=1500,1000',
      '--remote-debugging-pipe',
      `--user-data-dir=${this.#profile}`,
    ];
    // A group of its own, so that none of its many processes outlives it.
    this.#child = spawn(binary, args, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'], detached: true });
    process.once('exit', this.#killAll);
    const from = this.#child.stdio[4] as Readable;
    from.setEncoding('utf8');
    from.on('data', (chunk: string) => this.#read(chunk));
  }

  #read(chunk: string): void {
    const parts = (this.#rest + chunk).split('\0');
    this.#rest = parts.pop() ?? '';
    for (const part of parts) {
      const message: Message = JSON.parse(part);
      if (message.id === undefined) for (const listen of this.#listeners) listen(message);
      else this.#waiting.get(message.id)?.(message);
    }
  }

  send(method: string, params: object = {}, sessionId?: string): Promise<Message> {
    this.#id += 1;
    const id = this.#id;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, ({ result, error }) => {
        this.#waiting.delete(id);
        if (error === undefined) resolve(result);
        else reject(new Error(`${method}: ${error.message}`));
      });
      (this.#child.stdio[3] as Writable).write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  readonly #killAll = (): void => {
    try {
      process.kill(-(this.#child.pid as number), 'SIGKILL');
    } catch {
      // Nobody of the group is left.
    }
  };

  listen(listener: (message: Message) => void): void {
    this.#listeners.add(listener);
  }

  async open(address: string): Promise<Tab> {
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    const tab = new Tab(this, sessionId);
    for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await tab.send(`${domain}.enable`);
    await tab.visit(address);
    return tab;
  }

  async close(): Promise<void> {
    const gone = new Promise((resolve) => this.#child.once('exit', resolve));
    // Asked first: a browser that is killed leaves processes behind that go on writing to the profile.
    this.send('Browser.close').catch(() => {});
    await gone;
    this.#killAll();
    process.off('exit', this.#killAll);
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

export class Tab {
  readonly complaints: Complaints = { errors: [], requests: [] };
  readonly #browser: Chromium;
  readonly #session: string;

  constructor(browser: Chromium, session: string) {
    this.#browser = browser;
    this.#session = session;
    browser.listen((message) => {
      if (message.sessionId === session) this.#note(message);
    });
  }

  #note({ method, params }: Message): void {
    const { errors, requests } = this.complaints;
    if (method === 'Runtime.exceptionThrown')
      errors.push(params.exceptionDetails.exception?.description ?? 'exception');
    if (method === 'Runtime.consoleAPICalled' && /error|warning|assert/.test(params.type))
      errors.push(`console.${params.type}`);
    if (method === 'Log.entryAdded' && /error|warning/.test(params.entry.level)) errors.push(params.entry.text);
    if (method === 'Network.requestWillBeSent') requests.push(params.request.url);
  }

  send(method: string, params: object = {}): Promise<Message> {
    return this.#browser.send(method, params, this.#session);
  }

  async visit(address: string): Promise<void> {
    const loaded = new Promise<void>((resolve) => {
      this.#browser.listen(({ method, sessionId }) => {
        if (method === 'Page.loadEventFired' && sessionId === this.#session) resolve();
      });
    });
    await this.send('Page.navigate', { url: address });
    await loaded;
  }

  async evaluate<T>(code: string): Promise<T> {
    const answer = await this.send('Runtime.evaluate', { expression: code, returnByValue: true, awaitPromise: true });
    if (answer.exceptionDetails !== undefined) throw new Error(answer.exceptionDetails.exception?.description);
    return answer.result.value as T;
  }

  /** Where a person would click: the middle of the element, which has to be what is on top there. */
  async click(selector: string): Promise<void> {
    const { x, y, hit } = await this.evaluate<{ x: number; y: number; hit: boolean }>(`(() => {
      const found = document.querySelector(${JSON.stringify(selector)});
      if (found === null) throw new Error('no ' + ${JSON.stringify(selector)});
      found.scrollIntoView({ block: 'center' });
      const box = found.getBoundingClientRect();
      const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
      return { x, y, hit: found.contains(document.elementFromPoint(x, y)) };
    })()`);
    if (!hit) throw new Error(`${selector} is covered by something else`);
    const at = { x, y, button: 'left', clickCount: 1 };
    await this.send('Input.dispatchMouseEvent', { type: 'mousePressed', ...at });
    await this.send('Input.dispatchMouseEvent', { type: 'mouseReleased', ...at });
  }

  async press(key: string): Promise<void> {
    const text = key.length === 1 ? { text: key } : {};
    await this.send('Input.dispatchKeyEvent', { type: 'keyDown', key, ...text });
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', key });
  }

  prefer(scheme: 'light' | 'dark'): Promise<Message> {
    return this.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
  }
}
