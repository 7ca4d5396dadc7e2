import { unescape } from "node:querystring";
import type { FastifyRequest } from "fastify";

/** The position of a page in a list. */
export interface PagePosition {
  /** The number of this page, from 1. */
  page: number;
  /** How many entries a page has. */
  pageSize: number;
  /** How many entries the whole list has. */
  count: number;
}

/**
 * The links to the next and the previous page of a list. They keep the path and
 * the other query parameters exactly as they came.
 * @returns absolute URLs, or null if there is no such page. Past the end, `previous`
 *   is the last page that has entries.
 */
export function pageLinks(
  request: FastifyRequest,
  { page, pageSize, count }: PagePosition,
): { next: string | null; previous: string | null } {
  const last = Math.ceil(count / pageSize);
  return {
    next: page < last ? linkTo(request, page + 1) : null,
    previous:
      page > 1 && last > 0 ? linkTo(request, Math.min(page - 1, last)) : null,
  };
}

/** A page of a list that is in memory as a whole. */
export function pageOf<T>(
  request: FastifyRequest,
  {
    page = 1,
    page_size: pageSize = 50,
  }: { page?: number | undefined; page_size?: number | undefined },
  all: readonly T[],
) {
  const count = all.length;
  const start = (page - 1) * pageSize;
  return {
    count,
    ...pageLinks(request, { page, pageSize, count }),
    results: all.slice(start, start + pageSize),
  };
}

function linkTo({ base, url }: FastifyRequest, page: number): string {
  // Split as the router does. The query may contain either character again.
  const [path = ""] = url.split(/[?#]/, 1);
  const query = url.slice(path.length + 1);
  const parts = query === "" ? [] : query.split("&");
  const at = parts.findIndex((part) => nameOf(part) === "page");
  parts.splice(at < 0 ? parts.length : at, 1, `page=${page}`);
  return `${base}${path}?${parts.join("&").replace(NOT_IN_A_QUERY, encodeURIComponent)}`;
}

/** Characters that a request target may contain and that the query of a URL escapes (WHATWG URL, section 1.3). */
const NOT_IN_A_QUERY = /[^\x21-\x7e]|["#<>]/gu;

/** The name of a query parameter. Unlike decodeURIComponent, `unescape` accepts any escape. */
const nameOf = (part: string): string => unescape(part.split("=", 1)[0]!);
