/**
 * Owns what the demo prints: the timeline of one round or a line for each of many, the picture, the verdict.
 * Must not know how it came about.
 */
import { describeKill, type Kill, type KillPlan, MOST_KILLS } from './kill-plan.js';
import type { Moment } from './moments.js';
import type { Paint } from './paint.js';
import { drawTurn } from './picture.js';
import { storeIn } from './project.js';
import type { DoneKill, RoundResult, RoundWatcher } from './round.js';
import { SESSION_ID } from './script.js';
import type { Expected, Story } from './story.js';
import { Timeline, WIDTH, wrap } from './timeline.js';
import { exitCodeOf, type Verdict } from './verdict.js';
import type { Witness } from './witness.js';

export class Report implements RoundWatcher {
  private readonly print: (line: string) => void;
  private readonly paint: Paint;
  private readonly rounds: number;
  private readonly story: Story;
  private readonly timeline: Timeline;
  private number = 0;

  constructor(print: (line: string) => void, paint: Paint, rounds: number, story: Story) {
    this.print = print;
    this.paint = paint;
    this.rounds = rounds;
    this.story = story;
    this.timeline = new Timeline(print, paint);
  }

  begin(folder: string, keep: boolean): void {
    this.print(this.paint.strong('durable-turn demo: a turn is killed half-way, and each effect happens exactly once'));
    this.print('');
    this.print(`  turn      ${this.story.about}`);
    this.print('  service   a process that runs the turn with durable-turn; it gets SIGKILL and is started again');
    this.print('  receiver  another process; it counts effects by idempotency key and removes no doubles');
    this.print(`  folder    ${folder}`);
    this.print(`            ${keep ? 'it stays' : 'removed at the end where all goes well; --keep leaves it'}`);
    this.print('');
  }

  roundBegins(number: number, plan: KillPlan): void {
    this.number = number;
    if (this.isDetailed) {
      for (const line of this.planned(plan)) this.print(line);
      this.print('A moment with a + was on disk before it was told.');
      this.print('');
      this.timeline.head();
    } else if (number === 1) {
      const most = plan.kills.every((kill) => 'moment' in kill) && plan.again.includes('random');
      this.print(
        `${this.rounds} rounds, each with a fresh folder and ${most ? `up to ${MOST_KILLS} kills` : 'one kill'} and one more while it is parked.`,
      );
      this.print('');
    }
  }

  moment(number: number, at: number, who: string, phase: string, moment: Moment): void {
    if (this.isDetailed) this.timeline.tell({ number, at, who, phase, moment });
  }

  killed(kill: DoneKill): void {
    if (!this.isDetailed) return;
    const title = `---- SIGKILL  service ${kill.service} (pid ${kill.pid})  behind moment ${kill.moment} `;
    this.timeline.announce(['', this.paint.bad(title.padEnd(WIDTH, '-')), ...this.cutOff(kill), '']);
  }

  roundEnds(result: RoundResult, plan: KillPlan, unused: readonly Kill[], folder: string): void {
    this.timeline.flush();
    if (this.isDetailed) this.wholeRound(result, unused);
    else this.oneLine(result, plan);
    if (exitCodeOf([result]) === 0) return;
    if (result.failure !== null) this.print(this.paint.bad(`  ${result.failure}`));
    this.print(`  The folder is kept: ${folder}`);
  }

  end(results: readonly RoundResult[]): void {
    const wrong = results.filter((result) => exitCodeOf([result]) !== 0).length;
    const kills = results.reduce((sum, result) => sum + result.kills.length, 0);
    const sum = (count: (verdict: Verdict) => number): number =>
      results.reduce((total, { verdict }) => total + count(verdict), 0);
    const counts = `${sum((v) => v.effects)} effects, ${sum((v) => v.lost)} lost, ${sum((v) => v.doubled)} doubled, ${kills} ${kills === 1 ? 'kill' : 'kills'}`;
    const rounds = results.length > 1 ? `${results.length - wrong} of ${results.length} rounds: ` : '';
    this.print('');
    if (wrong === 0) this.print(this.paint.good(`${rounds}each effect exactly once (${counts})`));
    else if (results.every(({ verdict }) => verdict.rows.length === 0)) {
      this.print(this.paint.bad(`${rounds}nothing was tested (${counts})`));
    } else this.print(this.paint.bad(`${rounds}NOT each effect exactly once (${counts})`));
  }

  /** How to look at what a round has left: with the commands that an operator has. */
  look(roundFolder: string): void {
    const store = `"${storeIn(roundFolder)}"`;
    this.print('');
    this.print('To look at what is stored:');
    this.print(`  npx durable-turn list ${store}`);
    this.print(`  npx durable-turn show ${store} ${SESSION_ID}`);
    this.print(`  npx durable-turn verify ${store}`);
  }

  private wholeRound(result: RoundResult, unused: readonly Kill[]): void {
    const { witness, endedAt } = result;
    this.print('');
    for (const line of drawTurn(witness, endedAt, this.paint)) this.print(line);
    this.print('');
    for (const kill of unused) this.print(`No kill at ${describeKill(kill)}: the turn had ended before.`);
    this.table(result.verdict);
    for (const line of writtenAgain(witness, this.story.expected([]))) this.print(line);
  }

  private get isDetailed(): boolean {
    return this.rounds === 1;
  }

  private planned(plan: KillPlan): readonly string[] {
    const parked = 'It is killed once more while the turn is parked; a person decides after the restart.';
    if (plan.again === '')
      return ['The service is killed in the parallel batch, the moment the third post takes effect.', parked];
    const killed = `The service is killed at ${plan.kills.map(describeKill).join(' and at ')}.`;
    return [killed, parked, `Again: ${again(plan, this.story)}`];
  }

  private cutOff({ landed, notLanded, inDoubt, waiting, modelRan }: DoneKill): readonly string[] {
    const width = WIDTH - 5;
    const lines: string[] = [];
    if (modelRan) lines.push('The model was thinking: its answer never came.');
    if (landed.length > 0) lines.push(...wrap('Had taken effect, but no result was told yet:', landed, width));
    if (notLanded.length > 0) lines.push(...wrap('Had not taken effect, but were dispatched:', notLanded, width));
    if (inDoubt.length > 0) lines.push(...wrap('In doubt since the kill before:', inDoubt, width));
    if (waiting.length > 0) lines.push(...wrap('Waiting for a person, and no call was running:', waiting, width));
    if (lines.length === 0) lines.push('No call was running.');
    return lines.map((line) => `     ${line}`);
  }

  private table({ rows }: Verdict): void {
    const cell = (value: number | string): string => String(value).padStart(10);
    const line = (name: string, where: string, ...cells: readonly (number | string)[]): string =>
      `  ${name.padEnd(26)} ${where.padEnd(10)}${cells.map(cell).join('')}`;
    this.print(this.paint.strong(line('effect', 'counted in', 'expected', 'counted', 'doubled', 'lost')));
    for (const { name, where, expected, counted, doubled, lost } of rows) {
      const right = doubled === 0 && lost === 0;
      const text = line(name, where, expected, counted, doubled || '-', lost || '-');
      this.print(right ? text : this.paint.bad(text));
    }
  }

  private oneLine(result: RoundResult, plan: KillPlan): void {
    const { verdict, kills, startedAt, endedAt } = result;
    const right = exitCodeOf([result]) === 0;
    const where = kills.map(({ moment, phase }) => `${moment} ${phase}`).join(', ');
    const told = kills.length === 0 ? 'not killed' : `killed at ${where}`;
    const once = verdict.effects - verdict.lost;
    const head = `round ${String(this.number).padStart(String(this.rounds).length)}`;
    const end = `${once}/${verdict.effects} once  ${((endedAt - startedAt) / 1000).toFixed(1)} s`;
    const text = `${head}  ${told.padEnd(68)}  ${right ? end : `WRONG ${end}`}`;
    this.print(right ? text : this.paint.bad(text));
    if (right) return;
    this.table(verdict);
    this.print(`  planned kills: ${plan.kills.map(describeKill).join(' and ')}. Again: ${again(plan, this.story)}`);
  }
}

const again = ({ again: kills }: KillPlan, { live }: Story): string =>
  `durable-turn demo${kills}${live === null ? '' : ` --base-url ${live.baseUrl} --model ${live.model}`}`;

/** The timeline shows such a write twice and the table counts it once: why that is no contradiction. */
export function writtenAgain({ calls }: Pick<Witness, 'calls'>, expected: readonly Expected[]): readonly string[] {
  const written = expected.flatMap(({ kind, name }) => (kind === 'written' ? [name] : []));
  const again = [...calls.values()].filter(({ label, landed }) => landed.length > 1 && written.includes(label));
  if (again.length === 0) return [];
  const names = again.map(({ label }) => label);
  return wrap('  Idempotent writes may run again with the same key and count once:', names, WIDTH);
}
