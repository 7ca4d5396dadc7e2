import type { FastifyRequest } from "fastify";

/** Which page of a list was asked for, and how many things all pages hold. */
interface Page {
  page: number;
  pageSize: number;
  count: number;
}

/**
 * The addresses of the pages around one of a list, each null where there is none.
 * Other query parameters are kept byte for byte.
 */
export function pageLinks(
  request: FastifyRequest,
  { page, pageSize, count }: Page,
): { next: string | null; previous: string | null } {
  const last = Math.ceil(count / pageSize);
  return {
    next: page < last ? linkTo(request, page + 1) : null,
    // Past the end, it leads back to the last page that has anything.
    previous:
      page > 1 && last > 0 ? linkTo(request, Math.min(page - 1, last)) : null,
  };
}

function linkTo({ base, url }: FastifyRequest, page: number): string {
  // A query may hold question marks of its own.
  const [path = "", ...rest] = url.split("?");
  const query = rest.join("?");
  const pieces = query === "" ? [] : query.split("&");
  const at = pieces.findIndex(isPage);
  pieces[at < 0 ? pieces.length : at] = `page=${page}`;
  return `${base}${path}?${pieces.join("&")}`;
}

/**
 * Whether a piece of a query is the parameter `page`, however it is encoded. The
 * ampersand keeps a question mark in its name, which would be dropped in front.
 */
const isPage = (piece: string) => new URLSearchParams(`&${piece}`).has("page");
