/**
 * Owns what the panel says about the gates and about one tool call, when they are stepped through by themselves.
 * Must not know the browser.
 */
import { readMachine } from '../../src/visualize/xstate-fields.js';
import { type ChartWorld, SMALL_CHARTS } from './chart-world.js';
import { guardNames } from './guards.js';
import { html, type Markup } from './markup.js';
import { guardsPart, historyPart, jsonPart, offersPart } from './parts.js';
import { offersOf, openOffers } from './session.js';
import { wayOf } from './turn-panel.js';

export function smallPanel(name: 'recovery' | 'call', world: ChartWorld): Markup {
  const { machine } = SMALL_CHARTS[name];
  const chart = readMachine(machine);
  const { snapshot } = world;
  const state = chart.states.find(({ key }) => key === snapshot.value);
  const ended = snapshot.status !== 'active';
  return html`<section class="status ${ended ? 'ended' : 'on'}" aria-live="polite"><div class="phase-now">${`${snapshot.value}`}</div>
    <div class="quiet">${state?.description ?? ''}</div></section>
    ${offersPart(openOffers({ chart: name, small: world }), offersOf(name))}
    ${guardsPart(guardNames(machine), world.guards)}
    ${historyPart(
      world.entries.map(({ what, edges, phase }) => ({ at: '', what, way: wayOf(chart, edges), phase, extras: [] })),
    )}
    ${jsonPart('Context', snapshot.context, 'context')}`;
}
