import {
  ListObjectsV2Command,
  type ListObjectsV2CommandInput,
  type S3Client,
} from "@aws-sdk/client-s3";

/** An object as a list has it. */
export interface ListedObject {
  key: string;
  size: number;
  modified: Date;
}

/** A page of a list. */
export interface ObjectPage {
  objects: ListedObject[];
  /** By the clock of the server. */
  now: Date;
}

/**
 * Reads a page of a list of objects.
 * @returns it, and the token of the next one; undefined if there is none.
 * @throws what the client throws.
 */
export async function listPage(
  client: S3Client,
  input: ListObjectsV2CommandInput,
  abortSignal: AbortSignal,
): Promise<ObjectPage & { next: string | undefined }> {
  const command = new ListObjectsV2Command(input);
  let now = new Date();
  command.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const { headers } = result.response as {
        headers: Record<string, string>;
      };
      if (headers["date"] !== undefined) now = new Date(headers["date"]);
      return result;
    },
    { step: "deserialize", priority: "high" },
  );
  const {
    Contents = [],
    IsTruncated,
    NextContinuationToken,
  } = await client.send(command, { abortSignal });
  const objects = Contents.map(({ Key, Size, LastModified }) => ({
    key: Key!,
    size: Size ?? 0,
    modified: LastModified ?? now,
  }));
  return {
    objects,
    now,
    next: IsTruncated ? NextContinuationToken : undefined,
  };
}
