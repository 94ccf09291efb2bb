/**
 * Owns `durable-turn show`: one session for a person to read.
 * Must not know where its records lie.
 */
import { isSettled } from '../../core/journal.js';
import type { CallRecord } from '../../core/records.js';
import { readSheet, type Sheet } from './sheet.js';
import { timelineOf } from './timeline.js';
import { FAILED, Refusal, type Verb } from './verb.js';
import { viewing } from './viewing.js';
import { cut, decisionOn, linesOf, moment, plural, row, stateOf } from './words.js';

export const show: Verb = {
  name: 'show',
  summary: 'one session: transcript, journal of its tool calls, timeline',
  takes: ['<folder>', '<session>'],
  explains:
    'Shows what is stored of a session, damaged records included; changes nothing. Long texts are cut, --json has them whole.',
  run: ({ folder, names: [sessionId = ''] }, output) =>
    viewing(folder, async ({ tables }) => {
      const sheet = await readSheet(tables, sessionId);
      if (sheet === undefined) throw new Refusal(FAILED, `there is no session ${JSON.stringify(sessionId)}`);
      const timeline = timelineOf(sheet);
      await output.tell({ ...sheet, timeline }, () => [
        ...headLines(sheet),
        ...transcriptLines(sheet),
        ...journalLines(sheet),
        ...titled(
          'Timeline',
          timeline.map(({ at, what }) => `  ${moment(at)}  ${what}`),
        ),
      ]);
      return sheet.damaged.length === 0 ? 0 : FAILED;
    }),
};

const titled = (title: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : ['', title, ...lines];

function headLines({ sessionId, head, checkpoint, damaged, quarantined }: Sheet): readonly string[] {
  const facts: [string, string][] = [['session', sessionId]];
  if (head === null) facts.push(['head', 'there is none, or it cannot be read']);
  else {
    facts.push(['agent', head.agent], ['state', stateOf(head)]);
    if (head.turnId !== null) facts.push(['turn', head.turnId]);
    if (head.ended?.reason !== undefined) facts.push(['reason', head.ended.reason]);
    if (head.waiting !== null)
      facts.push(['waits until', head.waiting.until === null ? 'a person comes' : moment(head.waiting.until)]);
    facts.push(['last progress', moment(head.lastProgressAt)]);
    facts.push(['attempts', `${head.attempts} without progress, ${head.recoveries} recoveries in all`]);
    facts.push(['context', JSON.stringify(head.context)]);
    facts.push(['revision', String(head.revision)]);
    if (head.outcomesDue.length > 0) facts.push(['outcome due', head.outcomesDue.join(', ')]);
  }
  if (checkpoint !== null) facts.push(['checkpoint', moment((checkpoint as { savedAt?: number }).savedAt)]);
  for (const { kind, key, damage } of damaged) facts.push(['DAMAGED', `${kind} ${key}: ${damage}`]);
  if (quarantined > 0) facts.push(['set aside', plural(quarantined, 'record')]);
  return facts.map((fact) => row([13], fact));
}

function transcriptLines({ archive, messages }: Sheet): readonly string[] {
  const lines: string[] = [];
  for (const [list, mark] of [
    [archive, '(archived) '],
    [messages, ''],
  ] as const) {
    for (const { message, meta } of list) {
      const [first = '', ...more] = linesOf(message).flatMap((text) => cut(text).split('\n'));
      lines.push(`  ${moment(meta.at)}  ${mark}${row([9], [meta.origin, first])}`);
      lines.push(...more.map((line) => `${' '.repeat(39)}${line}`));
    }
  }
  const sum = `${plural(messages.length, 'message')}${archive.length > 0 ? `, ${archive.length} more archived` : ''}`;
  return titled(`Transcript (${sum})`, lines);
}

function journalLines({ calls }: Sheet): readonly string[] {
  return titled(`Journal (${plural(calls.length, 'call')})`, calls.flatMap(callLines));
}

function callLines(call: CallRecord): readonly string[] {
  const doubt = call.doubt === null ? '' : ` (${call.doubt})`;
  const lines = [
    `  ${call.callId}  ${call.toolName}  ${call.effect}  ${call.state}${doubt}, dispatched ${plural(call.dispatch, 'time')}`,
    `    key     ${call.idempotencyKey}`,
    `    input   ${cut(JSON.stringify(call.input))}`,
  ];
  if (call.editedInput !== undefined) lines.push(`    edited  ${cut(JSON.stringify(call.editedInput))}`);
  for (const note of call.notes) lines.push(`    note    ${cut(JSON.stringify(note))}`);
  if (call.approval !== null) lines.push(`    asked   ${decisionOn(call.approval)}`);
  if (call.output !== null) lines.push(`    output  ${cut(JSON.stringify(call.output))}`);
  else if (isSettled(call)) lines.push('    output  not stored with its call, and its message is gone or damaged');
  return lines;
}
