// The picture, checked on the boxes its layout computes: nothing lies on anything else, no text leaves its box, no
// line crosses what it does not belong to. The eye is the judge of the rest.
import { beforeAll, describe, expect, it } from 'vitest';
import { type AnyStateMachine, createMachine } from 'xstate';
import type { Chart } from '../../src/visualize/chart.js';
import { renderStatechart } from '../../src/visualize/index.js';
import { type ChartLayout, layoutChart } from '../../src/visualize/layout.js';
import { legendOf } from '../../src/visualize/legend.js';
import { chartOf, notationOf, type StatechartOptions } from '../../src/visualize/options.js';
import { OWN_CHARTS } from '../../src/visualize/own-charts.js';
import { drawChart } from '../../src/visualize/svg.js';
import { contrast, DARK, LIGHT, type Palette } from './contrast.js';
import { bare, oddNames, shop } from './foreign-machines.js';
import {
  contains,
  crosses,
  labels,
  leaves,
  type Named,
  obstacles,
  overlap,
  pairs,
  segments,
  textsIn,
  textsOn,
  touches,
} from './geometry.js';
import { randomConfig } from './random-charts.js';

interface Case {
  readonly machine: AnyStateMachine;
  readonly options: StatechartOptions;
}

/** Seeds whose charts have enough in them and are laid out in a moment. */
const RANDOM_CHARTS = [4, 6, 7, 12, 16, 17, 18, 20, 22];
/** The layout engine computes for a second or so, and a busy machine makes that many. */
const LAYOUT_MS = 60_000;

const CASES: Record<string, Case> = {
  ...OWN_CHARTS,
  'a shop with parallel states and actors': { machine: shop, options: {} },
  'the same without descriptions': { machine: shop, options: { descriptions: false } },
  'odd names': { machine: oddNames, options: {} },
  'nothing at all': { machine: bare, options: {} },
};

const namesOf = (found: readonly [Named, Named][]): string[] => found.map(([a, b]) => `${a.name} / ${b.name}`);
const overlapping = (list: readonly Named[]): string[] =>
  namesOf(pairs(list).filter(([a, b]) => overlap(a.box, b.box)));

for (const seed of RANDOM_CHARTS) {
  CASES[`random chart ${seed}`] = { machine: createMachine(randomConfig(seed)), options: {} };
}

for (const [name, { machine, options }] of Object.entries(CASES)) {
  describe(`the picture of ${name}`, () => {
    let chart: Chart;
    let layout: ChartLayout;
    let svg: string;
    beforeAll(async () => {
      chart = chartOf(machine, options);
      layout = await layoutChart(chart, notationOf(options));
      svg = drawChart(chart, layout, notationOf(options), 'auto');
    }, LAYOUT_MS);
    const boxOf = (id: string) => layout.states.find(({ state }) => state.id === id)?.box;

    it('shows every state and every transition that leads somewhere', () => {
      expect(layout.states.map(({ state }) => state.id)).toEqual(chart.states.map(({ id }) => id));
      const drawn = new Set(layout.arrows.flatMap(({ arrow }) => arrow.transitions.map(({ id }) => id)));
      const leading = chart.transitions.filter(({ source, targets }) => targets.some((target) => target !== source));
      expect([...drawn].sort()).toEqual(leading.map(({ id }) => id).sort());
      expect(layout.arrows.filter(({ lines }) => lines.length === 0).map(({ arrow }) => arrow.id)).toEqual([]);
    });

    it('keeps every text inside its box and off every other text', () => {
      for (const placed of layout.states) {
        const texts = textsIn(placed);
        const outside = texts.filter(({ box }) => !contains(placed.box, box)).map((text) => text.name);
        expect(outside).toEqual([]);
        expect(overlapping(texts)).toEqual([]);
      }
      const outside = layout.arrows.flatMap((placed) =>
        textsOn(placed).filter(({ box }) => placed.label === null || !contains(placed.label, box)),
      );
      expect(outside.map((text) => text.name)).toEqual([]);
    });

    it('keeps states inside the state around them, below its text, and off each other', () => {
      for (const { state, box, content } of layout.states) {
        const children = layout.states.filter((inner) => inner.state.parent === state.id);
        const named = children.map((inner) => ({ name: inner.state.id, box: inner.box }));
        expect(named.filter((inner) => !contains(box, inner.box)).map((inner) => inner.name)).toEqual([]);
        expect(overlapping(named)).toEqual([]);
        const head = textsIn({ state, box, content });
        const covered = head.flatMap((text) => named.filter((inner) => overlap(text.box, inner.box)));
        expect(covered.map((inner) => inner.name)).toEqual([]);
      }
    });

    it('keeps labels and marks off each other, off the states and inside the picture', () => {
      const marks = [...layout.initials, ...layout.rings].map((box, k) => ({ name: `mark ${k + 1}`, box }));
      const free = [...labels(layout), ...marks];
      expect(overlapping(free)).toEqual([]);
      const hidden = obstacles(layout).flatMap((state) => free.filter(({ box }) => overlap(box, state.box)));
      expect(hidden.map((label) => label.name)).toEqual([]);
      const picture = { x: 0, y: 0, width: layout.width, height: layout.height };
      expect(free.filter(({ box }) => !contains(picture, box)).map((label) => label.name)).toEqual([]);
    });

    it('leads no line through a state or a label that it does not belong to', () => {
      const crossed = layout.arrows.flatMap((placed) => {
        const { arrow } = placed;
        const foreign = [
          ...leaves(layout).filter(({ name: leaf }) => leaf !== arrow.source && leaf !== arrow.target),
          ...labels(layout).filter((label) => label.arrow !== arrow.id),
        ];
        return segments(placed).flatMap((line) =>
          foreign.filter(({ box }) => crosses(line, box)).map((box) => `${arrow.id} / ${box.name}`),
        );
      });
      expect(crossed).toEqual([]);
    });

    it('draws the text of a state above the lines that come in through it', () => {
      const lastLine = svg.lastIndexOf('<g class="edge ', svg.indexOf('<g class="legend">'));
      const groups = layout.states.filter(({ state }) => state.children.length > 0);
      expect(svg.slice(lastLine).match(/class="plate"/g)?.length ?? 0).toBeGreaterThanOrEqual(groups.length);
      expect(svg.slice(0, lastLine)).not.toContain('class="plate"');
    });

    it('ends every line at its state', () => {
      const lost = layout.arrows.filter(({ arrow, lines }) => {
        const tip = lines.at(-1)?.at(-1);
        const box = boxOf(arrow.target);
        return tip === undefined || box === undefined || !touches(tip, box);
      });
      expect(lost.map(({ arrow }) => arrow.id)).toEqual([]);
    });

    it('has a legend whose entries stand side by side inside the picture', () => {
      const width = Math.max(layout.width, 480);
      const legend = legendOf(chart, notationOf(options), width);
      const named = legend.boxes.map((box, k) => ({ name: `entry ${k + 1}`, box }));
      expect(overlapping(named)).toEqual([]);
      const page = { x: 0, y: 0, width, height: legend.height };
      expect(named.filter(({ box }) => !contains(page, box)).map((entry) => entry.name)).toEqual([]);
    });

    it('is well-formed, and holds no script, no address and nothing from outside', () => {
      expect(unbalanced(svg)).toEqual([]);
      expect(svg).not.toMatch(/<script|<foreignObject|href=|url\(|@import/);
      expect(svg.match(/https?:\/\/[^"]*/g)).toEqual(['http://www.w3.org/2000/svg']);
    });
  });
}

/** The tags that are opened or closed out of turn, and characters that should have been escaped. */
function unbalanced(xml: string): string[] {
  const open: string[] = [];
  const wrong: string[] = [];
  for (const [tag, slash, name = '', rest = ''] of xml.matchAll(/<(\/?)([A-Za-z]+)((?:"[^"]*"|[^">])*)>/g)) {
    if (slash === '/') {
      if (open.pop() !== name) wrong.push(tag);
    } else if (!rest.endsWith('/')) open.push(name);
  }
  const text = xml.replace(/<(\/?)([A-Za-z]+)((?:"[^"]*"|[^">])*)>/g, '');
  if (/[<]|&(?!amp;|lt;|gt;|quot;)/.test(text)) wrong.push('a character that is not escaped');
  return [...wrong, ...open];
}

describe('a picture', () => {
  it(
    'is the same in every run, byte for byte',
    async () => {
      for (const machine of [OWN_CHARTS.turn.machine, shop]) {
        const first = await renderStatechart(machine);
        const second = await renderStatechart(machine);
        expect(second === first).toBe(true);
      }
    },
    LAYOUT_MS,
  );
});

describe('the picture of the turn', () => {
  let svg: string;
  beforeAll(async () => {
    svg = await renderStatechart(OWN_CHARTS.turn.machine, OWN_CHARTS.turn.options);
  });
  const texts = () => [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map((match) => match[1]);

  it('names every phase', () => {
    const phases = chartOf(OWN_CHARTS.turn.machine, {}).states.filter(({ type }) => type !== 'history');
    for (const phase of phases) expect(texts()).toContain(phase.key);
  });

  it('says what every time-out comes to', () => {
    for (const words of ['after setupTimeout 1 min', 'after softTimeout 90 s', '9 min, attended: off']) {
      expect(texts()).toContain(words);
    }
    expect(svg.match(/class="clock" cx/g)?.length).toBeGreaterThanOrEqual(8);
  });

  it('has a badge for every checkpoint, and marks the two idle phases', () => {
    const chart = chartOf(OWN_CHARTS.turn.machine, {});
    const { states, transitions } = chart;
    const lists = [
      ...states.map(({ initial }) => initial?.actions ?? []),
      ...transitions.map(({ actions }) => actions),
    ];
    for (const directive of ['checkpointNow', 'checkpoint']) {
      const boundaries = lists.filter((actions) => actions.includes(directive)).length;
      // One more in the legend.
      expect(texts().filter((text) => text === directive)).toHaveLength(boundaries + 1);
    }
    expect(texts().filter((text) => text === 'idle')).toHaveLength(2 + 1);
  });

  it('lists the order of recovery inside its box, and the same numbers on the arrows', () => {
    for (const guard of ['hardIdle', 'contextLengthOnce', 'retryable', 'nudgeable']) expect(texts()).toContain(guard);
    const always = /class="number always"/g;
    // Seven in recovering and four in injectingMessage, each in a list and on an arrow.
    expect(svg.match(always)).toHaveLength(2 * (7 + 4));
  });

  it('tells descriptions as tooltips', () => {
    expect(svg).toContain('<title>running.recovering: The one dispatch point.');
  });
});

describe('the checks themselves', () => {
  const box = (x: number, y: number, width = 10, height = 10) => ({ x, y, width, height });

  it('see what lies on something else, and let neighbours touch', () => {
    expect(
      overlapping([
        { name: 'a', box: box(0, 0) },
        { name: 'b', box: box(9, 9) },
      ]),
    ).toEqual(['a / b']);
    expect(
      overlapping([
        { name: 'a', box: box(0, 0) },
        { name: 'b', box: box(10, 0) },
      ]),
    ).toEqual([]);
  });

  it('see a line that goes through a box, and let it pass along the border', () => {
    expect(crosses(box(-5, 5, 20, 0), box(0, 0))).toBe(true);
    expect(crosses(box(-5, 0, 20, 0), box(0, 0))).toBe(false);
  });

  it('see a text that leaves its box, and one that is not balanced', () => {
    expect(contains(box(0, 0), box(5, 5))).toBe(false);
    expect(unbalanced('<a><b></a></b>')).not.toEqual([]);
    expect(unbalanced('<a>1 & 2</a>')).not.toEqual([]);
    expect(unbalanced('<a title="1 &gt; 2">&amp;<b/></a>')).toEqual([]);
  });
});

describe('the colours', () => {
  const readable = (palette: Palette) =>
    palette.filter(({ ink, paper, least }) => contrast(ink, paper) < least).map(({ what }) => what);

  it('are readable in light (WCAG AA)', () => {
    expect(LIGHT.length).toBeGreaterThan(10);
    expect(readable(LIGHT)).toEqual([]);
  });

  it('are readable in dark (WCAG AA)', () => {
    expect(DARK.length).toBeGreaterThan(10);
    expect(readable(DARK)).toEqual([]);
  });

  it('follow what the reader prefers unless a scheme is asked for', async () => {
    const of = (scheme: 'auto' | 'light' | 'dark') => renderStatechart(bare, { scheme });
    const dark = /prefers-color-scheme:dark/;
    expect([await of('auto'), await of('light'), await of('dark')].map((svg) => dark.test(svg))).toEqual([
      true,
      false,
      false,
    ]);
  });
});
