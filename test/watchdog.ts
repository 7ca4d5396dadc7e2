import t from "tap";

// What tests say that never end, or that an error ends, and how the former end.

/** How long a process may stay after its last test, in seconds. */
const LINGER = 30;

/** Says on stderr which tests run when the time of tap for this process is over, or when an error ends it. */
export function nameWhatHangs(): void {
  const names = () => namesOf(t.activeSubtests).join(" > ") || "no test";
  const onMessage = (message: unknown) => {
    if ((message as { tapAbort?: string }).tapAbort !== "timeout") return;
    process.stderr.write(`Timeout in ${names()}. ${openThings()}\n`);
  };
  // Node then shows the error, and ends the process.
  process.on("uncaughtExceptionMonitor", () => {
    process.stderr.write(`Nothing caught this in ${names()}:\n`);
  });
  // tap has a listener that ends these tests.
  process.prependListener("message", onMessage as () => void);
}

/**
 * Fails and ends this process if something stays open after the last test, which would
 * keep the process until its time is over.
 */
export function endAfterTests(): void {
  let idleSince: number | undefined;
  const look = () => {
    if (!t.idle) return (idleSince = undefined);
    idleSince ??= process.uptime();
    if (process.uptime() - idleSince < LINGER) return;
    t.fail(`Some test has left something open. ${openThings()}`);
    process.exit(1);
  };
  setInterval(look, 1000).unref();
}

/** The names of a running test, of the one in it, and so on. */
function namesOf(running: typeof t.activeSubtests): string[] {
  return [...running].flatMap((test) => [
    test.name,
    ...("activeSubtests" in test
      ? namesOf(test.activeSubtests as typeof running)
      : []),
  ]);
}

/** What keeps this process. */
const openThings = () => `Open: ${process.getActiveResourcesInfo().join(", ")}`;
