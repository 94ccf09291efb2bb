// The model of the crash tests: it follows a script and refuses, as providers do, a list with an unpaired call.
import { scriptedModel } from 'durable-turn/testing';

const call = (tool, input = {}) => ({ tool, input });

const SCRIPTS = {
  /** All three effects in one answer; the last two calls are the same one twice, and both are meant. */
  batch: [{ calls: [call('lookup'), call('put'), call('mail'), call('charge'), call('charge')] }, 'done'],
  /** The one in the middle cannot be reconciled. */
  review: [{ calls: [call('lookup'), call('post'), call('put')] }, 'done'],
  talk: ['done'],
  /** Ten batches, for ten processes. */
  row: [...Array.from({ length: 10 }, (_, n) => ({ calls: [call('put', { n }), call('mail', { n })] })), 'done'],
};

/** Every message asks for two batches and a last word; the inputs are as often the same as not. */
function traffic({ messages }) {
  const asked = messages.findLastIndex(({ role, content }) => role === 'user' && content[0].text.startsWith('order '));
  const answers = messages.slice(asked).filter(({ role }) => role === 'assistant').length;
  if (answers === 0) return { calls: [call('lookup'), call('put'), call('mail'), call('charge'), call('charge')] };
  return answers === 1 ? { calls: [call('charge'), call('mail', { again: true })] } : 'done';
}

export function makeModel(moments, witness, script) {
  const scripted = scriptedModel(script === 'traffic' ? traffic : SCRIPTS[script]);
  let calls = 0;
  return {
    id: 'scripted',
    async call(request, { sessionId, ...rest }) {
      calls += 1;
      checkPairs(request.messages);
      witness.write({ what: 'model', session: sessionId });
      await moments.at(`before model call ${calls} of this process is answered`, rest.signal);
      rest.signal.throwIfAborted();
      return scripted.call(request, { sessionId, ...rest });
    },
  };
}

/** I10: behind every answer with calls stands one message with exactly one result for each, in its order. */
function checkPairs(messages) {
  messages.forEach((message, index) => {
    const calls = message.role === 'assistant' ? idsOf(message, 'tool-call') : [];
    const next = messages[index + 1];
    const results = next?.role === 'tool' ? idsOf(next, 'tool-result') : [];
    if (message.role === 'assistant' && calls.join() !== results.join()) {
      process.stderr.write(`I10: calls ${calls} have the results ${results}\n`);
      process.exit(3);
    }
  });
}

const idsOf = ({ content }, type) => content.filter((part) => part.type === type).map((part) => part.toolCallId);
