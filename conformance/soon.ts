import { setTimeout as delay } from "node:timers/promises";

/** Fails unless a promise settles soon. */
export async function soon<T>(
  promise: Promise<T>,
  milliseconds = 30_000,
): Promise<T> {
  const signal = new AbortController();
  const late = delay(milliseconds, undefined, signal).then(() => {
    throw new Error(`not within ${milliseconds} ms`);
  });
  late.catch(() => {});
  try {
    return await Promise.race([promise, late]);
  } finally {
    signal.abort();
  }
}
