/**
 * Owns which holds were told already: in a later round of `recover({ everyMs })`, a turn that is held as before is no
 * news. Must not know gates or why a turn is held.
 */
import type { InterruptedEventType } from '../core/events.js';

export type Tell = (type: InterruptedEventType, gate: string, reason: string) => void;

export class Holds {
  /** The hold that was told last, by turn. */
  private readonly told = new Map<string, string>();

  /** What one walk of a turn through the gates says, without what is no news. `again`: a later round asks. */
  telling(turnId: string, again: boolean, tell: Tell): Tell {
    const before = again ? this.told.get(turnId) : undefined;
    let putOff = (): void => undefined;
    return (type, gate, reason) => {
      if (type === 'interrupted_turn_resuming' && before !== undefined) {
        // That it is tried again is news as soon as something else comes of it.
        putOff = () => tell(type, gate, reason);
        return;
      }
      const hold = `${gate}\n${reason}`;
      if (type !== 'interrupted_turn_held') this.told.delete(turnId);
      else if (hold === before) return;
      else this.told.set(turnId, hold);
      putOff();
      tell(type, gate, reason);
    };
  }

  /**
   * Whatever is no longer held was taken up, ended or deleted; another hold of it is another one. One whose route is busy
   * is held: its gates are asked when it has the route.
   */
  keepOnly(held: ReadonlySet<string>): void {
    for (const turnId of this.told.keys()) if (!held.has(turnId)) this.told.delete(turnId);
  }
}
