// The README against the code: every table names exactly what there is, with the values the code has, and every link
// leads somewhere.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  ATTENDED_LIMITS,
  DEFAULT_RECOVERY_POLICY,
  LIMIT_UNITS,
  type LimitName,
  UNATTENDED_LIMITS,
} from '../../machines/index.js';
import * as bounds from '../../machines/limits.js';
import { TurnError, type TurnErrorCode } from '../../src/core/errors.js';
import { SUBLEVELS } from '../../src/store/keys.js';
import * as kit from '../../src/testing/index.js';
import {
  anchors,
  argumentsOf,
  blockIn,
  blocks,
  links,
  type Member,
  membersOf,
  namesIn,
  numberIn,
  parts,
  readme,
  root,
  source,
  tableIn,
  unionIn,
} from './text.js';

const sorted = (names: Iterable<string>): readonly string[] => [...names].sort();
/** Required or not, by name. */
const asTold = (members: readonly Member[]): Record<string, boolean> =>
  Object.fromEntries(members.map(({ name, required }) => [name, required]));
const told = (section: string, firstColumn: string): Record<string, boolean> =>
  asTold(
    tableIn(section, firstColumn).flatMap((row) =>
      namesIn([row]).map((name) => ({ name, required: row[1] === 'required' })),
    ),
  );
const manifest = JSON.parse(source('package.json'));

describe('the tables of options', () => {
  it('name every option of createTurnEngine, and no other, and say which are required', () => {
    const ofOneCall = ['messages', 'stop'];
    const plan = membersOf('src/engine/options.ts', 'CallPlan').filter(({ name }) => !ofOneCall.includes(name));
    const own = membersOf('src/engine/options.ts', 'EngineOptions');
    expect(own.length).toBeGreaterThan(10);
    // The model is in both: required of an engine, free for one call.
    expect(told('createTurnEngine', 'option')).toEqual(asTold([...plan, ...own]));
  });

  it('name every field of an input, and no other, and say which are required', () => {
    const own = membersOf('src/engine/input.ts', 'Input');
    expect(own).toContainEqual({ name: 'sessionId', required: true });
    expect(told('Input', 'field')).toEqual(asTold(own));
  });

  it('name every field of a tool, and no other, and say which are required', () => {
    const own = membersOf('src/core/tools.ts', 'Tool');
    expect(own).toContainEqual({ name: 'reconcile', required: false });
    expect(told('Tool', 'field')).toEqual(asTold(own));
  });

  it('name every option of crashMatrix and every function of the kit, and say which are required', () => {
    const own = membersOf('src/testing/crash-matrix.ts', 'CrashMatrixOptions');
    expect(own).toContainEqual({ name: 'scenario', required: true });
    expect(told('Test your own agent', 'option')).toEqual(asTold(own));
    const names = namesIn(tableIn('Test your own agent', 'name')).map((name) => name.split('(')[0] as string);
    expect(sorted([...names, 'crashMatrix'])).toEqual(sorted(Object.keys(kit)));
  });

  it('name every function of createTurnEngine with its arguments, and every field of `turn`', () => {
    const text = source('src/engine/options.ts');
    const declared = [...text.matchAll(/^ {2}(\w+)\?\(([^)]*)\)/gm)].map(([, name, list]) => [
      name as string,
      [...(list as string).matchAll(/(?:^|, )(\w+): /g)].map((match) => match[1] as string).join(', '),
    ]);
    const named = tableIn('Callbacks', 'callback').map(([name, list]) => [
      name?.replaceAll('`', '') as string,
      list?.replace(/^`\(|\)`$/g, '') as string,
    ]);
    expect(declared.length).toBeGreaterThan(4);
    expect(Object.fromEntries(named)).toMatchObject(Object.fromEntries(declared));
    const fields = membersOf('src/engine/options.ts', 'TurnInfo').map(({ name }) => name);
    expect(sorted(namesIn(tableIn('Callbacks', 'field of `turn`')))).toEqual(sorted(fields));
  });

  it('name every method of the engine with its arguments, and which of them may be left out', () => {
    const named = tableIn('Methods', 'method of the engine').map(([name, list]) => [
      name?.replaceAll('`', '') as string,
      list?.replaceAll('`', ''),
    ]);
    const declared = membersOf('src/engine/turn-engine.ts', 'TurnEngine').map(({ name }) => [name, argumentsOf(name)]);
    expect(declared.length).toBeGreaterThan(20);
    expect(named).toEqual(declared);
  });

  it('name every field of what the methods give', () => {
    const rows = tableIn('Methods', 'what they give').map(([what, fields = '']) => [
      what,
      // What stands in brackets or behind the list explains it.
      [...(fields.replace(/\([^)]*\)/g, '').split('. ')[0] as string).matchAll(/`(\w+)`/g)].map((match) => match[1]),
    ]);
    const fieldsOf = (path: string, name: string) => membersOf(path, name).map((member) => member.name);
    const events = 'src/core/events.ts';
    expect(Object.fromEntries(rows)).toEqual({
      'a turn': fieldsOf('src/engine/turn-handles.ts', 'Turn'),
      'a session': fieldsOf('src/engine/turn-engine.ts', 'Session'),
      'an interrupted turn': fieldsOf('src/engine/turn-engine.ts', 'InterruptedTurn'),
      'an approval': fieldsOf(events, 'Approval'),
      'a review': fieldsOf(events, 'Review'),
      'an outcome': fieldsOf(events, 'TurnOutcome'),
    });
  });

  it('name every status of an outcome, and every reason of those that have names', () => {
    const rows = new Map(
      tableIn('Methods', '`outcome.status`').map(([status, why = '']) => [namesIn([[status ?? '']])[0], why]),
    );
    expect([...rows.keys()]).toEqual(unionIn('src/core/records.ts', 'OutcomeStatus'));
    for (const fault of unionIn('machines/turn.setup.ts', 'ModelFault'))
      expect(rows.get('failed')).toContain(`\`${fault}\``);
    const limits = [...source('src/engine/model-call.ts').matchAll(/\) return '(\w+)';/g)].map((match) => match[1]);
    expect(limits.length).toBeGreaterThan(3);
    for (const limit of limits) expect(rows.get('stopped')).toContain(`\`${limit}\``);
  });

  it('name every field of an answer, and every reason it may have finished for', () => {
    const path = 'src/core/messages.ts';
    const fields = ['content', ...membersOf(path, 'AnswerFacts').map(({ name }) => name)];
    expect(namesIn(tableIn('Your provider', 'field of the answer'))).toEqual(fields);
    const reasons = namesIn(tableIn('Your provider', '`finish.reason`'));
    expect(sorted(reasons)).toEqual(sorted(unionIn(path, 'FinishReason')));
  });

  it('name every limit with its unit and its default, with and without presence', () => {
    const rows = tableIn('limits', 'limit').map(([name, unit, attended, unattended]) => [
      name?.replaceAll('`', ''),
      { unit, attended: numberIn(attended), unattended: numberIn(unattended) },
    ]);
    const limits = (Object.keys(LIMIT_UNITS) as LimitName[]).map((name) => [
      name,
      { unit: LIMIT_UNITS[name], attended: ATTENDED_LIMITS[name], unattended: UNATTENDED_LIMITS[name] },
    ]);
    expect(Object.keys(ATTENDED_LIMITS).sort()).toEqual(Object.keys(LIMIT_UNITS).sort());
    expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(limits));
  });

  it('name every part of the recovery policy with its default', () => {
    const rows = tableIn('recovery', 'policy').map(([name, , value]) => [
      name?.replaceAll('`', ''),
      value === 'true' ? true : numberIn(value),
    ]);
    expect(Object.fromEntries(rows)).toEqual(DEFAULT_RECOVERY_POLICY);
  });

  it('give the fixed bounds their values', () => {
    const rows = tableIn('Fixed bounds', 'bound');
    const given = Object.fromEntries(rows.map(([name, value]) => [name?.replaceAll('`', ''), numberIn(value)]));
    const values: Record<string, unknown> = { ...bounds };
    expect(rows.length).toBeGreaterThan(0);
    expect(given).toEqual(Object.fromEntries(Object.keys(given).map((name) => [name, values[name]])));
  });
});

describe('the tables of codes and names', () => {
  it('name every error code, with what `retryable` is, and no other', () => {
    const codes = [...source('src/core/errors.ts').matchAll(/\| '(TURN_[A-Z_]+)'/g)].map((match) => match[1] as string);
    expect(codes.length).toBeGreaterThan(10);
    const rows = tableIn('Error codes', 'code').map(([code, retryable]) => [code?.replaceAll('`', ''), retryable]);
    const expected = codes.map((code) => [code, new TurnError(code as TurnErrorCode, '').retryable ? 'yes' : 'no']);
    expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(expected));
    const mentioned = new Set(readme.match(/\bTURN_[A-Z_]+\b/g));
    expect([...mentioned].filter((code) => !codes.includes(code))).toEqual([]);
  });

  it('name every event, and no other', () => {
    const text = source('src/core/events.ts');
    const union = (name: string): string =>
      (text.split(`export type ${name} =`)[1] as string).split(';\n\n')[0] as string;
    const types = [
      ...[...union('EventBody').matchAll(/readonly type: '(\w+)'/g)].map((match) => match[1] as string),
      ...[...union('InterruptedEventType').matchAll(/'(\w+)'/g)].map((match) => match[1] as string),
    ];
    expect(types).toContain('driverLost');
    expect(types).toContain('interrupted_turn_review_required');
    expect(sorted(namesIn(tableIn('Events', 'event')))).toEqual(sorted(new Set(types)));
    const followed = [...union('FollowBody').matchAll(/readonly type: '(\w+)'/g)].map((match) => match[1] as string);
    expect(sorted(namesIn(tableIn('Events', 'event of `follow`')))).toEqual(sorted(followed));
    const view = membersOf('src/core/events.ts', 'SessionView').map(({ name }) => name);
    const row = tableIn('Events', 'event of `follow`').find(([name]) => name === '`snapshot`')?.[1] ?? '';
    expect([...row.matchAll(/`(\w+)`/g)].map((match) => match[1])).toEqual(view);
  });

  it('name every kind of model error, and no other', () => {
    const kinds = unionIn('machines/turn.setup.ts', 'ModelErrorKind');
    expect(kinds.length).toBeGreaterThan(3);
    expect(sorted(namesIn(tableIn('Your provider', 'kind of `ModelError`')))).toEqual(sorted(kinds));
  });

  it('name every kind of record in the store, and no other', () => {
    expect(sorted(namesIn(tableIn('Storage', 'kind')))).toEqual(sorted(SUBLEVELS));
  });

  it('name the gates in the order of the chart', () => {
    const body = source('machines/recovery.machine.ts');
    const gates = [...body.matchAll(/^ {6}id: '(\w+)',\n {6}description:\s+'Gate /gm)].map(
      (match) => match[1] as string,
    );
    const resumed = /resumed: \{ id: 'resumed', type: 'final', description: 'Gate 11/.test(body) ? ['resumed'] : [];
    const named = tableIn('Recovery', 'no.').map((row) => row[1]?.replaceAll('`', ''));
    expect(named).toEqual([...gates, ...resumed]);
  });

  it('hold the invariants I1 to I15', () => {
    const ids = tableIn('Invariants', 'id').map(([id]) => id);
    expect(ids).toEqual(Array.from({ length: 15 }, (_, index) => `I${index + 1}`));
  });
});

describe('what the README names', () => {
  it('is there: every relative link and every anchor', () => {
    const relative = links.filter((link) => !/^https?:/.test(link));
    const broken = relative.filter((link) =>
      link.startsWith('#') ? !anchors.has(link.slice(1)) : !existsSync(join(root, link.split('#')[0] as string)),
    );
    expect(relative.length).toBeGreaterThan(5);
    expect(broken).toEqual([]);
  });

  it('is there: every npm script', () => {
    const scripts = [...readme.matchAll(/npm run ([\w:-]+)/g)].map((match) => match[1] as string);
    expect(scripts).toContain('demo');
    expect([...scripts, 'test'].filter((script) => manifest.scripts[script] === undefined)).toEqual([]);
  });

  it('is there: every entry point, and all of them are named', () => {
    const named = new Set([...readme.matchAll(/`durable-turn((?:\/[\w-]+)*)`/g)].map((match) => `.${match[1] ?? ''}`));
    const entries = Object.keys(manifest.exports).filter((path) => path !== './package.json');
    expect(sorted(named)).toEqual(sorted(entries));
  });

  it('is the version of Node that package.json asks for, and the tarball of this version', () => {
    const oldest = /(\d+\.\d+)/.exec(manifest.engines.node)?.[1] as string;
    expect(tableIn('What it does not do', 'what').find(([name]) => name === 'Node')?.[1]).toContain(oldest);
    expect(readme).toContain(`durable-turn-${manifest.version}.tgz`);
  });

  it('has the words of the design, and no others for the same things', () => {
    const avoided = /\b(?:workflows?|activit(?:y|ies)|replay\w*|threads?|savers?|managers?|helpers?|utils?)\b/gi;
    expect(readme.match(avoided)).toBeNull();
  });

  it('has of the example service what the tests run', () => {
    const shown = blocks.filter(({ section }) => section === 'In your service').map(({ code }) => code);
    for (const name of ['stream.ts', 'service.ts']) expect(shown).toContain(source(`test/service/program/${name}`));
  });

  it('begins with a complete example of at most 30 lines', () => {
    expect(blockIn('A complete example', 'js').trimEnd().split('\n').length).toBeLessThanOrEqual(30);
  });

  it('has code in languages that the other tests run or compile', () => {
    const known = ['ts', 'js', 'sh', 'mermaid', 'text'];
    expect(blocks.filter(({ language }) => !known.includes(language))).toEqual([]);
    expect(parts.length).toBeGreaterThan(17);
  });
});
