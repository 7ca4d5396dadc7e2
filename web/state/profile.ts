import type { PublicUser } from "../../client/index.js";
import { previewAddress, webAddress } from "../lib/addresses.js";

// A world's questions about its users (`profile_fields`), and the users' answers. Organizers write
// the questions, users write the answers, and both may have any shape.

/** A world's question about its users. */
export interface ProfileField {
  readonly id: string;
  readonly label: string;
  readonly type: "text" | "textarea" | "select" | "link";
  readonly choices: readonly string[];
}

/** A user's answer. */
export interface Answer {
  readonly id: string;
  readonly label: string;
  readonly text: string;
  /** The link target, if the answer is an address. */
  readonly href?: string;
}

const types = ["text", "textarea", "select", "link"] as const;

const textOf = (value: unknown): string => (typeof value === "string" ? value.trim() : "");

/** Parses a world's questions. Questions without an id are skipped. */
export function fieldsOf(fields: readonly Record<string, unknown>[]): ProfileField[] {
  const seen = new Set<string>();
  return fields.flatMap(({ id, label, type, choices }) => {
    if (typeof id !== "string" || seen.has(id)) return [];
    seen.add(id);
    return {
      id,
      label: textOf(label) || id,
      type: types.find((known) => known === type) ?? "text",
      choices: choicesOf(choices),
    };
  });
}

/** Parses choices, which are a list, or text separated by line breaks or commas. */
function choicesOf(choices: unknown): string[] {
  const list: unknown[] = Array.isArray(choices) ? choices : textOf(choices).split(/[\n,]/);
  return [...new Set(list.map(textOf))].filter((choice) => choice !== "");
}

/** Returns a user's answers, in the order of the questions. */
export function answersOf(
  user: Pick<PublicUser, "profile"> | undefined,
  fields: readonly Record<string, unknown>[],
): Answer[] {
  const given = user?.profile["fields"];
  if (typeof given !== "object" || given === null) return [];
  return fieldsOf(fields).flatMap(({ id, label, type }) => {
    if (!Object.hasOwn(given, id)) return [];
    const text = textOf((given as Record<string, unknown>)[id]);
    if (text === "") return [];
    const href = type === "link" ? webAddress(text) : undefined;
    return { id, label, text, ...(href !== undefined && { href }) };
  });
}

/** Returns a profile's answers for a form: only the answers that are strings. */
export function givenAnswers(profile: Readonly<Record<string, unknown>>): Record<string, string> {
  const given = profile["fields"];
  if (typeof given !== "object" || given === null) return {};
  return Object.fromEntries(
    Object.entries(given).filter(
      (entry): entry is [string, string] => typeof entry[1] === "string",
    ),
  );
}

const pictures = ["png", "jpg", "jpeg", "gif", "webp"];

/** Returns the `accept` attribute of a file input for pictures, given the extensions that the server allows. */
export const pictureTypes = (extensions: readonly string[]): string =>
  pictures
    .filter((extension) => extensions.includes(extension))
    .map((extension) => `.${extension}`)
    .join(",");

/** Formats a file size, such as `2.5 MB`. */
export function sizeOf(bytes: number, language: string): string {
  const [amount, unit] =
    bytes < 2 ** 20 ? [bytes / 2 ** 10, "kilobyte"] : [bytes / 2 ** 20, "megabyte"];
  return new Intl.NumberFormat(language, { style: "unit", unit, maximumFractionDigits: 1 }).format(
    amount,
  );
}

/** The parts of a user that are needed to show the user's name and picture. */
export type Named = Pick<PublicUser, "id" | "profile">;

/** Returns a user's name, or undefined if there is none. */
export function nameOf(user: Named | undefined): string | undefined {
  const name = user?.profile["display_name"];
  return typeof name === "string" && name.trim() !== "" ? name : undefined;
}

/** Returns the address of a user's picture on this server, or undefined if there is none. */
export function avatarOf(user: Named | undefined, base: string): string | undefined {
  const avatar = user?.profile["avatar"];
  if (typeof avatar !== "object" || avatar === null) return undefined;
  return previewAddress((avatar as { url?: unknown }).url, base);
}

/** Returns the initials of up to two words of a name. */
export const initialsOf = (name: string): string =>
  name
    .trim()
    .split(/\s+/)
    .slice(0, 2)
    .map((word) => [...word][0]!.toLocaleUpperCase())
    .join("");

/** Maps an id to an angle on the color wheel, in degrees. */
export function hueOf(id: string): number {
  let hash = 0;
  for (const char of id) hash = (hash * 31 + char.charCodeAt(0)) >>> 0;
  return hash % 360;
}

/** Maximum length of a name in a line of text, in characters. Longer names are truncated. */
const MAX_NAME = 60;

/** Characters that change the text direction or break the line. */
const UNRULY = /[\p{Cc}\p{Zl}\p{Zp}\u061C\u200B\u200E\u200F\u202A-\u202E\u2060-\u2069\uFEFF]+/gu;

/** Cleans an untrusted name for a line of text. Returns an empty string if nothing is left. */
export const sanitizeName = (name: string): string => {
  const tame = [...name.replace(UNRULY, " ").trim()];
  return tame.length > MAX_NAME ? `${tame.slice(0, MAX_NAME).join("")}…` : tame.join("");
};

/** Returns a user's name for a line of text. */
export const lineName = (user: Named | undefined, otherwise: string): string =>
  sanitizeName(nameOf(user) ?? "") || otherwise;
