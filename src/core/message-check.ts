/**
 * Owns the check of messages that come from outside: every part is one of the canonical kinds, with its fields.
 * Must not know where they come from. What is wrong is told with its path, before anything is written.
 */
import { checkJson } from './json.js';
import type { Message, ToolOutput, UserPart } from './messages.js';

type Fields = { readonly [name: string]: unknown };
type Check = (value: unknown, path: string) => void;

const fail = (path: string, must: string): never => {
  throw new TypeError(`${path} must be ${must}.`);
};
const text: Check = (value, path) => {
  if (typeof value !== 'string') fail(path, 'a text');
};
const flag: Check = (value, path) => {
  if (typeof value !== 'boolean') fail(path, 'true or false');
};
const present: Check = (value, path) => {
  if (value === undefined) fail(path, 'given');
};
const kind: Check = (value, path) => {
  if (typeof value !== 'string' || !/^[^.]+\../.test(value)) fail(path, '"<provider>.<block>"');
};
const fileData: Check = (value, path) => {
  const fields: Readonly<Record<string, string>> = { data: 'data', url: 'url', text: 'text', reference: 'reference' };
  const data = recordAt(value, path);
  const field = typeof data.type === 'string' ? fields[data.type] : undefined;
  if (field === undefined) fail(`${path}.type`, "'data', 'url', 'text' or 'reference'");
  else if (field === 'reference') recordAt(data[field], `${path}.${field}`);
  else text(data[field], `${path}.${field}`);
};
/** Providers have parts of their own; of each, what is read here of it has to be there. */
const contentParts: Check = (value, path) => {
  if (!Array.isArray(value)) fail(path, 'an array of parts');
  for (const [index, part] of (value as unknown[]).entries()) {
    const fields = recordAt(part, `${path}[${index}]`);
    text(fields.type, `${path}[${index}].type`);
    if (fields.type === 'text') text(fields.text, `${path}[${index}].text`);
  }
};
const output: Check = (value, path) => {
  const { type, value: content, reason } = recordAt(value, path);
  const types = ['text', 'error-text', 'json', 'error-json', 'execution-denied', 'content'];
  if (!types.includes(type as string)) fail(`${path}.type`, types.join(', '));
  else if (type === 'text' || type === 'error-text') text(content, `${path}.value`);
  else if (type === 'content') contentParts(content, `${path}.value`);
  else if (type !== 'execution-denied') present(content, `${path}.value`);
  else if (reason !== undefined) text(reason, `${path}.reason`);
};

/** The fields each kind of part has to have. */
const PARTS: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  text: { text },
  file: { mediaType: text, data: fileData },
  reasoning: { text },
  'reasoning-file': { mediaType: text, data: fileData },
  custom: { kind },
  'tool-call': { toolCallId: text, toolName: text, input: present },
  'tool-result': { toolCallId: text, toolName: text, output },
  'tool-approval-request': { approvalId: text, toolCallId: text },
  'tool-approval-response': { approvalId: text, approved: flag },
};

const PARTS_OF: Readonly<Record<Exclude<Message['role'], 'system'>, readonly string[]>> = {
  user: ['text', 'file', 'custom'],
  assistant: [
    'text',
    'file',
    'reasoning',
    'reasoning-file',
    'custom',
    'tool-call',
    'tool-result',
    'tool-approval-request',
  ],
  tool: ['tool-result', 'tool-approval-response'],
};

function recordAt(value: unknown, path: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) fail(path, 'an object');
  return value as Fields;
}

function checkParts(value: unknown, role: keyof typeof PARTS_OF, path: string): void {
  if (!Array.isArray(value)) fail(path, 'an array of parts');
  for (const [index, part] of (value as unknown[]).entries()) checkPart(part, role, `${path}[${index}]`);
}

function checkPart(part: unknown, role: keyof typeof PARTS_OF, path: string): void {
  const fields = recordAt(part, path);
  const type = fields.type as string;
  if (!PARTS_OF[role].includes(type)) fail(`${path}.type`, PARTS_OF[role].join(', '));
  for (const [name, check] of Object.entries(PARTS[type] ?? {})) check(fields[name], `${path}.${name}`);
}

/** Whether a value is an output as the model reads it, and not data that only has such a `type`. */
export function isToolOutput(value: unknown): value is ToolOutput {
  try {
    output(value, 'output');
    return true;
  } catch {
    return false;
  }
}

/** One part of an answer. @throws {TypeError} names the field and what it has to be. */
export function checkAssistantPart(part: unknown, path: string): void {
  checkPart(part, 'assistant', path);
}

/**
 * @throws {TypeError} names the part and what it has to be.
 * @throws {TurnError} TURN_INVALID_VALUE for what is no JSON.
 */
export function checkUserParts(value: unknown, path: string): asserts value is readonly UserPart[] {
  checkParts(value, 'user', path);
  checkJson(value, path);
}

/** The same for whole messages. */
export function checkMessages(value: unknown, path: string): asserts value is readonly Message[] {
  if (!Array.isArray(value)) fail(path, 'an array of canonical messages');
  for (const [index, message] of (value as unknown[]).entries()) {
    const at = `${path}[${index}]`;
    const { role, content } = recordAt(message, at);
    if (role === 'system') text(content, `${at}.content`);
    else if (typeof role === 'string' && Object.hasOwn(PARTS_OF, role)) {
      checkParts(content, role as keyof typeof PARTS_OF, `${at}.content`);
    } else fail(`${at}.role`, 'system, user, assistant or tool');
  }
  checkJson(value, path);
}
