/**
 * Owns the parts of the panel that all three charts have: events to send, what guards say, and what happened so far.
 * Must not know the simulated turn.
 */
import type { Offer } from './catalog.js';
import { html, type Markup, NOTHING } from './markup.js';

const DIGITS = 9;

export function offersPart(open: readonly Offer<{ type: string }>[], all: readonly Offer<{ type: string }>[]): Markup {
  const ignored = all.filter((offer) => !open.includes(offer));
  const names = [...new Set(ignored.map(({ label, detail }) => (detail === '' ? label : `${label} (${detail})`)))];
  return html`<section aria-labelledby="h-events"><h2 id="h-events">What happens next?</h2>
    ${open.length === 0 ? html`<p class="quiet">No event leads anywhere from here.</p>` : NOTHING}
    <div class="offers">${open.map(
      ({ key, label, detail }, k) =>
        html`<button data-do="move:${key}">${
          k < DIGITS ? html`<kbd>${k + 1}</kbd> ` : NOTHING
        }${label}${detail === '' ? NOTHING : html` <small>${detail}</small>`}</button>`,
    )}</div>
    ${names.length === 0 ? NOTHING : html`<details data-keep="ignored"><summary>Ignored here: ${names.length}</summary><p class="quiet">${names.join(' · ')}</p></details>`}
  </section>`;
}

export function guardsPart(names: readonly string[], said: Readonly<Record<string, boolean>>): Markup {
  const choice = (name: string, value: string, words: string): Markup => {
    const now = said[name] === undefined ? 'auto' : said[name] ? 'yes' : 'no';
    return html`<option value="${value}"${now === value ? html` selected` : NOTHING}>${words}</option>`;
  };
  const count = Object.keys(said).length;
  return html`<details class="card" data-keep="guards"><summary>What guards say${count === 0 ? '' : `: ${count} chosen`}</summary>
    <p class="quiet">Left alone, a guard answers as in the chart.</p>
    <div class="guards">${names.map(
      (name) => html`<label class="${said[name] === undefined ? '' : 'chosen'}">${name}
        <select data-on="guard:${name}">${choice(name, 'auto', 'as the chart')}${choice(name, 'yes', 'yes')}${choice(name, 'no', 'no')}</select></label>`,
    )}</div></details>`;
}

export interface HistoryLine {
  readonly at: string;
  readonly what: string;
  readonly way: string;
  readonly phase: string;
  readonly extras: readonly Markup[];
}

/** The latest first. */
export function historyPart(lines: readonly HistoryLine[]): Markup {
  return html`<section class="card" aria-labelledby="h-history"><h2 id="h-history">So far</h2><ol class="history" reversed>${[
    ...lines,
  ]
    .reverse()
    .map(
      ({ at, what, way, phase, extras }) =>
        html`<li>${at === '' ? NOTHING : html`<time>${at}</time> `}<b>${what}</b> ${
          way === '' ? NOTHING : html`<span class="quiet">${way}</span> `
        }→ <span class="phase">${phase}</span>${extras.length === 0 ? NOTHING : html`<div>${extras}</div>`}</li>`,
    )}</ol></section>`;
}

export const jsonPart = (title: string, value: unknown, key: string): Markup =>
  html`<details class="card" data-keep="${key}"><summary>${title}</summary><pre tabindex="0">${JSON.stringify(value, null, 2)}</pre></details>`;
