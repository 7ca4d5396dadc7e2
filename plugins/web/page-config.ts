import type { Config } from "../../config.js";
import { contactOf } from "../../schemas/plain/mail.js";
import type { World } from "../../schemas/worlds.js";
import { webAddress } from "../../web/lib/addresses.js";
import type { Links, PageConfig, Theme } from "../../web/lib/page.js";
import { passkeyHost } from "../passkeys/ceremony.js";
import { providersOf } from "../sign-in/clients.js";
import { phaseOf } from "../../schemas/plain/access.js";
import { aboutPreview, accessPreview, eventPreview, fieldOf, isPublic, isText } from "./preview.js";

/** The parts of a page's address. */
export interface PageAddress {
  /** The requested path. */
  path: string;
  /** The id of the room to show alone; empty for the first room, null for the whole event. */
  embed: string | null;
  /** Whether the server has no world yet. */
  isNew?: boolean;
  /** The server's base URL. */
  server: string;
}

/** What a server offers on its pages. */
export interface PageServer {
  readonly uploads: Config["uploads"];
  /** Whether the server sends mails. */
  readonly mail: boolean;
}

/**
 * Returns the settings that a page receives before login.
 * @param world undefined if there is no world at this address.
 */
export function pageConfig(
  { path, embed, isNew = false, server }: PageAddress,
  world: World | undefined,
  { uploads: { maxBytes, types }, mail }: PageServer,
  now = Date.now(),
): PageConfig {
  const contact = world && contactOf(world.config);
  const isPrepared = world !== undefined && phaseOf(world.config, now) === "unpublished";
  const isNamed = world && !isPrepared && (contact !== undefined || isPublic(world));
  return {
    base: baseOf(path),
    world: world?.id ?? null,
    isNew,
    title: world && isPublic(world) ? world.title : null,
    name: isNamed ? world.title : null,
    ...(contact !== undefined && { contact }),
    theme: world ? themeOf(world.config, now) : {},
    ...(world && linksOf(world.config)),
    ...(world && isPublic(world) && { ...eventPreview(world), ...aboutPreview(world) }),
    ...(world && accessPreview(world, now)),
    locale: world ? localeOf(world.config) : null,
    embed,
    signIn: world ? providersOf(world).map(({ id, name }) => ({ id, name })) : [],
    passkeys: passkeyHost(server),
    mail,
    upload: { maxBytes, types },
  };
}

/** Returns the server root relative to a path. A proxy may serve the root under any path. */
function baseOf(path: string): string {
  const depth = path.split("/").length - 2;
  return depth > 0 ? "../".repeat(depth) : "./";
}

/** Maximum length of a logo's URL, in characters. */
const MAX_LOGO = 2000;

/** Returns the valid part of `config.theme` that pages use. A host may have stored any value in this field. */
function themeOf(config: Record<string, unknown>, now: number): Theme {
  const { theme } = config;
  const primary = fieldOf(fieldOf(theme, "colors"), "primary");
  // The logo would reveal the name of an event that is not public.
  const isKnown = phaseOf(config, now) !== "unpublished";
  const logoIn = (name: "logo" | "logo_dark") => {
    const url = fieldOf(fieldOf(theme, name), "url");
    return isKnown && isText(url, MAX_LOGO) && { [name]: { url } };
  };
  return {
    ...(isText(primary, 7) && /^#[0-9a-f]{6}$/i.test(primary) && { colors: { primary } }),
    ...logoIn("logo"),
    ...logoIn("logo_dark"),
  };
}

/** Maximum lengths of a link's URL and label, in characters, and the maximum number of links. */
const MAX_LINK = 2000;
const MAX_LABEL = 100;
const MAX_LINKS = 10;

/** Returns the valid part of `config.links`. A host may have stored any value in this field. */
function linksOf({ links }: Record<string, unknown>): { links?: Links } {
  const urlIn = (value: unknown) => (isText(value, MAX_LINK) ? webAddress(value) : undefined);
  const privacy = urlIn(fieldOf(links, "privacy"));
  const imprint = urlIn(fieldOf(links, "imprint"));
  const list = fieldOf(links, "more");
  const more = (Array.isArray(list) ? list : []).slice(0, MAX_LINKS).flatMap((entry: unknown) => {
    const label = fieldOf(entry, "label");
    const url = urlIn(fieldOf(entry, "url"));
    return isText(label, MAX_LABEL) && url !== undefined ? [{ label, url }] : [];
  });
  const sound: Links = {
    ...(privacy !== undefined && { privacy }),
    ...(imprint !== undefined && { imprint }),
    ...(more.length > 0 && { more }),
  };
  return Object.keys(sound).length > 0 ? { links: sound } : {};
}

/**
 * Returns the world's language tag, such as `de` or `pt-BR`, of at most 35 characters (BCP 47,
 * section 4.4.1), or null if the world has no valid language tag.
 */
function localeOf({ locale }: Record<string, unknown>): string | null {
  const isTag = isText(locale, 35) && /^[a-z]{2,8}(-[a-z0-9]{1,8})*$/i.test(locale);
  return isTag ? locale : null;
}
