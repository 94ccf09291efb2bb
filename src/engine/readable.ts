/**
 * Owns what one damaged session means to whoever looks at all of them: it does not hide the others (I12);
 * `recover()` takes it out of the way. Must not know what is read.
 */
import { TurnError } from '../core/errors.js';

/** undefined where what is read is damaged. */
export async function readable<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (thrown) {
    if (thrown instanceof TurnError && thrown.code === 'TURN_DAMAGED') return undefined;
    throw thrown;
  }
}
