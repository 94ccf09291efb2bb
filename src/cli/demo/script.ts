/**
 * Owns the story of the demo: what the scripted model answers, and which effects the turn therefore must have.
 * Must not know how tools work or how often the process dies.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Message, Model } from '../../index.js';
import { type ScriptedAnswer, scriptedModel } from '../../testing/scripted-model.js';
import { PACKAGE_BEFORE } from './project.js';
import type { Expected, Story } from './story.js';

/** Of the session that the turn runs in. */
export const SESSION_ID = 'release-1.4.0';
export const TASK = 'Release version 1.4.0 of tide.';
export const INSTRUCTIONS = 'You release software. Look first, then act, and say at the end what was done.';

/** How long the model thinks. */
const MODEL_MS = 70;

interface ScriptedCall {
  readonly tool: string;
  readonly input: { readonly [name: string]: string };
}

interface Step {
  readonly say: string;
  readonly calls: readonly ScriptedCall[];
}

const read = (path: string): ScriptedCall => ({ tool: 'read_file', input: { path } });
const runTests = (path: string): ScriptedCall => ({ tool: 'run_tests', input: { path } });
const write = (path: string, text: string): ScriptedCall => ({ tool: 'write_file', input: { path, text } });
const append = (path: string, line: string): ScriptedCall => ({ tool: 'append_line', input: { path, line } });
const post = (to: string, text: string): ScriptedCall => ({ tool: 'post', input: { to, text } });
const publish = (to: string, text: string): ScriptedCall => ({ tool: 'publish', input: { to, text } });

const STEPS: readonly Step[] = [
  {
    say: 'I look at the project first.',
    calls: [read('package.json'), read('CHANGELOG.md'), runTests('tide.test.js')],
  },
  {
    say: 'The tests pass. I set the version and tag it.',
    calls: [
      write('package.json', PACKAGE_BEFORE.replace('1.3.0', '1.4.0')),
      append('CHANGELOG.md', '- 1.4.0: high water at springs'),
      post('tags', 'v1.4.0'),
    ],
  },
  {
    say: 'Now everything that can happen at once.',
    calls: [
      read('package.json'),
      write('NOTES.md', '# tide 1.4.0\n\nHigh water at springs.\n'),
      post('chat', 'tide 1.4.0 is out'),
      // Twice the same, and both are wanted: each has a key of its own.
      post('runners', 'start one small runner'),
      post('runners', 'start one small runner'),
      append('deploys.log', '1.4.0 on two small runners'),
      runTests('tide.test.js'),
    ],
  },
  {
    say: 'Both runners are up. I tell the users.',
    calls: [post('mail', 'tide 1.4.0: high water at springs'), write('status.json', '{ "released": "1.4.0" }\n')],
  },
  {
    say: 'The users know. The front page needs a yes from a person.',
    calls: [publish('front-page', 'tide 1.4.0: high water at springs')],
  },
];

const MODEL_ANSWERS = STEPS.length + 1;
const TOOL_CALLS = STEPS.reduce((sum, step) => sum + step.calls.length, 0);

/** The calls of the script, step by step, for a model that has to be told. */
export const checklist = (): string =>
  STEPS.map(({ calls }, index) => {
    const lines = calls.map(({ tool, input }) => `${tool} ${JSON.stringify(input)}`);
    return [`Step ${index + 1}`, ...lines].join('\n');
  }).join('\n\n');

/** Answers by the number of answers that are in the transcript: a turn that goes on gets the next one. */
export function releaseModel(): Model {
  return scriptedModel(async ({ messages }, _modelCall, { signal }): Promise<ScriptedAnswer> => {
    await pause(MODEL_MS, undefined, { signal });
    const step = STEPS[messages.filter(({ role }) => role === 'assistant').length];
    if (step === undefined) return summary(messages);
    return { say: step.say, calls: step.calls };
  });
}

function summary(messages: readonly Message[]): string {
  const parts = messages.flatMap((message) => (message.role === 'tool' ? message.content : []));
  const failed = parts.filter((part) => part.type === 'tool-result' && part.output.type.startsWith('error'));
  if (failed.length > 0) return `1.4.0 is not released as it should be: ${failed.length} calls failed.`;
  return `Released 1.4.0: ${parts.length} calls, all of them succeeded.`;
}

function labelOf(callId: string, toolName: string): string {
  const [response, index] = callId.split('.').slice(-2).map(Number);
  const calls = STEPS[(response ?? 0) - 1]?.calls ?? [];
  const call = calls[index ?? 0];
  if (call === undefined) return toolName;
  const name = nameOf(call);
  const twins = calls.filter((other) => nameOf(other) === name);
  return twins.length > 1 ? `${name} (${twins.indexOf(call) + 1})` : name;
}

const nameOf = ({ tool, input }: ScriptedCall): string => `${tool} ${input.to ?? input.path}`;

/** A round takes about three seconds. */
const MOST_MS = 60_000;

export const scriptedStory = (): Story => ({
  live: null,
  about: `a small release: ${MODEL_ANSWERS} model answers, ${TOOL_CALLS} tool calls, ${expectedEffects().reduce((sum, { times }) => sum + times, 0)} effects outside`,
  mostMs: MOST_MS,
  labelOf,
  expected: expectedEffects,
});

/** Identical calls are one row that is expected more than once. */
export function expectedEffects(): readonly Expected[] {
  const rows = new Map<string, Expected>();
  for (const call of STEPS.flatMap((step) => step.calls)) {
    const id = JSON.stringify(call);
    const known = rows.get(id);
    const made = known ?? expectedOf(call);
    if (made === undefined) continue;
    if (known === undefined) rows.set(id, made);
    else known.times += 1;
  }
  return [...rows.values()];
}

function expectedOf(call: ScriptedCall): Expected | undefined {
  const name = nameOf(call);
  const { path = '', text = '', line = '', to = '' } = call.input;
  switch (call.tool) {
    case 'post':
    case 'publish':
      return { kind: 'posted', name, to, text, times: 1 };
    case 'append_line':
      return { kind: 'appended', name, path, line, times: 1 };
    case 'write_file':
      return { kind: 'written', name, path, text, times: 1 };
    default:
      return undefined;
  }
}
