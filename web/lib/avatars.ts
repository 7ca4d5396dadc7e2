import type { PublicUser } from "../../client/index.js";
import { mediaAddress } from "./addresses.js";

/** A user, as far as a name and a picture need one. */
export type Named = Pick<PublicUser, "id" | "profile">;

/** The name of a user; undefined without one. */
export function nameOf(user: Named | undefined): string | undefined {
  const name = user?.profile["display_name"];
  return typeof name === "string" && name.trim() !== "" ? name : undefined;
}

/** The picture of a user, on this server; undefined without one. */
export function pictureOf(user: Named | undefined, base: string): string | undefined {
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
