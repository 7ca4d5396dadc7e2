/**
 * Makes requests with a deadline, in case the server hangs.
 * @param requests get a signal that aborts them.
 * @param deadline how long they may take together, in milliseconds.
 * @throws what `requests` throws, or an error with the name `TimeoutError`.
 */
export async function withDeadline<T>(
  requests: (signal: AbortSignal) => Promise<T>,
  deadline: number,
): Promise<T> {
  const ending = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  // Not AbortSignal.timeout, which would also end a stream that was opened. The
  // client ignores the signal while it looks for credentials.
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      ending.abort();
      const error = new Error();
      error.name = "TimeoutError";
      reject(error);
    }, deadline);
  });
  try {
    return await Promise.race([requests(ending.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}
