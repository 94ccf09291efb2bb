/**
 * Owns the self-contained literal of a machine: one `createMachine({ ... })` with names in place of functions, which
 * Stately's importer reads. It drops what it cannot evaluate, silently: spreads, variables and functions.
 * Must not know which fields XState keeps built-in actions in; xstate-fields.ts turns those into names.
 */
import type { AnyStateMachine } from 'xstate';
import { namedConfig } from './xstate-fields.js';

const LINE = 110;
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

const quoted = (text: string): string =>
  text.includes("'") && !text.includes('"')
    ? JSON.stringify(text)
    : `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;

function literal(value: unknown, indent: string): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value !== 'object' || value === null) return `${value}`;
  const deeper = `${indent}  `;
  const parts = Array.isArray(value)
    ? value.map((item) => literal(item, deeper))
    : Object.entries(value).map(
        ([key, item]) => `${IDENTIFIER.test(key) ? key : quoted(key)}: ${literal(item, deeper)}`,
      );
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  if (parts.length === 0) return open + close;
  const space = Array.isArray(value) ? '' : ' ';
  const flat = `${open}${space}${parts.join(', ')}${space}${close}`;
  if (flat.length + indent.length <= LINE && !flat.includes('\n')) return flat;
  return `${open}\n${parts.map((part) => `${deeper}${part},\n`).join('')}${indent}${close}`;
}

export function literalOf(machine: AnyStateMachine): string {
  return [
    '// biome-ignore-all format: generated',
    `// The chart ${JSON.stringify(machine.id)} as one literal, generated: guards, actions and delays are names. It is for Stately's`,
    '// importer and other tools that read source text; nothing runs it.',
    "import { createMachine } from 'xstate';",
    '',
    `export const machine = createMachine(${literal(namedConfig(machine), '')});`,
    '',
  ].join('\n');
}
