import type { BucketOptions } from "./choice.js";
import type { FileStore } from "./contract/files.js";
import { LocalFiles } from "./blobs/folder/files.js";

/** Opens the store of bytes: a bucket, or the folder in `dataDir`. */
export async function openFiles(
  dataDir: string,
  bucket: BucketOptions | undefined,
): Promise<FileStore> {
  if (!bucket) return new LocalFiles(dataDir);
  const { S3Files } = await import("./blobs/bucket/files.js");
  return S3Files.open(bucket, dataDir);
}
