import { readable, type Readable, writable, type Writable } from "svelte/store";
import type { Polls } from "../../client/index.js";
import { t } from "../i18n/index.js";
import type { Shelf } from "../lib/storage.js";
import { codeOf, messageOf, type Session } from "./session.js";

// The common parts of questions and polls.

/** A list of a room's items, as far as it is known. */
export type Listing<T> =
  | { readonly is: "loading" }
  | { readonly is: "known"; readonly items: readonly T[] }
  /** The server ended it, for a reason that it names by a code. */
  | { readonly is: "lost"; readonly code: string };

/**
 * The lists that an iteration gives. It begins with the first subscriber, and ends with
 * the last one. After an interruption it loads again.
 */
export const listingOf = <T>(lists: AsyncIterable<readonly T[]>): Readable<Listing<T>> =>
  readable<Listing<T>>({ is: "loading" }, (set) => {
    const iterator = lists[Symbol.asyncIterator]();
    let isOver = false;
    const follow = async () => {
      try {
        for (;;) {
          const next = await iterator.next();
          if (isOver) return;
          if (next.done) return set({ is: "lost", code: "client.closed" });
          set({ is: "known", items: next.value });
        }
      } catch (error) {
        if (!isOver) set({ is: "lost", code: codeOf(error) ?? "client.closed" });
      }
    };
    set({ is: "loading" });
    void follow();
    return () => {
      isOver = true;
      void iterator.return?.();
    };
  });

/**
 * The user's changes that the server has not confirmed yet, by the id of the item: pages show
 * them at once.
 */
export class Intents<V> implements Readable<ReadonlyMap<string, V>> {
  readonly #store = writable<ReadonlyMap<string, V>>(new Map());
  readonly subscribe = this.#store.subscribe;
  readonly #last = new Map<string, object>();

  /**
   * @param work makes the change.
   * @throws the error of the work, after the change is dropped.
   */
  async want(id: string, value: V, work: () => Promise<unknown>): Promise<void> {
    const own = {};
    this.#last.set(id, own);
    this.#change((all) => all.set(id, value));
    try {
      await work();
    } finally {
      // A later wish for the same thing counts instead.
      if (this.#last.get(id) === own) {
        this.#last.delete(id);
        this.#change((all) => all.delete(id));
      }
    }
  }

  #change(work: (all: Map<string, V>) => unknown): void {
    this.#store.update((before) => {
      const all = new Map(before);
      work(all);
      return all;
    });
  }
}

/**
 * A draft of the user, which outlives a closed page.
 * @param read parses the stored value, which may be anything; undefined for none.
 * @param empty the initial value; it is not stored.
 */
export function kept<T>(
  shelf: Shelf,
  key: string,
  read: (value: unknown) => T | undefined,
  empty: T,
): Writable<T> {
  const asText = (value: T) => JSON.stringify(value);
  const nothing = asText(empty);
  const store = writable<T>(readKept(shelf.getItem(key), read) ?? empty);
  const keep = (value: T) => {
    const text = asText(value);
    if (text === nothing) shelf.removeItem(key);
    else shelf.setItem(key, text);
    return value;
  };
  return {
    subscribe: store.subscribe,
    set: (value) => store.set(keep(value)),
    update: (change) => store.update((value) => keep(change(value))),
  };
}

function readKept<T>(text: string | null, read: (value: unknown) => T | undefined): T | undefined {
  if (text === null) return undefined;
  try {
    return read(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** A text that was kept. */
export const asText = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;

/** Whether a command that failed with this error may have been executed. */
export const isUnsure = (error: unknown): boolean =>
  ["client.disconnected", "client.timeout", "server.doubtful"].includes(codeOf(error) ?? "");

/**
 * The user's votes in the polls of a room. `wishes` has what the server has not confirmed yet.
 * A refusal becomes a notice.
 */
export function votingIn(session: Session, polls: Polls) {
  const wishes = new Intents<readonly string[]>();
  return {
    wishes,
    /** @param options none withdraws the vote. */
    async vote(id: string, options: readonly string[]): Promise<void> {
      try {
        await wishes.want(id, options, () => polls.vote(id, options));
      } catch (error) {
        session.notices.error(t("common.failed", { reason: messageOf(error) }));
      }
    },
  };
}
