import { GUEST, PDF } from "../support/files.js";

// Requests to a server in a separate process.

export interface Answer {
  status: number;
  /** The header Retry-After. */
  retryAfter: string | null;
  body: unknown;
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  return {
    status: response.status,
    retryAfter: response.headers.get("retry-after"),
    body: text === "" ? undefined : (JSON.parse(text) as unknown),
  };
}

/**
 * Sends a request on its own connection. Any worker may accept it, and no server can close a reused
 * connection just when the next request is sent.
 * @param path relative to the worlds API.
 * @throws {TypeError} if there is no answer.
 */
export const request = async (
  { address, token }: { address: string; token: string },
  path: string,
  method = "GET",
  body?: unknown,
): Promise<Answer> =>
  answerOf(
    await fetch(`${address}/api/v1/worlds/${path}`, {
      method,
      signal: AbortSignal.timeout(60_000),
      headers: {
        authorization: `Bearer ${token}`,
        connection: "close",
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }),
  );

/**
 * Uploads a file, as a guest by default. The connection stays open, because an early refusal would
 * end a connection that the client asks to close.
 * @throws {TypeError} if there is no answer.
 */
export async function upload(
  { address }: { address: string },
  bytes: string | Buffer = PDF,
  name = "a.pdf",
  headers: Record<string, string> = {},
): Promise<Answer> {
  const form = new FormData();
  form.append("file", new Blob([bytes as BlobPart]), name);
  return answerOf(
    await fetch(`${address}/storage/upload/`, {
      method: "POST",
      signal: AbortSignal.timeout(60_000),
      headers: { authorization: GUEST, ...headers },
      body: form,
    }),
  );
}

/** Returns the path of an uploaded file. */
export const pathOf = ({ body }: Answer): string => new URL((body as { url: string }).url).pathname;

/** Returns the status of an answer; 0 if there is none. */
export const statusOf = (answer: Promise<Answer>): Promise<number> =>
  answer.then(
    ({ status }) => status,
    () => 0,
  );
