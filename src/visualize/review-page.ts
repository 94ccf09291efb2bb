/**
 * Owns the page a design review starts from, visualizations/README.md: the pictures, how to read them, the order of
 * recovery, the time-outs and the checkpoint boundaries.
 * Must not know how any of them is drawn or written.
 */
import { type Chart, stateOf } from './chart.js';
import { GENERATED } from './chart-files.js';
import { chartOf, notationOf } from './options.js';
import { OWN_CHARTS } from './own-charts.js';
import { boundaryTable, childrenOf, decisionTable, gateTable, phaseTable, timeOutTable } from './review-tables.js';

const files = (name: string): string =>
  `[Tables](${name}.md) · [test paths](${name}.paths.md) · [mermaid](${name}.mmd) · [SCXML](${name}.scxml) · ` +
  `[one literal](${name}.machine.ts), for example for [Stately's importer](https://stately.ai/docs/import-from-code)`;

const picture = (name: string, words: string): string => `[![${words}](${name}.svg)](${name}.svg)`;

const READING = `## How to read them

* A box is a state; a box around boxes holds in all of them. A **black dot** shows where one starts, a **double border**
  an end. A **dashed violet** box is transient: it decides and is never rested in. **H\\*** leads back to wherever the
  turn was, at every depth.
* An arrow is a transition: **dark** by an event, **amber with a clock** by a time-out (with what it comes to), **dashed
  violet** at once.
* A **number** is the order in which guards are asked: the first that passes decides. The list stands inside the box,
  the same number on its arrow. \`else\` is the branch without a guard.
* \`entry /\` names the effect of a phase. It starts on entry, and again after a restart.
* The **badge with a disk** is a checkpoint: \`checkpointNow\` is durable before anything goes on, \`checkpoint\` may
  wait a moment for the next one. An arrow without a badge writes nothing.
* The badge \`idle\` marks the phases in which the watchdog counts.
* A picture opened by itself shows descriptions as tooltips, and follows light and dark.`;

function turnPart(chart: Chart): string[] {
  const notation = notationOf(OWN_CHARTS.turn.options);
  const ends = childrenOf(chart, chart.id).filter((state) => state.type === 'final');
  return [
    '## The turn',
    picture('turn', 'The turn as a statechart: its phases, time-outs, checkpoints and the order of recovery'),
    files('turn'),
    '### Phases',
    phaseTable(chart, [...childrenOf(chart, 'running'), ...ends]),
    '### The order of recovery',
    `${stateOf(chart, 'recovering').description ?? ''} It is the list inside \`recovering\`:`,
    decisionTable(chart, 'recovering', notation),
    '### Time-outs',
    timeOutTable(chart),
    '### Checkpoint boundaries',
    'Every arrow with a badge. What is not here writes nothing.',
    boundaryTable(chart, notation),
  ];
}

function recoveryPart(chart: Chart): string[] {
  const states = childrenOf(chart, chart.id);
  return [
    '## The gates of an interrupted turn',
    picture('recovery', 'The gates an interrupted turn passes before it is resumed, in their order'),
    files('recovery'),
    'In this order:',
    gateTable(
      chart,
      states.filter((state) => state.type !== 'final'),
    ),
    '### Verdicts',
    phaseTable(
      chart,
      states.filter((state) => state.type === 'final'),
    ),
  ];
}

function callPart(chart: Chart): string[] {
  return [
    '## One tool call',
    picture('call', 'The life of one tool call, from the request of the model to a settled outcome'),
    files('call'),
    phaseTable(chart, childrenOf(chart, chart.id)),
  ];
}

export function reviewPage(): string {
  const { turn, recovery, call } = OWN_CHARTS;
  return [
    '# The charts',
    `<!-- ${GENERATED} -->`,
    'These are the machines that run, drawn by `npm run visualize`; CI fails when a picture is older than its machine.',
    'To step through them, open [index.html](index.html) from disk: it drives the same machines through the same step, on a ' +
      'simulated clock, with crashes, restores and the verdict of each gate.',
    READING,
    ...turnPart(chartOf(turn.machine, turn.options)),
    ...recoveryPart(chartOf(recovery.machine, recovery.options)),
    ...callPart(chartOf(call.machine, call.options)),
  ]
    .join('\n\n')
    .concat('\n');
}
