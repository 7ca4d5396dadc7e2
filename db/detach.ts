/**
 * Runs work that handles its own failures, without waiting for it. If it fails all the
 * same, that is a fault of Foyer: the process warns of it, and goes on.
 */
export function detach(work: Promise<unknown>): void {
  work.catch((error: unknown) => process.emitWarning(String((error as Error)?.stack ?? error)));
}
