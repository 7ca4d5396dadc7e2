import type { PublicUser } from "../../client/index.js";
import { mediaAddress, webAddress } from "../lib/addresses.js";

// The questions about people that a world asks (`profile_fields`), and their answers.
// Organizers write the questions, people write the answers, and both may be of any shape.

/** A question of a world. */
export interface ProfileField {
  readonly id: string;
  readonly label: string;
  readonly type: "text" | "textarea" | "select" | "link";
  readonly choices: readonly string[];
}

/** The answer of a user. */
export interface Answer {
  readonly id: string;
  readonly label: string;
  readonly text: string;
  /** Where it leads, if it is an address. */
  readonly href?: string;
}

const types = ["text", "textarea", "select", "link"] as const;

const textOf = (value: unknown): string => (typeof value === "string" ? value.trim() : "");

/** The questions of a world; those without an id are left out. */
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

/** Choices are a list, or text with a line break or a comma between two. */
function choicesOf(choices: unknown): string[] {
  const list: unknown[] = Array.isArray(choices) ? choices : textOf(choices).split(/[\n,]/);
  return [...new Set(list.map(textOf))].filter((choice) => choice !== "");
}

/** The answers of a user, in the order of the questions. */
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

/** The answers of a profile as a form shows them: texts only. */
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

/** The `accept` of a file chooser for pictures, given the extensions that the server takes. */
export const pictureTypes = (extensions: readonly string[]): string =>
  pictures
    .filter((extension) => extensions.includes(extension))
    .map((extension) => `.${extension}`)
    .join(",");

/** A size in words, such as `2.5 MB`. */
export function sizeOf(bytes: number, language: string): string {
  const [amount, unit] =
    bytes < 2 ** 20 ? [bytes / 2 ** 10, "kilobyte"] : [bytes / 2 ** 20, "megabyte"];
  return new Intl.NumberFormat(language, { style: "unit", unit, maximumFractionDigits: 1 }).format(
    amount,
  );
}

/** A user, as far as a name and a picture need one. */
export type Named = Pick<PublicUser, "id" | "profile">;

/** The name of a user; undefined without one. */
export function nameOf(user: Named | undefined): string | undefined {
  const name = user?.profile["display_name"];
  return typeof name === "string" && name.trim() !== "" ? name : undefined;
}

/** The picture of a user, on this server; undefined without one. */
export function avatarOf(user: Named | undefined, base: string): string | undefined {
  const avatar = user?.profile["avatar"];
  if (typeof avatar !== "object" || avatar === null) return undefined;
  return mediaAddress((avatar as { url?: unknown }).url, base);
}

/** The first letters of up to two words of a name. */
export const initialsOf = (name: string): string =>
  name
    .trim()
    .split(/\s+/)
    .slice(0, 2)
    .map((word) => [...word][0]!.toLocaleUpperCase())
    .join("");

/** An angle on the color wheel, in degrees, the same for the same id. */
export function hueOf(id: string): number {
  let hash = 0;
  for (const char of id) hash = (hash * 31 + char.charCodeAt(0)) >>> 0;
  return hash % 360;
}

/** Longer names say no more. */
const MAX_NAME = 60;

/** Characters that change the direction of the following text, or break a line. */
const UNRULY = /[\p{Cc}\p{Zl}\p{Zp}\u061C\u200B\u200E\u200F\u202A-\u202E\u2060-\u2069\uFEFF]+/gu;

/** An untrusted name, cleaned for a line of text; empty if nothing is left. */
export const tameName = (name: string): string => {
  const tame = [...name.replace(UNRULY, " ").trim()];
  return tame.length > MAX_NAME ? `${tame.slice(0, MAX_NAME).join("")}…` : tame.join("");
};

/** The name of a user in a line of text. */
export const lineName = (user: Named | undefined, otherwise: string): string =>
  tameName(nameOf(user) ?? "") || otherwise;
