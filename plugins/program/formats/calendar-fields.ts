import type { Session } from "../../../schemas/program/program.js";

// What a session has and a calendar lacks, in properties of Foyer (RFC 5545, section 3.8.8.2). They
// count only where they agree with those of the standard, which other programs may have changed.

type Link = Session["links"][number];

/** Which field of a session the `DESCRIPTION` is, if it is not the abstract: `description`. */
export const TEXT_FIELD = "x-foyer-text";

/** All links with their titles, as JSON. `URL` is the first one. */
export const LINKS_FIELD = "x-foyer-links";

/** The links in such a property; undefined if it has none. */
export function linksIn(text: string): Link[] | undefined {
  let links: unknown;
  try {
    links = JSON.parse(text);
  } catch {
    return undefined;
  }
  const isLink = (link: Partial<Link> | null) =>
    typeof link?.title === "string" && typeof link.url === "string";
  return Array.isArray(links) && links.every(isLink) ? (links as Link[]) : undefined;
}
