import { firstOf } from "../../schemas/plain/texts.js";
import { mediaAddress } from "../../web/lib/addresses.js";
import type { PageConfig } from "../../web/lib/page.js";
import { dayOf, zoneOr } from "../../web/lib/zones.js";
import { colorOf, inkOn } from "../../web/state/theme.js";

// What browsers, messengers and search engines read of a page without its scripts.

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

/** Text for the content of an element, or for an attribute in quotes. */
export const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => ENTITIES[character]!);

/** The color of the pages where an event has none (web/tokens.css). */
const COLOR = "#4338ca";

/** The color of the ground in web/tokens.css. */
const GROUND = "#f6f6f9";

/** The longest description that messengers show, in characters. */
const MAX_DESCRIPTION = 300;

/** Where a page is. */
export interface Place {
  /** The address of the server, without a slash at its end. */
  readonly server: string;
  /** The path of the page. */
  readonly path: string;
}

const meta = (kind: "name" | "property", name: string, content: string) =>
  `<meta ${kind}="${name}" content="${escaped(content)}" />`;

const isUnderOwnPath = (path: string) => path.startsWith("/w/");

/** The folder of the event, relative to the page. The manifest and the icon are there. */
const folderOf = ({ base, world }: PageConfig, path: string): string =>
  isUnderOwnPath(path) && world !== null ? `${base}w/${world}/` : base;

/** The address of the logo on this server; undefined without one. */
const logoOf = ({ theme }: PageConfig, server: string) =>
  mediaAddress(theme.logo?.url, `${server}/`);

/** One or two sentences about an event. */
function descriptionOf({ title, event }: PageConfig): string {
  const zone = zoneOr(event?.timezone, "UTC");
  const [tagline, location] = [event?.tagline, event?.location];
  const days = [event?.starts_at, event?.ends_at].flatMap((time) =>
    time === undefined ? [] : dayOf(Date.parse(time), zone),
  );
  const facts = [[...new Set(days)].join(" – "), location].filter(Boolean);
  return firstOf(
    [tagline, facts.join(", ")].filter(Boolean).join(" · ") ||
      (title ?? "An event, live in your browser."),
    MAX_DESCRIPTION,
  );
}

/**
 * The elements of the head that depend on the event.
 * @param isShared whether people share the address of the page, as a preview in messengers.
 */
export function headOf(page: PageConfig, { server, path }: Place, isShared: boolean): string {
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
  const cover = mediaAddress(event?.cover, `${server}/`);
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
    // The largest part of the first page: it comes with the scripts, not after them.
    ...(cover === undefined
      ? []
      : [`<link rel="preload" as="image" href="${escaped(cover)}" fetchpriority="high" />`]),
  );
  return elements.join("\n    ");
}

/**
 * The manifest of an event, by which browsers install it (W3C Web Application Manifest).
 * @param page of the folder of the manifest.
 */
export function manifestOf(page: PageConfig, server: string): object {
  const { theme, title, locale } = page;
  const name = title ?? "Foyer";
  const logo = logoOf(page, server);
  return {
    name,
    short_name: firstOf(name, 30),
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

/** The first letter of the title on the color of the event, as an SVG. */
export function iconOf({ title, theme }: PageConfig): string {
  const color = theme.colors?.primary ?? COLOR;
  const [letter = "F"] = [...(title ?? "Foyer").trim()];
  const ink = inkOn(colorOf(color)!);
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect width="64" height="64" rx="14" fill="${color}"/>` +
    `<text x="32" y="34" fill="${ink}" font-family="system-ui, sans-serif" font-size="36" font-weight="700" text-anchor="middle" dominant-baseline="central">${escaped(letter.toLocaleUpperCase("en"))}</text></svg>`
  );
}
