import type { components } from "./api.js";
import { FoyerError } from "./error.js";

type Schemas = components["schemas"];

/** Who made a change. */
export type ChangeAuthor = NonNullable<Schemas["FeedAuthor"]>;

/** Entries whose type this client knows: the schema also allows any other text as a type. */
type Known<E> = E extends { type: infer T } ? (string extends T ? never : E) : never;

/**
 * An entry of the change feed. Its `type` determines its `data`. A newer server may send
 * further types: leave these to `default` in a `switch`, which does nothing.
 */
export type Change = Known<Schemas["FeedEntry"]>;

/** Such as `room.updated`. */
export type ChangeType = Change["type"];

export interface ChangesOptions {
  /** A cursor: changes after it. By default changes from now on; `"0"` for all that are kept. */
  after?: string | undefined;
  /** Only these types; `room.*` for all types of a kind. */
  types?: readonly string[] | undefined;
  /** Ends the iterator. */
  signal?: AbortSignal | undefined;
}

/** The first and the longest delay before a reconnection. */
const RETRY_DELAY_MS = 250;
const MAX_RETRY_DELAY_MS = 15_000;

/** The server sends a heartbeat every 15 seconds. A connection without one for this long is dead. */
const SILENCE_TIMEOUT_MS = 45_000;

/** Sends a request to the path of the feed. */
type Ask = (
  query: Record<string, string>,
  headers: Record<string, string>,
  signal: AbortSignal,
) => Promise<Response>;

/**
 * Follows the change feed. After a lost connection or a restart of the server, it continues
 * after the last change.
 * @throws {FoyerError} if the server refuses, such as 403, or 410 for a cursor that is too old.
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
      // Without a cursor, a connection that is lost before the first change would skip some.
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

/** Whether a retry would fail again. */
const isFinal = (error: unknown): boolean =>
  error instanceof FoyerError && error.status < 500 && error.status !== 429 && error.status !== 408;

/** The changes in an event stream. @param end ends the connection. */
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
