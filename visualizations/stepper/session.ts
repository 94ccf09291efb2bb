/**
 * Owns a reader's session as an address can hold it: the chart, how it was started and the moves since. Whatever the
 * page shows is computed from that, so undo is one move less and a shared address shows the same.
 * Must not know the page.
 */
import { CALL_OFFERS, type Offer, RECOVERY_OFFERS, TURN_OFFERS } from './catalog.js';
import { type ChartWorld, mattersToChart, SMALL_CHARTS, sendToChart, startChart } from './chart-world.js';
import {
  crash,
  matters,
  pass,
  passToNext,
  restore,
  send,
  startTurn,
  TURN_STARTS,
  type TurnWorld,
} from './turn-world.js';

export type ChartName = 'turn' | 'recovery' | 'call';
export const CHARTS: readonly ChartName[] = ['turn', 'recovery', 'call'];

export interface Session {
  readonly chart: ChartName;
  readonly start: string;
  readonly moves: readonly string[];
  /** The scenario whose steps are proposed, if any. */
  readonly scenario: string | null;
}

export type World =
  | { readonly chart: 'turn'; readonly turn: TurnWorld }
  | { readonly chart: 'recovery' | 'call'; readonly small: ChartWorld };

export function startsOf(chart: ChartName): readonly string[] {
  return chart === 'turn' ? TURN_STARTS : SMALL_CHARTS[chart].starts.map(({ name }) => name);
}

export function offersOf(chart: ChartName): readonly Offer<{ type: string }>[] {
  if (chart === 'turn') return TURN_OFFERS;
  return chart === 'recovery' ? RECOVERY_OFFERS : CALL_OFFERS;
}

/** `g-<guard>-yes|no|auto` */
function guardMove(move: string): { readonly name: string; readonly says: boolean | undefined } | null {
  const [, name, said] = /^g-(\w+)-(yes|no|auto)$/.exec(move) ?? [];
  if (name === undefined) return null;
  return { name, says: said === 'auto' ? undefined : said === 'yes' };
}

function withGuard(guards: Readonly<Record<string, boolean>>, name: string, says: boolean | undefined) {
  const { [name]: _, ...others } = guards;
  return says === undefined ? others : { ...others, [name]: says };
}

function moveTurn(world: TurnWorld, move: string): TurnWorld {
  const guard = guardMove(move);
  if (guard !== null) return { ...world, guards: withGuard(world.guards, guard.name, guard.says) };
  const [, ms] = /^t(\d{1,12})$/.exec(move) ?? [];
  if (ms !== undefined) return pass(world, Number(ms));
  switch (move) {
    case 't':
      return passToNext(world);
    case 'x':
      return crash(world);
    case 'r':
      return restore(world, false);
    case 'p':
      return restore(world, true);
    case 'off':
      return { ...world, how: { ...world.how, switchedOff: !world.how.switchedOff } };
    case 'reconcile':
      return { ...world, how: { ...world.how, reconcile: !world.how.reconcile } };
    default: {
      const offer = TURN_OFFERS.find(({ key }) => key === move);
      return offer === undefined ? world : send(world, offer.event(world.now));
    }
  }
}

function smallWorld({ chart, start, moves }: Session & { chart: 'recovery' | 'call' }): ChartWorld {
  const small = SMALL_CHARTS[chart];
  // Guards first: the chart of gates decides while it starts.
  let guards = {};
  for (const move of moves) {
    const guard = guardMove(move);
    if (guard !== null) guards = withGuard(guards, guard.name, guard.says);
  }
  let world = startChart(small, start, guards);
  for (const move of moves) {
    const offer = offersOf(chart).find(({ key }) => key === move);
    if (offer !== undefined) world = sendToChart(small, world, offer.event(0));
  }
  return world;
}

export function worldOf(session: Session): World {
  if (session.chart === 'turn') {
    return { chart: 'turn', turn: session.moves.reduce(moveTurn, startTurn(session.start)) };
  }
  const { chart } = session;
  return { chart, small: smallWorld({ ...session, chart }) };
}

/** Which offers do something now, in the order of the catalog. */
export function openOffers(world: World): readonly Offer<{ type: string }>[] {
  if (world.chart === 'turn') return TURN_OFFERS.filter(({ event }) => matters(world.turn, event(world.turn.now)));
  const small = SMALL_CHARTS[world.chart];
  return offersOf(world.chart).filter(({ event }) => mattersToChart(small, world.small, event(0)));
}

// ---- the address -----------------------------------------------------------------------------------------------

const MOVE = /^[\w-]{1,80}$/;
/** More would not fit into an address that people can share. */
const MOVES = 400;

export function toAddress({ chart, start, moves, scenario }: Session): string {
  const parts = [chart, encodeURIComponent(start), moves.join('.')];
  return `#${parts.join('/')}${scenario === null ? '' : `?${encodeURIComponent(scenario)}`}`;
}

/** An address is whatever somebody typed: what cannot be read is left out, and nothing of it is ever shown as markup. */
export function fromAddress(address: string): Session {
  const [path = '', scenario] = address.replace(/^#/, '').split('?', 2);
  const [name, start = '', moves = ''] = path.split('/');
  const chart = CHARTS.find((one) => one === name) ?? 'turn';
  const starts = startsOf(chart);
  const wanted = decoded(start);
  return {
    chart,
    start: starts.find((one) => one === wanted) ?? starts[0] ?? '',
    moves: moves
      .split('.')
      .filter((move) => MOVE.test(move))
      .slice(0, MOVES),
    scenario: scenario === undefined ? null : decoded(scenario),
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}
