/**
 * Owns the top of the page: which chart, how it starts, which story is told, and the keys.
 * Must not know the browser.
 */
import { html, type Markup, NOTHING } from './markup.js';
import { SCENARIOS, scenarioOf } from './scenarios.js';
import { CHARTS, type Session, startsOf } from './session.js';

const TITLES = { turn: 'The turn', recovery: 'The gates', call: 'One call' } as const;

const options = (list: readonly (readonly [string, string])[], now: string): Markup[] =>
  list.map(
    ([value, words]) => html`<option value="${value}"${value === now ? html` selected` : NOTHING}>${words}</option>`,
  );

/** How far the moves follow the story; `null` where they have left it. */
export function progressOf(session: Session): number | null {
  const scenario = scenarioOf(session.scenario);
  if (scenario === undefined || scenario.chart !== session.chart || scenario.start !== session.start) return null;
  const follows = session.moves.every((move, k) => scenario.steps[k]?.move === move);
  return follows ? session.moves.length : null;
}

function storyPart(session: Session): Markup {
  const scenario = scenarioOf(session.scenario);
  if (scenario === undefined) return NOTHING;
  const at = progressOf(session);
  if (at === null) {
    return html`<div class="story"><b>${scenario.title}</b> You have left the story. <button data-do="scenario:${scenario.id}">From its start</button></div>`;
  }
  const said = scenario.steps[at - 1]?.says ?? 'The turn has just begun.';
  const over = at === scenario.steps.length;
  return html`<div class="story" aria-live="polite"><b>${scenario.title}</b>
    <span class="step">${at} of ${scenario.steps.length}</span> <span id="says">${said}</span>
    <button data-do="next"${over ? html` disabled` : NOTHING}><kbd>n</kbd> ${over ? 'the end' : 'next step'}</button></div>`;
}

export function headPart(session: Session): Markup {
  const stories: (readonly [string, string])[] = [
    ['', 'free'],
    ...SCENARIOS.map(({ id, title }) => [id, title] as const),
  ];
  return html`<div class="bar"><h1>durable-turn <span class="quiet">step by step</span></h1>
    <nav aria-label="Charts">${CHARTS.map(
      (name) =>
        html`<button data-do="chart:${name}" aria-pressed="${name === session.chart ? 'true' : 'false'}">${TITLES[name]}</button>`,
    )}</nav>
    <label>Story <select data-on="scenario">${options(stories, session.scenario ?? '')}</select></label>
    <label>Start <select data-on="start">${options(
      startsOf(session.chart).map((name) => [name, name] as const),
      session.start,
    )}</select></label>
    <button data-do="undo"${session.moves.length === 0 ? html` disabled` : NOTHING}><kbd>u</kbd> undo</button>
    <button data-do="restart"><kbd>0</kbd> from the start</button>
    <button data-do="zoom"><kbd>z</kbd> size</button>
    <details class="keys" data-keep="keys"><summary>Keys</summary><p><kbd>1</kbd>–<kbd>9</kbd> send an event ·
      <kbd>t</kbd> let time pass to the next time-out · <kbd>x</kbd> crash · <kbd>r</kbd> recover · <kbd>p</kbd> resume by a
      person · <kbd>n</kbd> next step of the story · <kbd>u</kbd> undo · <kbd>0</kbd> from the start · <kbd>z</kbd> fit or
      full size. The address holds the whole path: share it.</p>
      <p>The charts and the step are the real ones. The driver, the disk and the clock around them are simulated: no
      model is called, no tool runs, and the answers of both are yours.</p></details></div>
    ${storyPart(session)}`;
}
