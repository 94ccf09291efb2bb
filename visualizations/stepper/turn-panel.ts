/**
 * Owns what the panel says about the simulated turn: phase, deadlines, effects, what is on disk, what each gate said.
 * Must not know the browser.
 */
import { type Chart, shortName } from '../../src/visualize/chart.js';
import { guardText, triggerText } from '../../src/visualize/wording.js';
import { readMachine } from '../../src/visualize/xstate-fields.js';
import { TURN_OFFERS } from './catalog.js';
import { type Disk, waitingFor } from './disk.js';
import { guardNames, turn } from './guards.js';
import { html, type Markup, NOTHING, timeText } from './markup.js';
import { guardsPart, historyPart, jsonPart, offersPart } from './parts.js';
import { openOffers } from './session.js';
import { checkpointNow, type Entry, type TurnWorld } from './turn-world.js';

const chart: Chart = readMachine(turn);

/** The way through the chart, branch by branch. */
export function wayOf(of: Chart, edges: readonly string[]): string {
  return edges
    .map((id) => {
      const edge = of.transitions.find((transition) => transition.id === id);
      if (edge === undefined) return id;
      const number = edge.candidates > 1 ? `${edge.priority}. ` : '';
      const guard = guardText(edge);
      const trigger = edge.trigger.kind === 'always' ? '' : `${triggerText(edge.trigger)} `;
      return `${shortName(of, edge.source)}: ${number}${trigger}${guard === null ? '' : `[${guard}]`}`.trim();
    })
    .join(' ⇢ ');
}

function statusPart(world: TurnWorld): Markup {
  const { live, now, disk, recovery } = world;
  const idle = live?.snapshot.hasTag('idle') === true;
  const phase = live?.phase ?? 'not running';
  const kind = live === null ? 'dead' : live.final ? 'ended' : 'on';
  const parked = live !== null && !live.final && waitingFor({ ...live, calls: world.calls }) !== null;
  return html`<section class="status ${kind}" aria-live="polite"><div class="phase-now">${phase}</div>
    ${idle ? html`<span class="badge idle">idle</span>` : NOTHING}
    ${parked ? html`<span class="badge">parked: waits for a person</span>` : NOTHING}
    ${live?.dirty === true ? html`<span class="badge">a checkpoint is postponed</span>` : NOTHING}
    ${live === null && disk !== null ? html`<span class="badge">${recovery?.verdict ?? 'crashed'}; on disk: ${disk.phase}</span>` : NOTHING}
    <div class="quiet">simulated clock: ${timeText(now)}</div></section>`;
}

const button = (move: string, key: string, words: string, disabled = false): Markup =>
  html`<button data-do="move:${move}"${disabled ? html` disabled` : NOTHING}>${key === '' ? NOTHING : html`<kbd>${key}</kbd> `}${words}</button>`;

function timePart(world: TurnWorld): Markup {
  const timers = world.live?.timers ?? [];
  const [next] = timers;
  const name = (id: string) => id.split('.')[2] ?? id;
  const wait =
    next === undefined ? 'no time-out pending' : `to ${name(next.id)}, in ${timeText(next.dueAt - world.now)}`;
  return html`<section class="card" aria-labelledby="h-time"><h2 id="h-time">Time</h2>
    <div class="row">${button('t', 't', wait, next === undefined)}${button('t1000', '', '+1 s')}${button('t60000', '', '+1 min')}${button('t3600000', '', '+1 h')}${button('t18000000', '', '+5 h')}</div>
    ${
      timers.length === 0
        ? html`<p class="quiet">No deadline is pending.</p>`
        : html`<table><caption class="sr">Pending deadlines</caption><tbody>${timers.map(
            ({ id, dueAt }) =>
              html`<tr><th scope="row">${name(id)}</th><td>${dueAt - world.now >= 2 ** 31 - 1_000_000 ? 'off' : `in ${timeText(dueAt - world.now)}`}</td></tr>`,
          )}</tbody></table>`
    }
  </section>`;
}

function processPart(world: TurnWorld): Markup {
  const { live, how, disk } = world;
  const dead = live === null;
  return html`<section class="card" aria-labelledby="h-process"><h2 id="h-process">The process</h2>
    <div class="row">${button('x', 'x', 'crash', dead)}${button('r', 'r', 'start again: recover()', !dead)}${button('p', 'p', 'resume by a person', !dead || disk === null)}</div>
    <label><input type="checkbox" data-on="toggle:off"${how.switchedOff ? html` checked` : NOTHING}> recovery is switched off</label>
    <label><input type="checkbox" data-on="toggle:reconcile"${how.reconcile ? html` checked` : NOTHING}> tools can be asked about calls in doubt (<code>reconcile</code>)</label>
  </section>`;
}

function gatesPart(world: TurnWorld): Markup {
  const { recovery } = world;
  if (recovery === null) return NOTHING;
  return html`<section class="card" aria-labelledby="h-gates"><h2 id="h-gates">What the gates said</h2>
    <ol class="gates">${recovery.gates.map(
      ({ gate, question, answer }) => html`<li><b>${gate}</b> <span class="quiet">${question}</span> ${answer}</li>`,
    )}</ol>
    <p class="verdict">Verdict: <b id="verdict">${recovery.verdict}</b> at <code>${recovery.gate}</code> – ${recovery.reason}</p></section>`;
}

function diskLines(disk: Disk): readonly (readonly [string, string])[] {
  const yes = (flag: boolean) => (flag ? 'yes' : 'no');
  return [
    ['phase', disk.phase],
    ['in progress (so a marker exists)', yes(disk.inProgress)],
    ['revision', `${disk.revision}`],
    ['last progress', `at ${timeText(disk.lastProgressAt)}`],
    ['attempts, recoveries', `${disk.attempts}, ${disk.recoveries}`],
    [
      'waits for a person',
      disk.waiting === null ? 'no' : disk.waiting.until === null ? 'yes' : `until ${timeText(disk.waiting.until)}`,
    ],
    ['handed over', yes(disk.handedOver)],
    ['calls', disk.calls.map(({ name, effect, state }) => `${name}: ${effect}, ${state}`).join('; ') || 'none'],
    ...(disk.ended === null ? [] : [['ended', disk.ended] as const]),
  ];
}

function diskPart(world: TurnWorld): Markup {
  const { disk, live } = world;
  if (disk === null) return NOTHING;
  const pending = live === null || live.final ? null : checkpointNow(world);
  return html`<section class="card" aria-labelledby="h-disk"><h2 id="h-disk">On disk</h2>
    <table id="disk"><tbody>${diskLines(disk).map(
      ([name, value]) => html`<tr><th scope="row">${name}</th><td>${value}</td></tr>`,
    )}</tbody></table></section>
    ${jsonPart('The checkpoint on disk', disk.checkpoint, 'stored')}
    ${pending === null ? NOTHING : jsonPart('The checkpoint that this state would write', pending, 'pending')}`;
}

function entryExtras(entry: Entry): Markup[] {
  const badge = { forced: 'checkpointNow', debounced: 'checkpoint', none: '' }[entry.directive];
  const wrote = entry.checkpoint === 'written' ? 'written' : 'postponed';
  return [
    ...(entry.checkpoint === null ? [] : [html`<span class="badge ${entry.directive}">${badge}: ${wrote}</span> `]),
    ...entry.edits.map((name) => html`<span class="badge">edit ${name}</span> `),
    ...entry.effects.map((name) => html`<span class="badge effect">${name}</span> `),
    ...(entry.note === '' ? [] : [html`<span class="quiet">${entry.note}</span>`]),
  ];
}

export function turnPanel(world: TurnWorld): Markup {
  const running = world.live?.running ?? [];
  return html`${statusPart(world)}
    <p class="quiet" id="effects">${running.length === 0 ? 'No effect is running.' : `Running: ${running.join(', ')}`}</p>
    ${world.live === null ? NOTHING : offersPart(openOffers({ chart: 'turn', turn: world }), TURN_OFFERS)}
    ${timePart(world)}${processPart(world)}${gatesPart(world)}
    ${guardsPart(guardNames(turn), world.guards)}
    ${historyPart(
      world.entries.map((entry) => ({
        at: timeText(entry.at),
        what: entry.what,
        way: wayOf(chart, entry.edges),
        phase: entry.phase,
        extras: entryExtras(entry),
      })),
    )}
    ${diskPart(world)}
    ${world.live === null ? NOTHING : jsonPart('Context', world.live.snapshot.context, 'context')}`;
}
