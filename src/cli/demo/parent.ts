/**
 * Owns the child's end of the IPC channel: the first message, the ones behind it, telling, and ending when the director is gone.
 * Must not know what the child does.
 */

/** The director's first message. A child whose director dies has nothing left to do, so it ends. */
export function started<T>(): Promise<T> {
  process.once('disconnect', () => process.exit(1));
  return new Promise((resolve) => process.once('message', (message) => resolve(message as T)));
}

/** Every further message of the director's; the result ends the listening. */
export function listen<T>(hear: (message: T) => void): () => void {
  const listener = (message: unknown): void => hear(message as T);
  process.on('message', listener);
  return () => void process.off('message', listener);
}

export function tell<T>(message: T): void {
  // Between the director's end and the `disconnect` above nobody listens, which is no fault of the child's.
  if (process.connected) process.send?.(message, () => undefined);
}

/** The child has done its work: with the channel closed, nothing keeps it from ending. */
export function done(): void {
  process.removeAllListeners('disconnect');
  if (process.connected) process.disconnect();
}
