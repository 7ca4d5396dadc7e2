import type { components } from "./api.js";
import { FoyerError } from "./error.js";

type Schemas = components["schemas"];

/** The author of a change. */
export type ChangeAuthor = NonNullable<Schemas["FeedAuthor"]>;

/** The entries whose type this client knows. The schema also allows any other string as a type. */
type Known<E> = E extends { type: infer T } ? (string extends T ? never : E) : never;

/**
 * An entry of the change feed. Its `type` determines its `data`. A newer server may send types that
 * this client does not know: ignore unknown types in the `default` case of a `switch`.
 */
export type Change = Known<Schemas["FeedEntry"]>;

/** The type of a change, such as `room.updated`. */
export type ChangeType = Change["type"];

export interface ChangesOptions {
  /**
   * Cursor after which changes are read. By default, only changes from now on are read; `"0"` reads
   * all changes that are still kept.
   */
  after?: string | undefined;
  /** Only changes of these types; `room.*` stands for all types of a kind. */
  types?: readonly string[] | undefined;
  /** Ends the iterator. */
  signal?: AbortSignal | undefined;
}

/** The initial and the maximum delay before a reconnection, in milliseconds. */
const RETRY_DELAY_MS = 250;
const MAX_RETRY_DELAY_MS = 15_000;

/** The server sends a heartbeat every 15 seconds. A connection that is silent for this long is considered dead. */
const SILENCE_TIMEOUT_MS = 45_000;

/** Sends a request to the feed. */
type Ask = (
  query: Record<string, string>,
  headers: Record<string, string>,
  signal: AbortSignal,
) => Promise<Response>;

/**
 * Follows the change feed. After a lost connection or a server restart, the iteration resumes after
 * the last change.
 * @throws {FoyerError} if the server refuses, for example with 403, or with 410 for a cursor that
 * is too old.
 */
export async function* followChanges(
  ask: Ask,
  { after, types, signal }: ChangesOptions,
): AsyncGenerator<Change, void, undefined> {
  const query: Record<string, string> = types ? { types: types.join() } : {};
  let cursor = after;
  let pause = RETRY_DELAY_MS;
  while (!signal?.aborted) {
    const stop = new AbortController();
    const end = () => stop.abort();
    signal?.addEventListener("abort", end, { once: true });
    try {
      // Without a cursor, changes would be skipped if the connection were lost before the first
      // change.
      if (cursor === undefined) {
        const answer = await ask(query, {}, stop.signal);
        cursor = ((await answer.json()) as { cursor: string }).cursor;
      }
      const answer = await ask(
        { ...query, after: cursor },
        { accept: "text/event-stream" },
        stop.signal,
      );
      for await (const change of changesIn(answer, end)) {
        pause = RETRY_DELAY_MS;
        cursor = change.cursor;
        yield change;
      }
    } catch (error) {
      if (isFinal(error)) throw error;
    } finally {
      signal?.removeEventListener("abort", end);
      stop.abort();
    }
    await sleep(pause * (0.5 + Math.random()), signal);
    pause = Math.min(2 * pause, MAX_RETRY_DELAY_MS);
  }
}

/** Whether a retry would fail with the same error. */
const isFinal = (error: unknown): boolean =>
  error instanceof FoyerError && error.status < 500 && error.status !== 429 && error.status !== 408;

/**
 * Yields the changes in an event stream.
 * @param end closes the connection.
 */
async function* changesIn(
  { body }: Response,
  end: () => void,
): AsyncGenerator<Change, void, undefined> {
  const reader = body!.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const timer = setTimeout(end, SILENCE_TIMEOUT_MS);
    const { done, value } = await reader.read().finally(() => {
      clearTimeout(timer);
    });
    if (done) return;
    rest += decoder.decode(value, { stream: true });
    const events = rest.split("\n\n");
    rest = events.pop()!;
    for (const event of events) {
      const data = event
        .split("\n")
        .find((line) => line.startsWith("data: "))
        ?.slice("data: ".length);
      if (data !== undefined) yield JSON.parse(data) as Change;
    }
  }
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done, { once: true });
  });
}
