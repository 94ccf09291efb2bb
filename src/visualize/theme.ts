/**
 * Owns the colours of a picture, for light and for dark, as a style sheet that travels inside the SVG.
 * Must not know positions. Plain classes and no CSS variables: not every program that shows an SVG knows those.
 */

export interface Palette {
  readonly page: string;
  readonly group: string;
  readonly box: string;
  readonly line: string;
  readonly faint: string;
  readonly ink: string;
  readonly muted: string;
  readonly finalBox: string;
  readonly transientBox: string;
  readonly tones: Readonly<Record<'event' | 'time' | 'always' | 'done' | 'error', string>>;
  readonly onTone: string;
  readonly forced: { readonly fill: string; readonly ink: string };
  readonly debounced: { readonly fill: string; readonly line: string; readonly ink: string };
  readonly idle: { readonly fill: string; readonly line: string; readonly ink: string };
}

export const LIGHT: Palette = {
  page: '#ffffff',
  group: '#f8fafc',
  box: '#ffffff',
  line: '#334155',
  faint: '#cbd5e1',
  ink: '#0f172a',
  muted: '#526077',
  finalBox: '#e2e8f0',
  transientBox: '#f5f3ff',
  tones: { event: '#334155', time: '#a34708', always: '#6d28d9', done: '#0369a1', error: '#b91c1c' },
  onTone: '#ffffff',
  forced: { fill: '#166534', ink: '#ffffff' },
  debounced: { fill: '#f0fdf4', line: '#16a34a', ink: '#166534' },
  idle: { fill: '#fef3c7', line: '#d97706', ink: '#854d0e' },
};

export const DARK: Palette = {
  page: '#0d1117',
  group: '#131a26',
  box: '#1c2636',
  line: '#94a3b8',
  faint: '#3b4a61',
  ink: '#f1f5f9',
  muted: '#a9b6ca',
  finalBox: '#334155',
  transientBox: '#241d3d',
  tones: { event: '#cbd5e1', time: '#fbbf24', always: '#c4b5fd', done: '#7dd3fc', error: '#fca5a5' },
  onTone: '#0d1117',
  forced: { fill: '#4ade80', ink: '#052e16' },
  debounced: { fill: '#0f2a1c', line: '#22c55e', ink: '#86efac' },
  idle: { fill: '#3a2a08', line: '#f59e0b', ink: '#fcd34d' },
};

function rules(p: Palette): string[] {
  const tones = Object.entries(p.tones).flatMap(([tone, colour]) => [
    `.edge.${tone} path{stroke:${colour}}`,
    `.edge.${tone} polygon{fill:${colour}}`,
    `.label.${tone}{stroke:${colour}}`,
    `text.${tone}{fill:${colour}}`,
    `.number.${tone}{fill:${colour}}`,
  ]);
  return [
    `.page{fill:${p.page}}`,
    `.group{fill:${p.group};stroke:${p.line}}`,
    `.plate{fill:${p.group}}`,
    `.box{fill:${p.box};stroke:${p.line}}`,
    `.box.final{fill:${p.finalBox}}`,
    `.box.transient{fill:${p.transientBox};stroke:${p.tones.always}}`,
    `.rule{stroke:${p.faint}}`,
    `.dot{fill:${p.ink}}`,
    `.ring{fill:${p.group};stroke:${p.ink}}`,
    `text{fill:${p.ink}}`,
    `text.muted,text.note{fill:${p.muted}}`,
    `text.effect{fill:${p.tones.done}}`,
    `.label{fill:${p.page}}`,
    `.clock{stroke:${p.tones.time}}`,
    ...tones,
    `text.digit{fill:${p.onTone}}`,
    `text.digit.plain{fill:${p.ink}}`,
    `.badge.forced{fill:${p.forced.fill};stroke:${p.forced.fill}}`,
    `text.forced{fill:${p.forced.ink}}`,
    `.disk.forced{stroke:${p.forced.ink}}`,
    `.badge.debounced{fill:${p.debounced.fill};stroke:${p.debounced.line}}`,
    `text.debounced{fill:${p.debounced.ink}}`,
    `.disk.debounced{stroke:${p.debounced.ink}}`,
    `.badge.idle{fill:${p.idle.fill};stroke:${p.idle.line}}`,
    `text.idle{fill:${p.idle.ink}}`,
    `.badge.tag{fill:${p.group};stroke:${p.faint}}`,
    `text.tag{fill:${p.muted}}`,
  ];
}

const FORM = [
  'text{font-family:Helvetica,Arial,"Liberation Sans",sans-serif;font-size:11px}',
  'text.title{font-size:13px;font-weight:bold}',
  'text.strong{font-weight:bold}',
  'text.muted,text.note{font-size:10px}',
  'text.note{font-style:italic}',
  'text.digit{font-size:9px;font-weight:bold;text-anchor:middle}',
  'text.onBadge{font-size:9px;font-weight:bold}',
  '.group,.box{stroke-width:1.3}',
  '.ring{stroke-width:2.5}',
  '.box.inner{fill:none;stroke-width:1}',
  '.region{stroke-dasharray:6 4}',
  '.transient{stroke-dasharray:5 3}',
  '.edge path{fill:none;stroke-width:1.3}',
  '.edge.always path{stroke-dasharray:5 3}',
  '.label{stroke-width:.6}',
  '.badge{stroke-width:1}',
  '.clock,.disk{fill:none;stroke-width:1.2}',
  '.disk{stroke-width:1}',
];

/** Everything is scoped to one class, so that a page may show the SVG inline beside other things. */
function scoped(scope: string, list: readonly string[]): string {
  return list
    .map((rule) => {
      const [selectors = '', body = ''] = rule.split('{', 2);
      const scopedSelectors = selectors.split(',').map((selector) => `.${scope} ${selector}`);
      return `${scopedSelectors.join(',')}{${body}`;
    })
    .join('\n');
}

export type Scheme = 'auto' | 'light' | 'dark';

export function styleSheet(scope: string, scheme: Scheme): string {
  const base = scoped(scope, [...FORM, ...rules(scheme === 'dark' ? DARK : LIGHT)]);
  if (scheme !== 'auto') return base;
  return `${base}\n@media (prefers-color-scheme:dark){\n${scoped(scope, rules(DARK))}\n}`;
}
