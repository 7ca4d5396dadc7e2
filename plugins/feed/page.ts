import { CURSOR_PATTERN, EVERYTHING, type TypeFilter } from "../../schemas/plain/feed.js";
import { InvalidData } from "../../schemas/validate.js";
import { Refusal } from "../http/errors.js";
import { type FeedItem, type FeedStore, itemsOf } from "./feed-items.js";

/** A page of the feed. */
export interface FeedPage {
  readonly items: readonly FeedItem[];
  /** The number of the last entry that the page covers. */
  readonly cursor: number;
  /** Whether there are entries after the cursor. */
  readonly more: boolean;
}

const ENTRIES_PER_READ = 500;

/** Maximum number of entries examined per page, because few entries may have a selected type. */
const MAX_LOOKED = 10_000;

/**
 * Reads a page of the feed from the log.
 * @param after the number of the entry after which the page begins.
 * @param limit the maximum number of items.
 */
export async function readPage(
  store: FeedStore,
  world: string,
  after: number,
  filter: TypeFilter,
  limit: number,
): Promise<FeedPage> {
  const items: FeedItem[] = [];
  let cursor = after;
  // Without a filter, nearly every entry is shown, so reading one entry beyond the limit reveals
  // whether more entries exist.
  const stretch = filter === EVERYTHING ? Math.min(limit + 1, ENTRIES_PER_READ) : ENTRIES_PER_READ;
  for (let looked = 0; looked < MAX_LOOKED; looked += stretch) {
    const { entries } = await store.log.since(world, cursor, stretch);
    items.push(...(await itemsOf(store, world, entries, filter)));
    if (items.length > limit) {
      const page = items.slice(0, limit);
      return { items: page, cursor: page.at(-1)!.seq, more: true };
    }
    cursor = entries.at(-1)?.seq ?? cursor;
    if (entries.length < stretch) return { items, cursor, more: false };
  }
  return { items, cursor, more: true };
}

/** The reason why a cursor was rejected. */
export type CursorProblem = "malformed" | "future" | "expired";

const CURSOR = new RegExp(CURSOR_PATTERN);

/**
 * Validates a client's cursor.
 * @param text the cursor; undefined for the current head of the log.
 * @returns the number of the entry after which the feed begins, or the problem with the cursor.
 */
export async function positionOf(
  { log }: FeedStore,
  world: string,
  text: string | undefined,
): Promise<number | CursorProblem> {
  if (text !== undefined && !CURSOR.test(text)) return "malformed";
  const [head] = await log.heads([world]);
  if (text === undefined) return head!.seq;
  const after = Number(text);
  if (after > head!.seq) return "future";
  const floor = await log.floor(world);
  if (after === 0) return floor;
  return after < floor ? "expired" : after;
}

const PROBLEMS = {
  malformed: "Must be a cursor of the change feed.",
  future: "Must not be a future cursor.",
};

/**
 * Builds the error for a rejected cursor.
 * @param name the field that contains the cursor.
 */
export function cursorRefusal(problem: CursorProblem, name: string): Error {
  if (problem !== "expired") {
    return new InvalidData({ [name]: [PROBLEMS[problem]] });
  }
  const detail = "Entries after this cursor are no longer kept.";
  return new Refusal(410, detail, {}, "cursor_expired");
}
