import { readable, type Readable, writable, type Writable } from "svelte/store";
import type { Polls, PollVote } from "../../client/index.js";
import { t } from "../i18n/index.js";
import type { Shelf } from "../lib/storage.js";
import { codeOf, messageOf, type Session } from "./session.js";

// Shared by questions and polls.

/** State of a room's list of items. */
export type Listing<T> =
  | { readonly is: "loading" }
  | { readonly is: "known"; readonly items: readonly T[] }
  /** The server ended the list; `code` is the reason. */
  | { readonly is: "lost"; readonly code: string };

/**
 * Returns a store of the latest list from an iterable. The iteration starts with the first
 * subscriber and ends when the last subscriber leaves. A subscriber after that starts a new
 * iteration.
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

/** The user's changes that the server has not confirmed yet, by item id. Pages show such changes immediately. */
export class Intents<V> implements Readable<ReadonlyMap<string, V>> {
  readonly #store = writable<ReadonlyMap<string, V>>(new Map());
  readonly subscribe = this.#store.subscribe;
  readonly #last = new Map<string, object>();

  /**
   * Shows a change until its work has settled.
   * @param work makes the change.
   * @throws any error that `work` throws, after the change has been dropped.
   */
  async want(id: string, value: V, work: () => Promise<unknown>): Promise<void> {
    const own = {};
    this.#last.set(id, own);
    this.#change((all) => all.set(id, value));
    try {
      await work();
    } finally {
      // A later change to the same item takes precedence.
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
 * Returns a store of a user's draft, which outlives the page.
 * @param read parses the stored value, which may be anything, and returns undefined if the value is
 * invalid.
 * @param empty the initial value, which is not stored.
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

/** Parses stored text. */
export const asText = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;

/** Whether a command that failed with this error may have been executed. */
export const isUnsure = (error: unknown): boolean =>
  ["client.disconnected", "client.timeout", "server.doubtful"].includes(codeOf(error) ?? "");

/**
 * Casts the user's votes in a room's polls. `wishes` contains the votes that the server has not
 * confirmed yet. A refusal is shown as a notice.
 */
export function votingIn(session: Session, polls: Polls) {
  const wishes = new Intents<PollVote>();
  /**
   * Whether a vote counts although it is refused: it is sent again if its response was lost, and by
   * then its quiz may have ended.
   */
  async function isCounted(id: string, { options }: PollVote): Promise<boolean> {
    if (!options || options.length === 0) return false;
    const listed = await session.live.call("poll.list", { room: polls.room }).catch(() => []);
    const counted = listed.find((poll) => poll.id === id)?.answers ?? [];
    return counted.join() === options.join();
  }
  return {
    wishes,
    /** @returns whether the server accepted the vote. */
    async vote(id: string, vote: PollVote): Promise<boolean> {
      try {
        await wishes.want(id, vote, () => polls.vote(id, vote));
        return true;
      } catch (error) {
        if (codeOf(error) === "poll.vote" && (await isCounted(id, vote))) return true;
        session.notices.error(
          isUnsure(error) ? t("polls.unsure") : t("common.failed", { reason: messageOf(error) }),
        );
        return false;
      }
    },
  };
}
