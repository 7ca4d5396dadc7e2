import {
  GetObjectCommand,
  type GetObjectCommandInput,
  type S3Client,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import type { FileLink } from "../../contract/files.js";

/**
 * A public address of an object.
 * @param seconds for how long; less if the credentials end before.
 */
export async function signedLink(
  client: S3Client,
  object: GetObjectCommandInput,
  seconds: number,
): Promise<FileLink> {
  const { config } = client;
  const { expiration } = await config.credentials();
  // The client has learned by how much the clock of the server differs.
  const now = Date.now() + config.systemClockOffset;
  const left = expiration ? (expiration.getTime() - now) / 1000 : Infinity;
  const expiresIn = Math.max(1, Math.floor(Math.min(seconds, left)));
  const signingDate = new Date(now);
  const command = new GetObjectCommand(object);
  const url = await getSignedUrl(client, command, { expiresIn, signingDate });
  return { url, seconds: expiresIn };
}
