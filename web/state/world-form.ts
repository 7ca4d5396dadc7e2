import { webAddress } from "../lib/addresses.js";
import type { Values } from "./draft.js";

// The checks of the form of a world before a request. The server stores any config, so a
// wrong value there would only show later, to the attendees.

/** The fault of a value; `world.fault…` in i18n has a sentence for each. */
export type WorldFault =
  "Empty" | "Domain" | "Locale" | "Timezone" | "Number" | "Color" | "Fields" | "Link";

/** A question of the profile that the people of a world fill in. */
export interface ProfileField {
  id: string;
  label?: string;
  type?: "text" | "textarea" | "select" | "link";
  choices?: string;
  searchable?: boolean;
}

const DOMAIN = /^[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?(:[0-9]{1,5})?$/;

type Check = (value: unknown) => WorldFault | undefined;

const checks: Record<string, Check> = {
  title: (value) => (textOf(value).trim() === "" ? "Empty" : undefined),
  domain: (value) => (value === undefined || DOMAIN.test(textOf(value)) ? undefined : "Domain"),
  "config.locale": optional((value) => isLocale(value) || "Locale"),
  "config.dateLocale": optional((value) => isLocale(value) || "Locale"),
  "config.timezone": optional((value) => isTimezone(value) || "Timezone"),
  "config.connection_limit": optional((value) => /^[0-9]{1,9}$/.test(textOf(value)) || "Number"),
  "config.theme": optional((value) => {
    const { colors } = value as { colors?: { primary?: unknown } };
    const primary = colors?.primary;
    const isColor = primary === undefined || /^#[0-9a-f]{6}$/i.test(textOf(primary));
    return isColor || "Color";
  }),
  "config.links": optional((value) => {
    const { privacy, imprint, more } = objectOf(value);
    const urls = [privacy, imprint, ...objectsOf(more).map(({ url }) => url)];
    return urls.every((url) => url === undefined || webAddress(url) !== undefined) || "Link";
  }),
  "config.profile_fields": optional((value) => {
    const fields = Array.isArray(value) ? (value as ProfileField[]) : [];
    const ids = fields.map(({ id }) => id);
    const isFine =
      ids.every((id) => typeof id === "string" && /^[\w-]{1,50}$/.test(id)) &&
      new Set(ids).size === ids.length;
    return isFine || "Fields";
  }),
};

function optional(check: (value: unknown) => true | WorldFault): Check {
  return (value) => {
    if (value === undefined || value === null) return undefined;
    const result = check(value);
    return result === true ? undefined : result;
  };
}

/** The faults of changed values, by name. */
export const worldFaults = (
  values: Values,
  changed: readonly string[],
): Record<string, WorldFault> =>
  Object.fromEntries(
    changed.flatMap((name) => {
      const fault = checks[name]?.(values[name]);
      return fault ? [[name, fault]] : [];
    }),
  );

function isLocale(value: unknown): boolean {
  try {
    return Intl.getCanonicalLocales(textOf(value)).length === 1;
  } catch {
    return false;
  }
}

function isTimezone(value: unknown): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: textOf(value) });
    return true;
  } catch {
    return false;
  }
}

/** The text of a text or a number; empty for any other value. */
export const textOf = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : "";

/** The object in a value; empty for any other value, as the API stores any JSON. */
export const objectOf = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};

/** The objects in a list. */
export const objectsOf = (value: unknown): Record<string, unknown>[] =>
  Array.isArray(value) ? value.map(objectOf) : [];
