/**
 * Lets work go on that handles its own failures, so nothing has to wait for it. If it
 * fails all the same, that is a fault of Foyer: a warning tells of it, and the process
 * goes on.
 */
export function detach(work: Promise<unknown>): void {
  work.catch((error: unknown) =>
    process.emitWarning(String((error as Error)?.stack ?? error)),
  );
}
