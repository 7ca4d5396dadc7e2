import type { Session } from "../../../schemas/program/program.js";

// Session data that standard calendar properties cannot express, in Foyer's own properties (RFC
// 5545, section 3.8.8.2). Foyer's properties are used only where they agree with the standard
// properties, which other programs may have changed.

type Link = Session["links"][number];

/** The session field in `DESCRIPTION`, if it is not the abstract: `description`. */
export const TEXT_FIELD = "x-foyer-text";

/** All links with their titles, as JSON. `URL` contains the first link. */
export const LINKS_FIELD = "x-foyer-links";

/** Parses the links property, or returns undefined if its value is not valid. */
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
