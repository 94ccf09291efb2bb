// Owns what a figure is: a value from rounds, its floor from the same rounds, and the target it is compared with.
// Must not know what was measured.

/** The middle of the rounds, and how far apart the lowest and the highest of them are. */
export function spreadOf(rounds) {
  const sorted = [...rounds].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return { median, low: sorted[0], high: sorted.at(-1), rounds: sorted.length };
}

/**
 * One line of the table. `rounds` are values of `unit`; `floors` the floor of each round, in the same unit. The target
 * bounds the ratio where there is a floor and the value where there is none; without one the figure is only reported.
 *
 * `count`: depends on no clock and no disk, so that every machine gives the same and CI compares it.
 * `told`: belongs into a text although it has no target.
 */
export function figure({ workload, name, unit, rounds, floors, target, count = false, told = false }) {
  const value = spreadOf(rounds);
  const ratio = floors === undefined ? undefined : spreadOf(rounds.map((round, index) => round / floors[index]));
  const compared = ratio ?? value;
  return {
    workload,
    name,
    unit,
    value,
    ...(floors === undefined ? {} : { floor: spreadOf(floors), ratio }),
    ...(target === undefined
      ? {}
      : { target, met: target.atLeast ? compared.median >= target.atLeast : compared.median <= target.atMost }),
    count,
    told: told || target !== undefined,
  };
}
