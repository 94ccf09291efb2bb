// The page to step through, in a real browser: a story clicked to its end, crash and restore with their verdict, keys,
// the address, contrast, and no complaint in the console. Where no browser is found, this says so.
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Chromium, findChromium, type Tab } from './chromium.js';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const address = pathToFileURL(join(root, 'visualizations', 'index.html')).href;
const binary = findChromium();

/** Runs inside the page: every visible text whose colour is too near to what is behind it (WCAG AA). */
const FAINT_TEXTS = `(() => {
  const parse = (text) => (/rgba?\\(([^)]+)\\)/.exec(text)?.[1] ?? '0,0,0,0').split(',').map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);
  const behind = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour[3] === undefined || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const faint = [];
  let seen = 0;
  for (const element of document.querySelectorAll('#head *, #panel *')) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim() !== '');
    if (!own || element.getClientRects().length === 0) continue;
    seen += 1;
    const [dark, bright] = [light(parse(getComputedStyle(element).color)), light(behind(element))].sort((a, b) => a - b);
    const ratio = (bright + 0.05) / (dark + 0.05);
    if (ratio < 4.5) faint.push(element.tagName + '.' + element.className + ' ' + ratio.toFixed(2));
  }
  return { seen, faint: [...new Set(faint)] };
})()`;

/** Runs inside the page: texts of the shown chart that lie on each other or outside the picture, as really drawn. */
const CROWDED_TEXTS = `(() => {
  const svg = document.querySelector('#charts .shown svg');
  const page = svg.viewBox.baseVal;
  const texts = [...svg.querySelectorAll('text')].map((text) => ({ words: text.textContent, box: text.getBBox() }));
  const wrong = [];
  texts.forEach((a, k) => {
    if (a.box.x < 0 || a.box.y < 0 || a.box.x + a.box.width > page.width || a.box.y + a.box.height > page.height) wrong.push(a.words + ' leaves');
    for (const b of texts.slice(k + 1)) {
      const across = Math.min(a.box.x + a.box.width, b.box.x + b.box.width) - Math.max(a.box.x, b.box.x);
      // Boxes of lines include the room above and below the letters.
      const down = Math.min(a.box.y + a.box.height, b.box.y + b.box.height) - Math.max(a.box.y, b.box.y);
      if (across > 1 && down > 4) wrong.push(a.words + ' / ' + b.words);
    }
  });
  return { seen: texts.length, wrong };
})()`;

function withBrowser(found: string): void {
  let browser: Chromium;
  let tab: Tab;
  beforeAll(async () => {
    browser = new Chromium(found);
    tab = await browser.open(address);
  });
  afterAll(() => browser.close());

  const at = (path: string) => tab.visit(`about:blank`).then(() => tab.visit(address + path));
  const text = (selector: string) => tab.evaluate<string>(`document.querySelector('${selector}')?.textContent ?? ''`);
  const phase = () => text('.phase-now');
  const hash = () => tab.evaluate<string>('location.hash');
  const active = () =>
    tab.evaluate<string[]>(
      `[...document.querySelectorAll('#charts .shown .active')].map((g) => g.getAttribute('data-state'))`,
    );

  it('opens from disk in the first phase', async () => {
    await at('');
    expect(await phase()).toBe('setup');
    expect(await active()).toEqual(['running', 'setup']);
  });

  it('plays a story to its end when its button is clicked', async () => {
    await at('');
    await tab.evaluate(`(() => {
      const select = document.querySelector('[data-on="scenario"]');
      select.value = 'retry';
      select.dispatchEvent(new Event('change', { bubbles: true }));
    })()`);
    const phases: string[] = [];
    for (let step = 0; step < 4; step += 1) {
      await tab.click('[data-do="next"]');
      phases.push(await phase());
    }
    expect(phases).toEqual(['awaitingLLM', 'retryingLLM', 'awaitingLLM', 'completed']);
    expect(await text('[data-do="next"]')).toContain('the end');
    expect(await tab.evaluate(`document.querySelectorAll('#charts .shown .edge.taken').length`)).toBe(1);
  });

  it('shows after a crash and a restore what is on disk and what each gate said', async () => {
    await at('');
    for (const move of ['loaded', 'send', 'x']) await tab.click(`[data-do="move:${move}"]`);
    expect(await phase()).toBe('not running');
    expect(await text('#disk')).toContain('call 1: external, dispatched');
    await tab.click('[data-do="move:r"]');
    expect(await text('#verdict')).toBe('reviewRequired');
    expect(await phase()).toBe('awaitingReview');
    expect(await tab.evaluate(`document.querySelectorAll('.gates li').length`)).toBe(10);
  });

  it('lets a guard be chosen and time pass', async () => {
    await at('#turn/unattended/loaded');
    await tab.evaluate(`(() => {
      const select = document.querySelector('[data-on="guard:hardOn"]');
      select.value = 'no';
      select.dispatchEvent(new Event('change', { bubbles: true }));
    })()`);
    await tab.click('[data-do="move:t3600000"]');
    expect(await phase()).toBe('awaitingLLM');
    await at('#turn/unattended/loaded.t3600000');
    expect(await phase()).toBe('failed');
  });

  it('is driven by the keyboard alone', async () => {
    await at('');
    for (const key of ['1', 'x', 'r']) await tab.press(key);
    expect([await phase(), await text('#verdict')]).toEqual(['setup', 'resumed']);
    for (const key of ['u', 'u']) await tab.press(key);
    expect(await phase()).toBe('awaitingLLM');
    await tab.press('0');
    expect(await phase()).toBe('setup');
    expect(await tab.evaluate(`[...document.querySelectorAll('[data-do]')].every((e) => e.tabIndex === 0)`)).toBe(true);
  });

  it('keeps the path in the address, and shows the same from there', async () => {
    await at('');
    for (const key of ['1', 'x']) await tab.press(key);
    const path = await hash();
    expect(path).toBe('#turn/unattended/loaded.x');
    const panel = await text('#panel');
    await at(path);
    expect(await text('#panel')).toBe(panel);
  });

  it('shows the other charts', async () => {
    await at('');
    await tab.click('[data-do="chart:recovery"]');
    expect(await phase()).toBe('attempt');
    await tab.click('[data-do="chart:call"]');
    await tab.press('1');
    expect([await phase(), await active()]).toEqual(['dispatched', ['dispatched']]);
  });

  it('takes no markup from an address', async () => {
    await at('#turn/<img src=x onerror=alert(1)>/<b>?<img src=x onerror=alert(1)>');
    expect(await phase()).toBe('setup');
    expect(await tab.evaluate(`document.querySelectorAll('#head img, #panel img').length`)).toBe(0);
  });

  for (const scheme of ['light', 'dark'] as const) {
    it(`has readable contrast everywhere in ${scheme} (WCAG AA)`, async () => {
      await tab.prefer(scheme);
      for (const path of [
        '#turn/unattended/loaded.read.x.r?midBatch',
        '#turn/unattended/loaded.send.x',
        '#recovery//',
      ]) {
        await at(path);
        await tab.evaluate(`document.querySelectorAll('details').forEach((d) => { d.open = true; })`);
        const { seen, faint } = await tab.evaluate<{ seen: number; faint: string[] }>(FAINT_TEXTS);
        expect(seen).toBeGreaterThan(15);
        expect(faint).toEqual([]);
      }
    });
  }

  for (const name of ['turn', 'recovery', 'call']) {
    it(`draws the texts of ${name} apart from each other, in the fonts of this machine`, async () => {
      await at(`#${name}`);
      const { seen, wrong } = await tab.evaluate<{ seen: number; wrong: string[] }>(CROWDED_TEXTS);
      expect(seen).toBeGreaterThan(15);
      expect(wrong).toEqual([]);
    });
  }

  it('would be heard if it complained', async () => {
    const other = await browser.open('about:blank');
    await other.evaluate(`console.error('heard'); setTimeout(() => { throw new Error('heard too'); })`);
    await other.evaluate(`new Promise((resolve) => setTimeout(resolve, 50))`);
    expect(other.complaints.errors).toHaveLength(2);
  });

  it('has complained about nothing in all of this, and asked for nothing but itself', () => {
    expect(tab.complaints.errors).toEqual([]);
    const elsewhere = tab.complaints.requests.filter((url) => !url.startsWith(address) && url !== 'about:blank');
    expect(elsewhere).toEqual([]);
  });
}

describe('the page in a browser', () => {
  if (binary !== null) withBrowser(binary);
  else {
    it('WAS NOT TESTED: no Chromium on the path, and none named by CHROMIUM', () => {
      console.warn('\n  The page to step through the charts was NOT tested: no Chromium was found.\n');
      expect(binary).toBe(null);
    });
  }
});
