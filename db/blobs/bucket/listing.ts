import {
  ListObjectsV2Command,
  type ListObjectsV2CommandInput,
  type S3Client,
} from "@aws-sdk/client-s3";
import { isCount } from "../../../schemas/plain/shapes.js";

export interface ListedObject {
  key: string;
  size: number;
  modified: Date;
}

export interface ObjectPage {
  objects: ListedObject[];
  /** The time of the response, according to the server's clock. */
  now: Date;
}

/**
 * Reads a page of an object listing.
 * @returns the page. `next` is the token of the next page, or undefined on the last page.
 * @throws any error that the client throws.
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
  const answer = await client.send(command, { abortSignal });
  const { Contents = [], IsTruncated, NextContinuationToken } = answer;
  // Without any of these fields, the response is an unrelated page rather than an empty listing.
  if ((answer.Name ?? answer.KeyCount ?? IsTruncated) === undefined) {
    throw malformed();
  }
  const objects = Contents.map(({ Key, Size, LastModified: modified }) => {
    if (!Key || !isCount(Size) || !isTime(modified)) throw malformed();
    return { key: Key, size: Size as number, modified };
  });
  const next = IsTruncated ? NextContinuationToken : undefined;
  // Guards against a server that repeats the same page forever.
  const isStuck = IsTruncated && (!next || next === input.ContinuationToken);
  if (isStuck || !isTime(now)) throw malformed();
  return { objects, now, next };
}

/** Whether the server sent a valid date. */
export const isTime = (time: Date | undefined): time is Date =>
  time !== undefined && !Number.isNaN(time.getTime());

export const malformed = (): Error => new Error("it does not answer like an S3 server");
