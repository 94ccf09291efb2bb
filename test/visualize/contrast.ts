// The contrast of two colours as WCAG 2 computes it, and every pair of colours that meet in a picture.
import * as theme from '../../src/visualize/theme.js';

export interface Pair {
  readonly what: string;
  readonly ink: string;
  readonly paper: string;
  /** 4.5 for text, 3 for lines and marks. */
  readonly least: number;
}

export type Palette = readonly Pair[];

function luminance(colour: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const channel = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

export function contrast(a: string, b: string): number {
  const [dark = 0, light = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}

function pairsOf(p: theme.Palette): Palette {
  const papers = { page: p.page, group: p.group, box: p.box, finalBox: p.finalBox, transientBox: p.transientBox };
  const inks = { ink: p.ink, muted: p.muted, ...p.tones };
  const texts = Object.entries(papers).flatMap(([paper, paperColour]) =>
    Object.entries(inks).map(([ink, inkColour]) => ({
      what: `${ink} on ${paper}`,
      ink: inkColour,
      paper: paperColour,
      least: 4.5,
    })),
  );
  const digits = Object.entries(p.tones).map(([tone, colour]) => ({
    what: `a number of ${tone}`,
    ink: p.onTone,
    paper: colour,
    least: 4.5,
  }));
  const badges = (['forced', 'debounced', 'idle'] as const).map((look) => ({
    what: `the badge ${look}`,
    ink: p[look].ink,
    paper: p[look].fill,
    least: 4.5,
  }));
  const lines = [p.page, p.group].map((paper) => ({
    what: `the line of a box on ${paper}`,
    ink: p.line,
    paper,
    least: 3,
  }));
  return [...texts, ...digits, ...badges, ...lines];
}

export const LIGHT = pairsOf(theme.LIGHT);
export const DARK = pairsOf(theme.DARK);
