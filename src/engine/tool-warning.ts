/**
 * Owns the word to the operator about a function of a tool that gave something wrong: the engine makes the careful
 * choice and goes on, and that must not go unnoticed. Must not know which choice that is.
 */
import { MUST_GIVE } from '../core/tool-check.js';

/** Both texts are read behind the name of the field: what it did, and what the engine does instead. */
export function warnOfTool(toolName: string, field: keyof typeof MUST_GIVE, did: string, instead: string): void {
  process.emitWarning(
    `tools.${toolName}.${field} ${did}; it must give ${MUST_GIVE[field]}. ${instead}`,
    'DurableTurnWarning',
  );
}
