import { type FileHandle, mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Copies bytes to a temporary file without a name, so that a killed process leaves nothing.
 * The caller closes it.
 */
export async function unnamedFile(
  bytes: AsyncIterable<Uint8Array | string>,
): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), "foyer-"));
  let file: FileHandle;
  try {
    file = await open(join(folder, "copy"), "wx+", 0o600);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  try {
    for await (const chunk of bytes) await file.appendFile(chunk);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}
