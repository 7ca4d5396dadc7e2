import { randomBytes, randomUUID } from "node:crypto";
import { fileIdOf, mimeTypeOf } from "../../schemas/plain/file-types.js";
import type { FileRecord } from "../contract/store.js";

/**
 * Returns the key of the upload at an address: `pub/<world>/<id>.<secret>.<extension>`.
 * @param hosts the hosts at which the world can be reached, in the form of `URL.host`.
 * @returns undefined if the address does not belong to an upload in this world.
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
  // The address must be in normal form: `new URL` resolves dots and drops line breaks.
  return isKey && url.endsWith(pathname) ? key : undefined;
}

/**
 * Returns a list with the host of an address or domain, in the form of `URL.host`. The list is
 * empty if there is no host.
 */
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

/** Generates the key of a new file: `pub/<world>/<id>.<secret>.<extension>`. The id and secret are random. */
export const newFileKey = (world: string, extension: string): string =>
  `pub/${world}/${randomUUID()}.${randomBytes(9).toString("base64url")}.${extension}`;

/**
 * Returns the bounds between which a file's key lies. An `id` that contains a dot may match the key
 * of a different file, so the caller must check the key that it finds.
 */
export function keyRange(world: string, id: string): [from: string, to: string] {
  const start = `pub/${world}/${id}`;
  // In ASCII, "/" directly follows ".".
  return [`${start}.`, `${start}/`];
}
