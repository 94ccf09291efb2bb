// A process whose tool gives more in one turn than its heap can hold at once. `cut` dies in the middle of it, `rest`
// takes the turn up again.
import { createTurnEngine, jsonSchema, tool } from 'durable-turn';
import { openLevelStore } from 'durable-turn/level';

const [path, part] = process.argv.slice(2);
const CALLS = 100;
const OUTPUT_CHARS = 1_500_000;

const read = tool({
  description: 'Reads a large file.',
  input: jsonSchema({ type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }),
  effect: 'idempotent',
  execute({ n }) {
    if (part === 'cut' && n === CALLS - 10) process.kill(process.pid, 'SIGKILL');
    return `${n} `.padEnd(OUTPUT_CHARS, 'x');
  },
});
const model = {
  id: 'reader',
  async call({ messages }) {
    const n = messages.filter(({ role }) => role === 'tool').length;
    const facts = { usage: { input: {}, output: {} } };
    if (n === CALLS) return { ...facts, content: [{ type: 'text', text: 'done' }], finish: { reason: 'stop' } };
    const call = { type: 'tool-call', toolCallId: 'c', toolName: 'read', input: { n } };
    return { ...facts, content: [call], finish: { reason: 'tool-calls' } };
  },
};
const store = await openLevelStore({ path });
const limits = { maxIterations: 0, outputBytes: 1_000 };
const engine = createTurnEngine({ agent: 'reader', store, model, tools: { read }, limits, loopDetector: false });
const { resumed } = await engine.recover();
const turn = resumed[0] ?? (await engine.startTurn({ sessionId: 's', messageId: 'm', input: 'go', attended: false }));
const { status } = await turn.outcome;
const session = await engine.session('s');
const first = await session.output(`${turn.turnId}.00001.0000`);
console.log(JSON.stringify({ status, firstChars: first.value.length }));
await engine.close();
await store.close();
