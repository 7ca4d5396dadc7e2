import type { FileRecords } from "../../db/contract/store.js";
import type { TraitMapping } from "../../schemas/issuers.js";
import { truncate, trait as traitText, lengthOf } from "../../schemas/plain/texts.js";

/** The verified claims of a token from another issuer. */
export type ForeignClaims = Readonly<Record<string, unknown>>;

/** Maximum number of strings read from a claim. */
const MAX_STRINGS = 1000;

/**
 * Returns the value of a claim. A claim whose name itself contains dots, such as a URL used by some
 * issuers, takes precedence over a path.
 */
export function claimIn(claims: ForeignClaims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let value: unknown = claims;
  for (const name of path.split(".")) {
    if (typeof value !== "object" || value === null) return undefined;
    if (Array.isArray(value) || !Object.hasOwn(value, name)) return undefined;
    value = (value as ForeignClaims)[name];
  }
  return value;
}

/** Returns the traits that an issuer's claims grant. Values that are not valid traits are ignored. */
export function traitsOf(
  claims: ForeignClaims,
  { always = [], claim, map }: TraitMapping = {},
): ReadonlySet<string> {
  const traits = new Set(always);
  for (const text of stringsIn(claim && claimIn(claims, claim))) {
    const granted = map ? (Object.hasOwn(map, text) ? map[text]! : []) : [text];
    for (const trait of granted) if (isTrait(trait)) traits.add(trait);
  }
  return traits;
}

function stringsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (!Array.isArray(value)) return [];
  const strings = value.filter((it) => typeof it === "string");
  return strings.slice(0, MAX_STRINGS);
}

const isTrait = (text: string): boolean =>
  text !== "" &&
  !text.includes("\0") &&
  text.isWellFormed() &&
  lengthOf(text) <= traitText.maxLength;

/** Maximum length of a name read from a claim, in characters. */
const MAX_NAME = 200;

/** Returns a person's name from the claims, if present (OpenID Connect Core, section 5.1). */
function nameIn({ name, preferred_username }: ForeignClaims): string | undefined {
  const given = [name, preferred_username].find(
    (it) => typeof it === "string" && it.trim() !== "",
  ) as string | undefined;
  const text = given?.trim().replaceAll("\0", "").toWellFormed();
  return text && truncate(text, MAX_NAME);
}

/** Matches an upload's URL. */
const UPLOAD =
  /\/media\/(?<key>pub\/(?<world>[a-z0-9-]+)\/[0-9a-f-]{36}\.[\w-]{12}\.[a-z0-9]{3,4})$/;

/**
 * Builds a new user's profile from the claims, or returns undefined if they contain neither a name
 * nor an uploaded picture.
 */
export async function profileOf(
  claims: ForeignClaims,
  worldId: string,
  files: Pick<FileRecords, "has">,
): Promise<Record<string, unknown> | undefined> {
  const display_name = nameIn(claims);
  const url = await uploadIn(claims, worldId, files);
  if (display_name === undefined && url === undefined) return undefined;
  return {
    ...(display_name !== undefined && { display_name }),
    ...(url !== undefined && { avatar: { url } }),
  };
}

/**
 * Returns the URL of a person's picture, but only if the picture was uploaded to the world, because
 * an external host would learn who views the picture.
 */
async function uploadIn(
  { picture }: ForeignClaims,
  worldId: string,
  files: Pick<FileRecords, "has">,
): Promise<string | undefined> {
  if (typeof picture !== "string" || picture.length > 1000) return undefined;
  const { key, world } = UPLOAD.exec(picture)?.groups ?? {};
  if (world !== worldId || key === undefined) return undefined;
  return (await files.has(key)) ? picture : undefined;
}
