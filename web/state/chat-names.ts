import { nameOf, type Named } from "../lib/avatars.js";

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
