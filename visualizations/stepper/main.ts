/**
 * Owns the page itself: it draws the session, listens to clicks and keys, and keeps the address up to date.
 * Must not know how a chart moves.
 */
import type { AnyMachineSnapshot } from 'xstate';
import { type Chart, stateOf } from '../../src/visualize/chart.js';
import { readMachine } from '../../src/visualize/xstate-fields.js';
import { browser, type PageElement, type PageEvent } from './browser.js';
import { SMALL_CHARTS } from './chart-world.js';
import { turn } from './guards.js';
import { headPart, progressOf } from './head.js';
import { scenarioOf } from './scenarios.js';
import {
  CHARTS,
  type ChartName,
  fromAddress,
  openOffers,
  type Session,
  startsOf,
  toAddress,
  type World,
  worldOf,
} from './session.js';
import { smallPanel } from './small-panel.js';
import { turnPanel } from './turn-panel.js';

const page = browser.document;
const charts: Readonly<Record<ChartName, Chart>> = {
  turn: readMachine(turn),
  recovery: readMachine(SMALL_CHARTS.recovery.machine),
  call: readMachine(SMALL_CHARTS.call.machine),
};

let session: Session = fromAddress(browser.location.hash);
let world: World = worldOf(session);

function element(selector: string): PageElement {
  const found = page.querySelector(selector);
  if (found === null) throw new Error(`the page has no ${selector}`);
  return found;
}

function activeIds(chart: Chart, value: AnyMachineSnapshot['value'], under: string): string[] {
  const parts = typeof value === 'string' ? [[value, undefined] as const] : Object.entries(value);
  return parts.flatMap(([key, inner]) => {
    const id = stateOf(chart, under).children.find((child) => stateOf(chart, child).key === key);
    if (id === undefined) return [];
    return [id, ...(inner === undefined ? [] : activeIds(chart, inner, id))];
  });
}

function shown(): { active: string[]; taken: readonly string[] } {
  const chart = charts[world.chart];
  const root = chart.states[0]?.id ?? '';
  if (world.chart !== 'turn') {
    const taken = world.small.entries.at(-1)?.edges ?? [];
    return { active: activeIds(chart, world.small.snapshot.value, root), taken };
  }
  const { live, entries } = world.turn;
  return {
    active: live === null ? [] : activeIds(chart, live.snapshot.value, root),
    taken: entries.at(-1)?.edges ?? [],
  };
}

function drawChart(): void {
  for (const name of CHARTS) element(`#chart-${name}`).classList.toggle('shown', name === session.chart);
  const { active, taken } = shown();
  const here = element(`#chart-${session.chart}`);
  let innermost: PageElement | null = null;
  for (const group of here.querySelectorAll('[data-state]')) {
    const on = active.includes(group.getAttribute('data-state') ?? '');
    group.classList.toggle('active', on);
    if (on) innermost = group;
  }
  for (const attribute of ['data-edge', 'data-label']) {
    for (const group of here.querySelectorAll(`[${attribute}]`)) {
      const ids: unknown = JSON.parse(group.getAttribute(attribute) ?? '[]');
      group.classList.toggle('taken', Array.isArray(ids) && ids.some((id) => taken.includes(id)));
    }
  }
  innermost?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
}

/** Opened details and the focus outlive a redraw. */
function draw(): void {
  const opened = new Set<string>();
  for (const details of page.querySelectorAll('details[open][data-keep]'))
    opened.add(details.getAttribute('data-keep') ?? '');
  const focused = page.activeElement;
  const attribute = focused?.getAttribute('data-do') == null ? 'data-on' : 'data-do';
  const key = focused?.getAttribute(attribute) ?? null;
  element('#head').innerHTML = headPart(session).text;
  const panel = world.chart === 'turn' ? turnPanel(world.turn) : smallPanel(world.chart, world.small);
  element('#panel').innerHTML = panel.text;
  for (const details of page.querySelectorAll('details[data-keep]')) {
    if (opened.has(details.getAttribute('data-keep') ?? '')) (details as unknown as { open: boolean }).open = true;
  }
  // The key is one of ours: a word, a colon and words.
  if (key !== null) page.querySelector(`[${attribute}="${key}"]`)?.focus({ preventScroll: true });
  drawChart();
}

function go(next: Session): void {
  session = next;
  world = worldOf(session);
  browser.history.replaceState(null, '', toAddress(session));
  draw();
}

const move = (key: string): void => go({ ...session, moves: [...session.moves, key] });
const undo = (): void => go({ ...session, moves: session.moves.slice(0, -1) });
const restart = (): void => go({ ...session, moves: [] });

function tell(id: string): void {
  const scenario = scenarioOf(id);
  if (scenario === undefined) go({ ...session, scenario: null });
  else go({ chart: scenario.chart, start: scenario.start, moves: [], scenario: scenario.id });
}

function next(): void {
  const at = progressOf(session);
  const step = at === null ? undefined : scenarioOf(session.scenario)?.steps[at];
  if (step !== undefined) move(step.move);
}

function perform(what: string): void {
  const [word = '', ...rest] = what.split(':');
  const argument = rest.join(':');
  if (word === 'move') move(argument);
  else if (word === 'undo') undo();
  else if (word === 'restart') restart();
  else if (word === 'next') next();
  else if (word === 'scenario') tell(argument);
  else if (word === 'zoom') element('#charts').classList.toggle('actual');
  else if (word === 'chart') {
    const chart = CHARTS.find((name) => name === argument) ?? 'turn';
    go({ chart, start: startsOf(chart)[0] ?? '', moves: [], scenario: null });
  }
}

function choose(what: string, value: string): void {
  const [word, name = ''] = what.split(':');
  if (word === 'scenario') tell(value);
  else if (word === 'start') go({ ...session, start: value, moves: [] });
  else if (word === 'guard') move(`g-${name}-${value}`);
  else if (word === 'toggle') move(name);
}

const KEYS: Readonly<Record<string, () => void>> = {
  u: undo,
  Backspace: undo,
  '0': restart,
  n: next,
  z: () => perform('zoom'),
};
/** Keys that press a button of the panel, where it is there and enabled. */
const BUTTONS: Readonly<Record<string, string>> = { t: 'move:t', x: 'move:x', r: 'move:r', p: 'move:p' };

function press(event: PageEvent): void {
  const { key = '', target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (target !== null && /^(?:SELECT|INPUT|TEXTAREA)$/.test(target.tagName)) return;
  const button = BUTTONS[key];
  const nth = /^[1-9]$/.test(key) ? openOffers(world)[Number(key) - 1] : undefined;
  if (KEYS[key] !== undefined) KEYS[key]();
  else if (nth !== undefined) move(nth.key);
  else if (button !== undefined && page.querySelector(`[data-do="${button}"]:not([disabled])`) !== null)
    perform(button);
  else return;
  event.preventDefault();
}

page.addEventListener('click', ({ target }) => {
  const what = target?.closest('[data-do]')?.getAttribute('data-do') ?? null;
  if (what !== null) perform(what);
});
page.addEventListener('change', ({ target }) => {
  const what = target?.getAttribute('data-on') ?? null;
  if (what !== null) choose(what, target?.value ?? '');
});
page.addEventListener('keydown', press);
browser.addEventListener('hashchange', () => {
  session = fromAddress(browser.location.hash);
  world = worldOf(session);
  draw();
});
draw();
