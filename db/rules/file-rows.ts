import { randomBytes, randomUUID } from "node:crypto";
import { fileIdOf, mimeTypeOf } from "../../schemas/plain/file-types.js";
import type { FileRecord } from "../contract/store.js";

/** A file as it is stored. */
export interface FileRow {
  key: string;
  size: number;
  sha256: string;
  user_id: string | null;
  created: number;
  number: number;
}

/** The columns of a {@link FileRow}. */
export const FILE_COLUMNS = "key, size, sha256, user_id, created, number";

/** The file in a row. */
export const toFile = ({
  key,
  size,
  sha256,
  user_id,
  created,
  number,
}: FileRow): FileRecord => ({
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
export function keyRange(
  world: string,
  id: string,
): [from: string, to: string] {
  const start = `pub/${world}/${id}`;
  // In ASCII, the slash follows the dot.
  return [`${start}.`, `${start}/`];
}
