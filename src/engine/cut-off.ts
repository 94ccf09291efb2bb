/**
 * Owns an abort signal that most of those who may use it never look at: it is made when somebody asks for it.
 * Must not know what is cut off. A signal and an error with its stack for each call and each phase cost more than the
 * steps of the chart beside them.
 */
export class CutOff {
  private controller: AbortController | undefined;
  private why: (() => unknown) | undefined;

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

  /** The first reason counts, as it does for a signal. */
  abort(why: () => unknown): void {
    if (this.why !== undefined) return;
    this.why = why;
    this.controller?.abort(why());
  }
}
