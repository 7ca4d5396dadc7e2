import { randomBytes, randomUUID } from "node:crypto";
import { fileIdOf, mimeTypeOf } from "../../schemas/plain/file-types.js";
import type { FileRecord } from "../contract/store.js";

/**
 * The key of the upload at an address: `pub/<world>/<id>.<secret>.<extension>`.
 * @param hosts under which the world can be reached, as `URL.host` has them.
 * @returns undefined if it is no address of an upload of this world.
 */
export function uploadKey(
  url: string,
  world: string,
  hosts: readonly string[],
): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const { protocol, host, pathname, username, search, hash } = new URL(url);
  if (protocol !== "https:" && protocol !== "http:") return undefined;
  if (username + search + hash !== "" || !hosts.includes(host)) {
    return undefined;
  }
  const prefix = "/media/";
  const key = pathname.slice(prefix.length);
  const isKey = pathname.startsWith(prefix) && key.startsWith(`pub/${world}/`);
  // As the address was written: `new URL` resolves dots, and drops line ends.
  return isKey && url.endsWith(pathname) ? key : undefined;
}

/** The host of an address or a domain, as `URL.host` has it; nothing for none. */
export const hostOf = (address: string | undefined): string[] => {
  if (address === undefined) return [];
  const url = address.includes("://") ? address : `https://${address}`;
  return URL.canParse(url) ? [new URL(url).host] : [];
};

export interface FileRow {
  key: string;
  size: number;
  sha256: string;
  user_id: string | null;
  created: number;
  number: number;
}

export const FILE_COLUMNS = "key, size, sha256, user_id, created, number";

export const toFile = ({ key, size, sha256, user_id, created, number }: FileRow): FileRecord => ({
  id: fileIdOf(key),
  key,
  size,
  sha256,
  type: mimeTypeOf(key),
  userId: user_id,
  uploadedAt: created,
  number,
});

/** The key of a new file: `pub/<world>/<id>.<secret>.<extension>`. Its id and secret are random. */
export const newFileKey = (world: string, extension: string): string =>
  `pub/${world}/${randomUUID()}.${randomBytes(9).toString("base64url")}.${extension}`;

/**
 * The keys of a file of a world are between these two texts, as they begin with its id.
 * An `id` with a dot in it matches too much, so the key that is found has to be compared.
 */
export function keyRange(world: string, id: string): [from: string, to: string] {
  const start = `pub/${world}/${id}`;
  // In ASCII, the slash follows the dot.
  return [`${start}.`, `${start}/`];
}
