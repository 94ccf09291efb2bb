/**
 * Owns the answer to one question, for each tool: what happens if the turn that called it is resumed?
 * Must not know calls.
 */
import type { Effect } from '../../machines/index.js';
import { checkTools } from './tool-check.js';
import type { Tool, ToolSet } from './tools.js';

/** Flat, so that `console.table(describeTools(tools))` is a table. */
export interface ToolDescription {
  readonly tool: string;
  readonly effect: Effect | 'by input';
  readonly approval: 'never' | 'required' | 'denied' | 'by input';
  readonly unattended: 'refuse' | 'park';
  readonly ifResumed: string;
}

/** @throws {TypeError} for what is no set of tools, with the tool and the field. */
export function describeTools(tools: ToolSet): readonly ToolDescription[] {
  if (typeof tools !== 'object' || tools === null || Array.isArray(tools)) {
    throw new TypeError('describeTools needs an object of tools by name: describeTools({ send }).');
  }
  checkTools(tools);
  return Object.entries(tools).map(([name, tool]) => {
    const effect = typeof tool.effect === 'function' ? 'by input' : (tool.effect ?? 'external');
    return {
      tool: name,
      effect,
      approval: approvalOf(tool),
      unattended: tool.unattended ?? 'refuse',
      ifResumed: ifResumed(effect, tool),
    };
  });
}

function approvalOf({ approval = 'never' }: Tool): ToolDescription['approval'] {
  if (typeof approval === 'function') return 'by input';
  return typeof approval === 'string' ? approval : 'denied';
}

function ifResumed(effect: ToolDescription['effect'], tool: Tool): string {
  const external = tool.reconcile === undefined ? 'waits for a person to say' : 'asks reconcile';
  switch (effect) {
    case 'none':
      return 'runs again';
    case 'idempotent':
      return 'runs again with the same key';
    case 'external':
      return external;
    default:
      return `by its effect: runs again, or ${external}`;
  }
}
