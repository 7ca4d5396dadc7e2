import type { FileStore } from "./files.js";
import { type Store, StoreError } from "./store.js";

/**
 * Deletes a file: its record, and its bytes also if a crash comes in between.
 * @throws {StoreError} `absent`.
 */
export async function deleteFile(
  store: Store,
  files: FileStore,
  worldId: string,
  id: string,
): Promise<void> {
  const file = await store.files.get(worldId, id);
  if (!file) throw new StoreError("absent", "There is no such file.");
  await files.discard([file.key], async () => [
    await store.files.delete(worldId, id),
  ]);
}
