import type { BucketOptions } from "./choice.js";
import type { FileStore } from "./files.js";
import { LocalFiles } from "./local/files.js";

/** Opens the store of bytes: a bucket, or the folder in `dataDir`. */
export async function openFiles(
  dataDir: string,
  bucket: BucketOptions | undefined,
): Promise<FileStore> {
  if (!bucket) return new LocalFiles(dataDir);
  const { S3Files } = await import("./s3/files.js");
  return S3Files.open(bucket, dataDir);
}
