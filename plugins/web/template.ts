/** The values that differ between answers. */
export interface Filling {
  /** The folder of the server, relative to the page, with a slash at its end. */
  base: string;
  /** The title of the page. */
  title?: string | undefined;
  /** The settings of the page, as a JSON value. */
  config?: unknown;
  /** HTML in place of the icon of the page. */
  head?: string;
}

/** The places of a built page that a {@link Filling} replaces. */
const PLACES =
  /<link rel="icon"[^>]*>|"\.\/web\/|<meta name="foyer" content="|<title>[^<]*<\/title>/;

/**
 * Prepares a page that Vite built.
 * @returns makes the text of an answer.
 */
export function templateOf(html: string): (filling: Filling) => string {
  const texts = html.split(new RegExp(PLACES, "g"));
  const places = html.match(new RegExp(PLACES, "g")) ?? [];
  return (filling) =>
    texts.reduce(
      (before, text, at) => before + filled(places[at - 1]!, filling) + text,
    );
}

function filled(place: string, { base, title, config, head }: Filling): string {
  if (place.startsWith("<link")) {
    return head ?? place.replace('"./web/', `"${base}web/`);
  }
  if (place.startsWith('"')) return `"${base}web/`;
  if (place.startsWith("<meta")) return place + escaped(JSON.stringify(config));
  return title === undefined ? place : `<title>${escaped(title)}</title>`;
}

const ENTITIES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Text for the content of an element, or for an attribute in quotes. */
export const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => ENTITIES[character]!);
