import { webAddress } from "../lib/addresses.js";
import type { Values } from "./draft.js";

// Validates a world's form before a request. The server stores any config, so attendees would be
// the first to notice a wrong value.

/** The fault of a value; `world.fault…` in i18n has a message for each fault. */
export type WorldFault =
  "Empty" | "Domain" | "Locale" | "Timezone" | "Number" | "Color" | "Fields" | "Link";

/** A profile question that a world's users answer. */
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

/** Returns the faults of changed values, by name. */
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

/** Converts a string or a number to text. Returns an empty string for any other value. */
export const textOf = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : "";

/** Returns a value if it is an object, or an empty object otherwise, because the API stores any JSON. */
export const objectOf = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};

/** Returns a list's items as objects, or an empty list if the value is not a list. */
export const objectsOf = (value: unknown): Record<string, unknown>[] =>
  Array.isArray(value) ? value.map(objectOf) : [];
