import { unescape } from "node:querystring";
import type { FastifyRequest } from "fastify";
import type { ListPosition, PageSelection } from "../db/contract/store.js";
import { InvalidData } from "../schemas/validate.js";
import type { PageQuery } from "../schemas/values.js";

/** A page's position in a list. */
export interface PagePosition {
  /** The number of this page, starting at 1. */
  page: number;
  pageSize: number;
  /** Total number of entries in the list. */
  count: number;
}

/**
 * Returns the links to the next and the previous page of a list. The links preserve the path and
 * all other query parameters verbatim.
 * @returns absolute URLs, or null if there is no such page. Past the end, `previous` is the last
 * page that has entries.
 */
export function pageLinks(
  request: FastifyRequest,
  { page, pageSize, count }: PagePosition,
): { next: string | null; previous: string | null } {
  const last = Math.ceil(count / pageSize);
  return {
    next: page < last ? linkTo(request, "page", page + 1) : null,
    previous: page > 1 && last > 0 ? linkTo(request, "page", Math.min(page - 1, last)) : null,
  };
}

/** A list's order, which gives each item a sort key (its place). */
export interface ListOrder<T> {
  /** Identifies the order among the orders of all lists, because a cursor is valid for only one order. */
  readonly name: string;
  /** The types of the values in a sort key. */
  readonly types: readonly ("number" | "string")[];
  /** Returns an item's sort key. */
  readonly placeOf: (item: T) => ListPosition;
}

/** A page of a list, as read. */
interface ReadPage<T> {
  /** Total number of entries in the list. */
  readonly count: number;
  readonly items: readonly T[];
}

/**
 * Reads the page that a query selects, by page number or by cursor.
 * @param read reads a page of the list.
 * @returns the page and its links. A page selected by a cursor has no previous link.
 * @throws {InvalidData} if the cursor is invalid, or if it is sent along with a page number.
 */
export async function readPage<T, P extends ReadPage<T>>(
  request: FastifyRequest,
  { page, page_size: pageSize = 50, cursor }: PageQuery,
  order: ListOrder<T>,
  read: (selection: PageSelection) => Promise<P> | P,
): Promise<{
  found: P;
  links: { next: string | null; previous: string | null };
}> {
  if (cursor === undefined) {
    const position = { page: page ?? 1, pageSize };
    const found = await read(position);
    const { count } = found;
    return { found, links: pageLinks(request, { ...position, count }) };
  }
  if (page !== undefined) {
    throw new InvalidData({ cursor: ["May not be used with page."] });
  }
  const after = cursor === "" ? undefined : placeIn(cursor, order);
  const found = await read({ page: 1, pageSize, after });
  const last = found.items.at(-1);
  const links = { next: null, previous: null };
  if (last === undefined || found.items.length < pageSize) {
    return { found, links };
  }
  const place = order.placeOf(last);
  const rest = await read({ page: 1, pageSize: 1, after: place });
  if (rest.items.length === 0) return { found, links };
  const next = linkTo(request, "cursor", cursorAt(order, place));
  return { found, links: { ...links, next } };
}

const cursorAt = ({ name }: { name: string }, place: ListPosition): string =>
  Buffer.from(JSON.stringify([name, ...place])).toString("base64url");

/**
 * Parses a cursor.
 * @throws {InvalidData} if the cursor does not belong to this list.
 */
function placeIn<T>(cursor: string, { name, types }: ListOrder<T>): ListPosition {
  const [from, ...place] = valuesIn(cursor);
  const isPlace =
    place.length === types.length &&
    place.every((value, i) =>
      types[i] === "number"
        ? Number.isSafeInteger(value)
        : // PostgreSQL does not accept NUL.
          typeof value === "string" && value.isWellFormed() && !value.includes("\0"),
    );
  if (from === name && isPlace) return place as (string | number)[];
  throw new InvalidData({
    cursor: ["Must be empty, or the cursor of `next` in this list and order."],
  });
}

function valuesIn(cursor: string): unknown[] {
  try {
    const text = Buffer.from(cursor, "base64url").toString();
    const values: unknown = JSON.parse(text);
    return Array.isArray(values) ? values : [];
  } catch {
    return [];
  }
}

/**
 * Reads a page of a list that is entirely in memory. If the query has a cursor, the list is first
 * sorted by sort key.
 */
export function readSlice<T>(
  request: FastifyRequest,
  query: PageQuery,
  all: readonly T[],
  order: ListOrder<T>,
) {
  const byCursor = query.cursor !== undefined;
  const places = new Map<T, ListPosition>();
  if (byCursor) for (const item of all) places.set(item, order.placeOf(item));
  const compare = (a: T, b: T) => comparePlaces(places.get(a)!, places.get(b)!);
  const list = byCursor ? all.toSorted(compare) : all;
  return readPage(request, query, order, ({ page, pageSize, after }) => {
    const start = after
      ? list.findLastIndex((item) => comparePlaces(places.get(item)!, after) <= 0) + 1
      : (page - 1) * pageSize;
    return { count: list.length, items: list.slice(start, start + pageSize) };
  });
}

/** Returns a page of a list that is entirely in memory. */
export async function pageOf<T>(
  request: FastifyRequest,
  query: PageQuery,
  all: readonly T[],
  order: ListOrder<T>,
) {
  const { found, links } = await readSlice(request, query, all, order);
  return { count: found.count, ...links, results: found.items };
}

/** Compares sort keys. Strings are compared by code point. */
function comparePlaces(one: ListPosition, other: ListPosition): number {
  for (const [i, value] of one.entries()) {
    const [a, b] = [value, other[i]!];
    if (a === b) continue;
    if (typeof a === "number" && typeof b === "number") return a - b;
    return Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)));
  }
  return 0;
}

function linkTo(
  { base, url }: FastifyRequest,
  parameter: "page" | "cursor",
  value: string | number,
): string {
  // Split the URL as the router does. The query may contain `?` and `#`, too.
  const [path = ""] = url.split(/[?#]/, 1);
  const query = url.slice(path.length + 1);
  const parts = query === "" ? [] : query.split("&");
  const at = parts.findIndex((part) => nameOf(part) === parameter);
  parts.splice(at < 0 ? parts.length : at, 1, `${parameter}=${value}`);
  return `${base}${path}?${parts.join("&").replace(NOT_IN_A_QUERY, encodeURIComponent)}`;
}

/**
 * Characters that a request target may contain but that must be escaped in a URL's query (WHATWG
 * URL, section 1.3).
 */
const NOT_IN_A_QUERY = /[^\x21-\x7e]|["#<>]/gu;

/** Returns the name of a query parameter. Unlike decodeURIComponent, `unescape` accepts any escape. */
const nameOf = (part: string): string => unescape(part.split("=", 1)[0]!);
