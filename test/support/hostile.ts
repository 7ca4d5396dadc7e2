import { connect } from "node:net";
import { admin } from "./helper.js";
import { type Conversation, write } from "./hostile-requests.js";

const CRLF = "\r\n";

// Invariants of the answers to arbitrary bytes.

/** An answer as received over the wire. */
export interface WireAnswer {
  status: number;
  headers: [name: string, value: string][];
  text: string;
}

/**
 * Parses the bytes of a connection.
 * @returns the complete answers, and the remaining bytes.
 * @throws {Error} if an answer does not indicate where it ends.
 */
export function answersIn(bytes: Buffer): { answers: WireAnswer[]; rest: Buffer } {
  const answers: WireAnswer[] = [];
  let rest = bytes;
  for (;;) {
    const end = rest.indexOf("\r\n\r\n");
    if (end < 0) return { answers, rest };
    const [line = "", ...lines] = rest.toString("latin1", 0, end).split(CRLF);
    const status = Number(/^HTTP\/1\.1 (\d{3}) [\x20-\x7e]+$/.exec(line)?.[1]);
    if (!status) throw new Error(`no status line: ${JSON.stringify(line)}`);
    const headers = lines.map((text): [string, string] => {
      const [, name, value] = /^([\w-]+): ([^\r\n\0]*)$/.exec(text) ?? [];
      if (name === undefined || value === undefined)
        throw new Error(`no header: ${JSON.stringify(text)}`);
      return [name.toLowerCase(), value];
    });
    const length = headers.find(([name]) => name === "content-length")?.[1];
    const bare = status < 200 || status === 204 || status === 304;
    if (!bare && length === undefined) throw new Error(`${status} without a length`);
    const start = end + 4;
    const stop = start + (bare ? 0 : Number(length));
    if (rest.length < stop) return { answers, rest };
    answers.push({ status, headers, text: rest.toString("utf8", start, stop) });
    rest = rest.subarray(stop);
  }
}

/** Headers that an answer may carry; any other was injected by a client. */
const HEADERS = new Set(
  `x-request-id x-content-type-options content-type content-length date connection
  keep-alive cache-control etag location www-authenticate allow retry-after
  accept-ranges content-range content-security-policy last-modified vary`.split(/\s+/),
);

/**
 * Checks that the service could have sent an answer.
 * @throws {Error} that describes the violation.
 */
export function checkAnswer({ status, headers, text }: WireAnswer): void {
  const fail = (why: string) => {
    throw new Error(`${why}: ${status} ${JSON.stringify(headers)} ${text}`);
  };
  if (status >= 500) fail("a fault of the server");
  if (status === 100) return;
  const names = headers.map(([name]) => name);
  const strange = names.find((name) => !HEADERS.has(name));
  if (strange !== undefined) fail(`a header ${strange}`);
  if (new Set(names).size < names.length) fail("a header twice");
  if (!names.includes("x-request-id")) fail("no number");
  if (status < 400 || text === "") return;
  const body = JSON.parse(text) as Record<string, unknown>;
  const isSentence = (value: unknown) => typeof value === "string";
  const isShaped =
    Object.keys(body).length > 0 &&
    (isSentence(body.error) ||
      (isSentence(body.detail) && isSentence(body.code)) ||
      Object.values(body).every((value) => Array.isArray(value) && value.every(isSentence)));
  if (!isShaped) fail("another shape");
}

/** Silence after which no more bytes are expected, in milliseconds. */
const QUIET = 60;

let lastTag = 0;

/**
 * Plays a conversation, and checks the answers.
 * @throws {Error} that describes the violation.
 */
export async function converse(port: number, { good, hostile, cuts }: Conversation): Promise<void> {
  // A link in the answer repeats the query, which identifies the answer.
  const tags = Array.from({ length: good }, () => `page_size=${1 + (++lastTag % 1000)}`);
  const text =
    tags
      .map((tag) =>
        write({
          line: `GET /api/v1/worlds/good/rooms/?page=2&${tag}`,
          headers: [["Authorization", admin("good")]],
          body: "",
        }),
      )
      .join("") + hostile.join("");
  const bytes = await exchange(port, Buffer.from(text, "latin1"), cuts, good);
  const { answers } = answersIn(bytes);
  answers.forEach(checkAnswer);
  for (const [i, tag] of tags.entries()) {
    const answer = answers[i];
    if (answer?.status !== 200 || !answer.text.includes(`&${tag}"`)) {
      throw new Error(`${tag} is answered by ${answer?.status} ${answer?.text}`);
    }
  }
  const late = answers.slice(good).find((one) => /worlds\/good\//.test(one.text));
  if (late) throw new Error(`answered twice: ${late.text}`);
}

/**
 * Sends bytes in pieces, and returns what was received before the connection fell silent.
 * @param owed minimum number of answers before silence counts as the end.
 */
function exchange(port: number, bytes: Buffer, cuts: number[], owed: number) {
  return new Promise<Buffer>((resolve, reject) => {
    const received: Buffer[] = [];
    const socket = connect(port, "127.0.0.1");
    // Bytes received before a reset still count; a refused connection is a failure.
    socket.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNREFUSED") reject(error);
    });
    socket.on("data", (chunk) => received.push(chunk));
    const onQuiet = () => {
      const { answers } = answersIn(Buffer.concat(received));
      if (answers.length >= owed) socket.destroy();
      else socket.setTimeout(QUIET);
    };
    socket.on("timeout", onQuiet);
    socket.setTimeout(QUIET);
    socket.once("close", () => resolve(Buffer.concat(received)));
    const ends = [...cuts.map((at) => Math.floor(at * bytes.length))].sort((a, b) => a - b);
    let start = 0;
    for (const end of [...ends, bytes.length]) {
      socket.write(bytes.subarray(start, end));
      start = end;
    }
  });
}
