/**
 * Owns what the tools of the demo have in common: the schema of their inputs, and how they report to a watcher.
 * Must not know any one of them.
 */
import { jsonSchema, type Schema, type ToolContext } from '../../index.js';
import type { Reported } from './wire.js';

/** An object of texts. */
export function texts<K extends string>(...names: readonly K[]): Schema<Readonly<Record<K, string>>> {
  const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]));
  const schema = { type: 'object', properties, required: [...names], additionalProperties: false };
  return jsonSchema(schema, (value) => {
    const given = value as Readonly<Record<string, unknown>> | null;
    const missing = names.find((name) => typeof given?.[name] !== 'string');
    return missing === undefined ? undefined : `${missing} must be a text`;
  });
}

/** For the watcher's timeline only. */
export const report = (call: ToolContext, reported: Reported): void => call.progress({ ...reported });
