/**
 * Owns that something is cut off, and who wants to know. Most of those who may look at the abort signal never do, so it
 * is made when somebody asks for it: a signal and an error with its stack for each call and each phase cost more than
 * the steps of the chart beside them. Must not know what is cut off.
 */
export class CutOff {
  private controller: AbortController | undefined;
  private why: (() => unknown) | undefined;
  private readonly listeners = new Set<() => void>();

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.why !== undefined) this.controller.abort(this.why());
    }
    return this.controller.signal;
  }

  get isAborted(): boolean {
    return this.why !== undefined;
  }

  /** Not called for what was aborted before. Gives back how to stop listening. */
  onAbort(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** The first reason counts, as it does for a signal. */
  abort(why: () => unknown): void {
    if (this.why !== undefined) return;
    this.why = why;
    this.controller?.abort(why());
    for (const listener of this.listeners) listener();
  }
}
