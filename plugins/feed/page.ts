import { CURSOR_PATTERN, EVERYTHING, type TypeFilter } from "../../schemas/plain/feed.js";
import { InvalidData } from "../../schemas/validate.js";
import { Refusal } from "../http/errors.js";
import { type FeedItem, type FeedStore, itemsOf } from "./feed-items.js";

/** A part of the feed. */
export interface FeedPage {
  readonly items: readonly FeedItem[];
  /** After the last entry that was looked at. */
  readonly cursor: number;
  /** Whether there are entries after the cursor. */
  readonly more: boolean;
}

/** How many entries are read at a time. */
const ENTRIES_PER_READ = 500;

/** How many entries one page looks at, at most. Few of them may be of the selected types. */
const MAX_LOOKED = 10_000;

/**
 * Reads entries of the feed from the log.
 * @param after the number after which it begins.
 * @param limit how many entries at most.
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
  // Nearly every entry is shown without a filter, and one tells that there are more.
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

/** Why a cursor is refused. */
export type CursorProblem = "malformed" | "future" | "expired";

const CURSOR = new RegExp(CURSOR_PATTERN);

/**
 * Checks a cursor of a client.
 * @param text undefined for the present moment.
 * @returns the number of the entry after which the feed begins, or why it does not.
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
  future: "May not be a cursor of the future.",
};

/** The refusal of a cursor. @param name the field that holds it. */
export function cursorRefusal(problem: CursorProblem, name: string): Error {
  if (problem !== "expired") {
    return new InvalidData({ [name]: [PROBLEMS[problem]] });
  }
  const detail = "Entries after this cursor are not kept any more.";
  return new Refusal(410, detail, {}, "cursor_expired");
}
