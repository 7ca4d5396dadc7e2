import { truncate } from "../../schemas/plain/texts.js";
import { mediaAddress, NARROW, pictureOf } from "../../web/lib/addresses.js";
import type { PageConfig } from "../../web/lib/page.js";
import { dayOf, zoneOr } from "../../web/lib/zones.js";
import { colorOf, inkOn } from "../../web/state/theme.js";

// The content that browsers, messengers and search engines read without running a page's scripts.

/** The values that differ between responses. */
export interface Filling {
  /** The path of the server root, relative to the page, with a trailing slash. */
  base: string;
  title?: string | undefined;
  /** The page's settings, as a JSON value. */
  config?: unknown;
  /** HTML that replaces the link to the page's icon. */
  head?: string;
}

/** The parts of a built page that a {@link Filling} replaces. */
const PLACES =
  /<link rel="icon"[^>]*>|"\.\/web\/|<meta name="foyer" content="|<title>[^<]*<\/title>/;

/**
 * Prepares a page that Vite built.
 * @returns a function that renders a response.
 */
export function templateOf(html: string): (filling: Filling) => string {
  const texts = html.split(new RegExp(PLACES, "g"));
  const places = html.match(new RegExp(PLACES, "g")) ?? [];
  return (filling) =>
    texts.reduce((before, text, at) => before + filled(places[at - 1]!, filling) + text);
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

/** Escapes text for the content of an element or for a quoted attribute. */
export const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => ENTITIES[character]!);

/** The default color of the pages (web/tokens.css). */
const COLOR = "#4338ca";

/** The background color in web/tokens.css. */
const GROUND = "#f6f6f9";

/** Maximum length of a description that messengers show, in characters. */
const MAX_DESCRIPTION = 300;

/** A page's location. */
export interface PageLocation {
  /** The server's URL, without a trailing slash. */
  readonly server: string;
  readonly path: string;
  /** Whether the page may invite to the event, with its cover. Screens and previews never do. */
  readonly invites: boolean;
}

const meta = (kind: "name" | "property", name: string, content: string) =>
  `<meta ${kind}="${name}" content="${escaped(content)}" />`;

const isUnderOwnPath = (path: string) => path.startsWith("/w/");

/** Returns the event's folder, relative to the page. The folder contains the manifest and the icon. */
const folderOf = ({ base, world }: PageConfig, path: string): string =>
  isUnderOwnPath(path) && world !== null ? `${base}w/${world}/` : base;

/** Returns the URL of the logo on this server, or undefined if there is no such logo. */
const logoOf = ({ theme }: PageConfig, server: string) =>
  mediaAddress(theme.logo?.url, `${server}/`);

/** Describes an event in one or two sentences. */
function descriptionOf({ title, event }: PageConfig): string {
  const zone = zoneOr(event?.timezone, "UTC");
  const [tagline, location] = [event?.tagline, event?.location];
  const days = [event?.starts_at, event?.ends_at].flatMap((time) =>
    time === undefined ? [] : dayOf(Date.parse(time), zone),
  );
  const facts = [[...new Set(days)].join(" – "), location].filter(Boolean);
  return truncate(
    [tagline, facts.join(", ")].filter(Boolean).join(" · ") ||
      (title ?? "An event, live in your browser."),
    MAX_DESCRIPTION,
  );
}

/**
 * Returns the head elements that depend on the event.
 * @param isShared whether people share the page's URL, so that messengers preview the page.
 */
export function headOf(
  page: PageConfig,
  { server, path, invites }: PageLocation,
  isShared: boolean,
): string {
  const { base, theme, title, event } = page;
  const folder = folderOf(page, path);
  const logo = logoOf(page, server);
  const icon = logo ?? (title === null ? `${base}web/icon.svg` : `${folder}icon.svg`);
  const elements = [
    `<link rel="icon" href="${escaped(icon)}" />`,
    meta("name", "theme-color", theme.colors?.primary ?? COLOR),
  ];
  const description = descriptionOf(page);
  elements.push(meta("name", "description", description));
  if (!isShared || title === null) return elements.join("\n    ");
  const cover = pictureOf(event?.cover, `${server}/`);
  const image = cover ?? logo;
  elements.push(
    `<link rel="manifest" href="${escaped(folder)}manifest.webmanifest" />`,
    meta("property", "og:type", "website"),
    meta("property", "og:title", title),
    meta("property", "og:description", description),
    meta("property", "og:url", `${server}${path}`),
    meta("property", "og:site_name", title),
    ...(image === undefined ? [] : [meta("property", "og:image", image)]),
    meta("name", "twitter:card", cover ? "summary_large_image" : "summary"),
    // The cover is the largest element of the invitation. Preloading fetches the cover along with
    // the scripts instead of after them.
    ...(cover === undefined || !invites
      ? []
      : [
          [NARROW, `${cover}?preview`],
          [`not all and ${NARROW}`, cover],
        ].map(
          ([media, href]) =>
            `<link rel="preload" as="image" href="${escaped(href!)}" media="${media!}" fetchpriority="high" />`,
        )),
  );
  return elements.join("\n    ");
}

/**
 * Returns the manifest with which browsers install an event (W3C Web Application Manifest).
 * @param page the settings of the page in the manifest's folder.
 */
export function manifestOf(page: PageConfig, server: string): object {
  const { theme, title, locale } = page;
  const name = title ?? "Foyer";
  const logo = logoOf(page, server);
  return {
    name,
    short_name: truncate(name, 30),
    description: descriptionOf(page),
    ...(locale !== null && { lang: locale }),
    start_url: "./",
    scope: "./",
    display: "standalone",
    theme_color: theme.colors?.primary ?? COLOR,
    background_color: GROUND,
    icons: [
      { src: "./icon.svg", sizes: "any", type: "image/svg+xml" },
      ...(logo === undefined ? [] : [{ src: logo, sizes: "any" }]),
    ],
  };
}

/** Returns an SVG that shows the title's first letter on the event's color. */
export function iconOf({ title, theme }: PageConfig): string {
  const color = theme.colors?.primary ?? COLOR;
  const [letter = "F"] = [...(title ?? "Foyer").trim()];
  const ink = inkOn(colorOf(color)!);
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect width="64" height="64" rx="14" fill="${color}"/>` +
    `<text x="32" y="34" fill="${ink}" font-family="system-ui, sans-serif" font-size="36" font-weight="700" text-anchor="middle" dominant-baseline="central">${escaped(letter.toLocaleUpperCase("en"))}</text></svg>`
  );
}
