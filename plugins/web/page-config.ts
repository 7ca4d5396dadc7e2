import type { Config } from "../../config.js";
import type { World } from "../../schemas/worlds.js";
import { webAddress } from "../../web/lib/addresses.js";
import type { Links, PageConfig, Theme } from "../../web/lib/page.js";
import { providersOf } from "../sign-in/clients.js";
import { eventPreview, fieldOf, isPublic, isText } from "./preview.js";

/** The parts of a page's address. */
export interface PageAddress {
  /** The path, as it was asked for. */
  path: string;
  /** The id of a room that is shown alone; empty for the first room. */
  embed: string | null;
  /** Whether the server has no world yet. */
  isNew?: boolean;
}

/**
 * The settings that a page gets before the login.
 * @param world undefined if there is none at this address.
 */
export function pageConfig(
  { path, embed, isNew = false }: PageAddress,
  world: World | undefined,
  { maxBytes, types }: Config["uploads"],
): PageConfig {
  return {
    base: baseOf(path),
    world: world?.id ?? null,
    isNew,
    title: world && isPublic(world) ? world.title : null,
    theme: world ? themeOf(world.config) : {},
    ...(world && linksOf(world.config)),
    ...(world && isPublic(world) && eventPreview(world)),
    locale: world ? localeOf(world.config) : null,
    embed,
    signIn: world ? providersOf(world).map(({ id, name }) => ({ id, name })) : [],
    upload: { maxBytes, types },
  };
}

/** The folder of the server, relative to a path. A proxy may serve it under any path. */
function baseOf(path: string): string {
  const depth = path.split("/").length - 2;
  return depth > 0 ? "../".repeat(depth) : "./";
}

/** The longest address of a logo, in characters. */
const MAX_LOGO = 2000;

/** The part of `config.theme` that pages use. A host may have stored anything there. */
function themeOf({ theme }: Record<string, unknown>): Theme {
  const primary = fieldOf(fieldOf(theme, "colors"), "primary");
  const url = fieldOf(fieldOf(theme, "logo"), "url");
  return {
    ...(isText(primary, 7) && /^#[0-9a-f]{6}$/i.test(primary) && { colors: { primary } }),
    ...(isText(url, MAX_LOGO) && { logo: { url } }),
  };
}

/** The longest address of a link and its longest label, in characters, and how many there are. */
const MAX_LINK = 2000;
const MAX_LABEL = 100;
const MAX_LINKS = 10;

/** The sound part of `config.links`. A host may have stored anything there. */
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

/** A language tag, such as `de` or `pt-BR`, of at most 35 characters (BCP 47, section 4.4.1). */
function localeOf({ locale }: Record<string, unknown>): string | null {
  const isTag = isText(locale, 35) && /^[a-z]{2,8}(-[a-z0-9]{1,8})*$/i.test(locale);
  return isTag ? locale : null;
}
