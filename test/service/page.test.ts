// The page of the example service, in a real browser against a real process: what a person sees, stops and decides,
// over a deploy and a kill -9. Where no browser is found, this says so.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Chromium, findChromium, type Tab } from '../visualize/chromium.js';
import { makeProject, type Project, Service, TOKEN } from './processes.js';

const binary = findChromium();

function withBrowser(found: string): void {
  let project: Project;
  let service: Service;
  let browser: Chromium;
  let tab: Tab;

  beforeAll(async () => {
    project = await makeProject();
    service = new Service(project, { PACE_MS: '20' });
    await service.start();
    browser = new Chromium(found);
    tab = await browser.open(service.address);
  });

  afterAll(async () => {
    await browser?.close();
    await service?.kill();
    project?.remove();
  });

  const text = (selector: string) => tab.evaluate<string>(`document.querySelector('${selector}').textContent`);

  async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
    for (let tries = 0; tries < 2_400; tries += 1) {
      if (await condition()) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`it never came to this: ${what}; the page says ${await text('body')}`);
  }

  const shows = (selector: string, part: string) =>
    until(`${selector} shows ${part}`, async () => (await text(selector)).includes(part));

  async function say(words: string): Promise<void> {
    await tab.click('#text');
    await tab.send('Input.insertText', { text: words });
    await tab.click('#send button[type=submit]');
  }

  it('asks for the token, and opens with it', async () => {
    await until('the form is there', () => tab.evaluate(`!document.getElementById('login').hidden`));
    await tab.click('#token');
    await tab.send('Input.insertText', { text: TOKEN });
    await tab.click('#login button');
    await shows('#connection', 'open');
    await shows('#phase', 'no turn yet');
    // The secret is out of reach of scripts, and not in the address.
    expect(await tab.evaluate('document.cookie + location.href')).not.toContain('token');
  });

  it('shows an answer while it is said, then as a message', async () => {
    await say('/talk 60');
    await shows('#partial', 'word3');
    await shows('#phase', 'completed');
    expect(await text('#partial')).toBe('');
    expect(await text('#messages')).toContain('model: word0 word1');
    expect(await tab.evaluate(`document.querySelectorAll('#messages li').length`)).toBe(2);
  });

  it('shows what a person is asked, over a deploy and a kill -9, and takes the decision', async () => {
    await say('/publish');
    await shows('#approvals', 'publish({"text":"the news"})?');
    await service.deploy();
    await shows('#connection', 'lost');
    await service.start();
    await shows('#connection', 'open');
    await service.kill();
    await service.start();
    await shows('#connection', 'open');
    await shows('#approvals', 'publish');
    await tab.click('#approvals button[data-decision=allow]');
    await shows('#messages', 'Published.');
    await shows('#phase', 'completed');
    expect(await text('#approvals')).toBe('');
    expect(service.effects()).toHaveLength(1);
  });

  it('stops a turn, and what was said stays', async () => {
    await say('/hang');
    await shows('#partial', 'I am thinking about it.');
    await tab.click('#stop');
    await shows('#phase', 'cancelled');
    await shows('#messages', 'model: I am thinking about it.');
  });

  it('shows what somebody wrote as text, whatever it is', async () => {
    await service.send('default', '<img src=x onerror="document.title=1"> hello', 'm-html');
    await shows('#messages', '<img src=x');
    expect(await tab.evaluate('document.title')).toBe('A turn that survives');
  });

  it('asks nobody but its own service for anything', () => {
    const strangers = tab.complaints.requests.filter(
      (url) => !url.startsWith(service.address) && !url.startsWith('data:'),
    );
    expect(strangers).toEqual([]);
    // What a browser says of an answer 401 and of a connection that is refused; nothing else.
    expect(tab.complaints.errors.filter((error) => !/401|ERR_|Failed to load resource/.test(error))).toEqual([]);
  });
}

describe('the page of the example service', () => {
  if (binary !== null) withBrowser(binary);
  else {
    it('is not tested here', () => {
      console.warn(
        'NO BROWSER FOUND: the page of the example service was not tested. Install chromium, or set CHROMIUM.',
      );
    });
  }
});
