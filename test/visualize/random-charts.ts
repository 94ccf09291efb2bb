// Charts nobody wrote: random nesting, regions, history and ends, and arrows that lead anywhere.

import { fractionsFrom } from '../../src/testing/random.js';

const DEPTH = 3;

export function randomConfig(seed: number): Record<string, any> {
  const random = fractionsFrom(seed);
  const below = (n: number) => Math.floor(random() * n);
  const list = <T>(length: number, make: (k: number) => T): T[] => Array.from({ length }, (_, k) => make(k));
  let states = 0;

  const build = (depth: number, key: string): Record<string, any> => {
    const id = `s${states}`;
    states += 1;
    const count = depth === 0 ? 3 + below(2) : depth < DEPTH && random() < 0.35 ? 1 + below(3) : 0;
    const inner = Object.fromEntries(list(count, (k) => [`${key}${k}`, build(depth + 1, `${key}${k}`)]));
    if (count === 0) {
      const kind = random();
      if (kind < 0.08) return { id, type: 'final' };
      if (kind < 0.14) return { id, type: 'history', history: kind < 0.11 ? 'deep' : 'shallow' };
      return { id };
    }
    const parallel = count > 1 && random() < 0.3;
    return { id, states: inner, ...(parallel ? { type: 'parallel' } : { initial: `${key}${below(count)}` }) };
  };

  const connect = (state: Record<string, any>): void => {
    const transition = () => ({
      target: `#s${1 + below(states - 1)}`,
      ...(random() < 0.3 ? { guard: 'ifSo' } : {}),
      ...(random() < 0.3 ? { actions: ['act', 'checkpoint'] } : {}),
    });
    if (state.type !== 'final' && state.type !== 'history') {
      state.on = Object.fromEntries(list(below(3), (k) => [`event${below(6)}.${k}`, list(1 + below(2), transition)]));
      if (random() < 0.2) state.after = { [1_000 * below(9)]: transition() };
      if (random() < 0.2) state.always = ['ready', 'other'].map((guard) => ({ ...transition(), guard }));
    }
    for (const inner of Object.values(state.states ?? {})) connect(inner as Record<string, any>);
  };

  const root = build(0, 'n');
  connect(root);
  return root;
}
