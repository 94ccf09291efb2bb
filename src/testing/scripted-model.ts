/**
 * Owns a model that follows a script: for tests of turns and of one's own agent.
 * Must not be used where a user would have a real model.
 */
import { ModelError } from '../core/errors.js';
import type { Json } from '../core/json.js';
import type { AssistantPart, FinishReason } from '../core/messages.js';
import type { Model, ModelAnswer, ModelCall, ModelRequest } from '../core/model.js';

/** One answer of the script. */
export type ScriptedAnswer =
  | string
  | {
      readonly say?: string;
      readonly calls?: readonly { readonly tool: string; readonly input: Json; readonly id?: string }[];
      readonly finish?: FinishReason;
      readonly tokens?: number;
    }
  | {
      readonly fail: 'rateLimited' | 'overloaded' | 'network' | 'contextLength' | 'rejected' | 'auth' | 'other';
      readonly retryAfterMs?: number;
    }
  /** Never answers; ends only by its signal. */
  | { readonly hang: true; readonly say?: string };

export type Script =
  | readonly ScriptedAnswer[]
  | ((request: ModelRequest, call: ModelCall) => ScriptedAnswer | Promise<ScriptedAnswer>);

/**
 * A list gives its nth answer where the request holds n answers already, so that a recovered turn goes on where it was;
 * behind its end it says "done". An answer that leaves no message in the list is given again: use a function, which
 * decides from the request, for those.
 */
export function scriptedModel(script: Script): Model & { readonly requests: readonly ModelRequest[] } {
  const requests: ModelRequest[] = [];
  return {
    id: 'scripted',
    requests,
    async call(request, call) {
      requests.push(structuredClone(request));
      const answer = typeof script === 'function' ? await script(request, call) : (script[answers(request)] ?? 'done');
      return perform(answer, call);
    },
  };
}

/** Answers in the list: failed calls left no message. */
function answers({ messages }: ModelRequest): number {
  return messages.filter((message) => message.role === 'assistant').length;
}

async function perform(answer: ScriptedAnswer, call: ModelCall): Promise<ModelAnswer> {
  if (typeof answer === 'string') return perform({ say: answer }, call);
  if ('fail' in answer) {
    const options = answer.retryAfterMs === undefined ? {} : { retryAfterMs: answer.retryAfterMs };
    throw new ModelError(answer.fail, `scripted: ${answer.fail}`, options);
  }
  if (answer.say !== undefined) call.emit({ type: 'text', id: 'text', text: answer.say });
  if ('hang' in answer) return hang(call.signal);
  const content: AssistantPart[] = answer.say === undefined ? [] : [{ type: 'text', text: answer.say }];
  answer.calls?.forEach(({ tool, input, id }, index) => {
    content.push({ type: 'tool-call', toolCallId: id ?? `call_${index}`, toolName: tool, input });
  });
  const reason = answer.finish ?? ((answer.calls?.length ?? 0) > 0 ? 'tool-calls' : 'stop');
  const tokens = answer.tokens ?? 1;
  return { content, finish: { reason }, usage: { input: { total: tokens }, output: { total: tokens } } };
}

function hang(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}
