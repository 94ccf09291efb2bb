/**
 * Owns the text beside a clock: what a delay comes to, per way of starting the machine.
 * Must not know how the text is drawn.
 */
import type { AnyStateMachine } from 'xstate';
import type { Chart } from './chart.js';
import { delayMs, INLINE } from './xstate-fields.js';

/**
 * The longest delay that a timer of Node takes: whoever asks for that much means "never". Any machine may be drawn, so
 * this is not read from the limits of ours.
 */
const NEVER_MS = 2 ** 31 - 1;

/** A way of starting the machine, for delays that depend on the context. The first one is the usual one. */
export interface Variant {
  readonly label: string;
  readonly input: unknown;
}

export function durationText(ms: number): string {
  if (ms >= NEVER_MS) return 'off';
  const units = [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'min'],
    [1_000, 's'],
  ] as const;
  for (const [size, unit] of units) if (ms >= size && ms % size === 0) return `${ms / size} ${unit}`;
  return `${ms} ms`;
}

function resolvedText(machine: AnyStateMachine, delay: string, variants: readonly Variant[]): string | null {
  // The author wrote milliseconds, which the trigger itself shows.
  if (/^\d+$/.test(delay)) return null;
  const texts = variants.map(({ input }) => {
    const ms = delayMs(machine, delay, input);
    return ms === null ? INLINE : durationText(ms);
  });
  const [usual = INLINE] = texts;
  const others = variants.flatMap(({ label }, k) => (texts[k] === usual ? [] : [`${label}: ${texts[k]}`]));
  return [usual, ...others].join(', ');
}

/** `given` replaces what can be computed, for delays that depend on what happened before. */
export function withDelays(
  chart: Chart,
  machine: AnyStateMachine,
  variants: readonly Variant[],
  given: Readonly<Record<string, string>>,
): Chart {
  return {
    ...chart,
    transitions: chart.transitions.map((transition) => {
      const { trigger } = transition;
      if (trigger.kind !== 'after') return transition;
      const resolved = given[trigger.delay] ?? resolvedText(machine, trigger.delay, variants);
      return { ...transition, trigger: { ...trigger, resolved } };
    }),
  };
}
