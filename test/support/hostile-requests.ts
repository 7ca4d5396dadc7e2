import { createHmac } from "node:crypto";
import fc, { type Arbitrary } from "fast-check";
import { fileForm, PDF } from "./files.js";
import { admin, keyOf } from "./helper.js";

// Generates malformed requests.

const CRLF = "\r\n";

export interface Draft {
  line: string;
  headers: [name: string, value: string][];
  body: string;
}

const world = "/api/v1/worlds/demo/";

const rooms = `${world}rooms/`;

const room = `${rooms}00000000-0000-4000-8000-000000000000/`;

const as: [string, string] = ["Authorization", admin("demo")];

const asGuest: [string, string] = ["Authorization", "Client guest"];

const json: [string, string] = ["Content-Type", "application/json"];

const host: [string, string] = ["Host", "demo.example.org"];

const draft = JSON.stringify({
  name: "Room",
  description: "d",
  module_config: [{ type: "chat.native", config: { a: [1, null, true] } }],
  permission_config: { "room.view": [["a", "b"], "c"] },
  sorting_priority: 3,
  domain: "x.example.org:81",
});

const form = fileForm("a.pdf", PDF);

const formType: [string, string] = ["Content-Type", form.headers["content-type"]!];

/** Valid requests, from which mutations start. */
const valid: Draft[] = [
  { line: `GET ${rooms}?page=1&page_size=2&search=a`, headers: [as], body: "" },
  { line: `GET ${world}`, headers: [as, ["If-None-Match", '"x"']], body: "" },
  { line: `GET ${room}`, headers: [as], body: "" },
  { line: `POST ${rooms}`, headers: [as, json], body: draft },
  { line: `PATCH ${room}`, headers: [as, json], body: draft },
  { line: `PATCH ${world}`, headers: [as, json], body: '{"title":"T"}' },
  { line: `DELETE ${room}`, headers: [as, ["If-Match", "*"]], body: "" },
  { line: `POST ${world}delete_user`, headers: [as, json], body: '{"token_id":"u"}' },
  {
    line: "POST /storage/upload/",
    headers: [asGuest, formType],
    body: form.body.toString("latin1"),
  },
  {
    line: `GET /media/pub/demo/00000000-0000-4000-8000-000000000000.aaaaaaaaaaaa.pdf`,
    headers: [["Range", "bytes=0-9,5-"]],
    body: "",
  },
  { line: "GET /healthz", headers: [], body: "" },
  { line: "GET /docs/static/swagger-ui.css", headers: [], body: "" },
];

/** Fragments that have caused trouble in some software. */
const pieces = [
  CRLF,
  "\n",
  "\r",
  "\0",
  " ",
  "\t",
  ":",
  "\r\n\r\n",
  "\r\n ",
  "\r\nX-Evil: 1\r\n",
  "\r\nContent-Length: 0\r\n",
  "\r\nContent-Length: 5\r\n",
  "\r\nContent-Length: +5\r\n",
  "\r\nContent-Length: 99999999999999999999\r\n",
  "\r\nTransfer-Encoding: chunked\r\n",
  "\r\nTransfer-Encoding: xchunked\r\n",
  "\r\nTransfer-Encoding : chunked\r\n",
  "\r\nTransfer-Encoding: chunked, identity\r\n",
  "\r\nExpect: 100-continue\r\n",
  "\r\nExpect: nothing\r\n",
  "\r\nConnection: close\r\n",
  "\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n",
  "\r\nHost: evil.org\r\n",
  "\r\nX-Forwarded-Host: evil.org\r\nX-Forwarded-Proto: javascript\r\n",
  "\r\nContent-Encoding: gzip\r\n",
  "\r\n__proto__: x\r\n",
  "HTTP/2.0",
  "HTTP/1.0",
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "CONNECT evil.org:443 HTTP/1.1\r\n\r\n",
  "TRACE ",
  "http://evil.org",
  "//evil.org",
  "/../",
  "%2e%2e%2f",
  "%00",
  "%0d%0a",
  "%zz",
  "%ff",
  "?",
  "#",
  "*",
  "?__proto__[x]=1&constructor.prototype.x=1",
  "__proto__",
  '"__proto__":{"x":1},',
  '"constructor":{"prototype":{"x":1}},',
  '"\\u0000"',
  '"\\ud800"',
  "1e400",
  "-0",
  "9".repeat(400),
  "[".repeat(2000),
  '{"a":'.repeat(500),
  "a".repeat(9000),
  "A: b\r\n".repeat(500),
  "0\r\n\r\n",
  "ffffffffffffffffff\r\n",
  "-1\r\n",
  "5;a=b\r\nhello\r\n",
  "\x9b31m",
  "\xff\xfe",
  "../../../etc/passwd",
  'filename="a\r\nX-Evil: 1.pdf"',
  "filename*=utf-8''%0d%0aX-Evil%3A1.pdf",
  'name="__proto__"',
  "boundary=",
];

const piece = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...pieces) },
  {
    weight: 1,
    arbitrary: fc
      .uint8Array({ maxLength: 12 })
      .map((bytes) => Buffer.from(bytes).toString("latin1")),
  },
);

/** A position in a text, as a fraction of its length. */
const place = fc.double({ min: 0, max: 1, noNaN: true });

type Mutation = (text: string) => string;

const mutation: Arbitrary<Mutation> = fc.oneof(
  fc.tuple(place, piece).map(([at, what]): Mutation => {
    return (text) => splice(text, at, 0, what);
  }),
  fc.tuple(place, fc.nat(20), piece).map(
    ([at, length, what]): Mutation =>
      (text) =>
        splice(text, at, length, what),
  ),
  fc.tuple(place, fc.nat(40)).map(
    ([at, length]): Mutation =>
      (text) =>
        splice(text, at, length, ""),
  ),
  // Between two lines, where it is parsed as a header.
  fc.tuple(fc.nat(8), piece).map(([line, what]): Mutation => {
    return (text) => {
      const lines = text.split(CRLF);
      lines.splice(1 + (line % lines.length), 0, what.trim());
      return lines.join(CRLF);
    };
  }),
  fc.tuple(place, place).map(([from, to]): Mutation => {
    return (text) => text + text.slice(index(text, from), index(text, to));
  }),
  place.map(
    (at): Mutation =>
      (text) =>
        text.slice(0, index(text, at)),
  ),
);

const index = (text: string, at: number) => Math.floor(at * text.length);

function splice(text: string, at: number, length: number, what: string) {
  const start = index(text, at);
  return text.slice(0, start) + what + text.slice(start + length);
}

/** Serializes a request. */
export const write = ({ line, headers, body }: Draft): string =>
  [
    `${line} HTTP/1.1`,
    ...[host, ...headers].map(([name, value]) => `${name}: ${value}`),
    "",
    body,
  ].join(CRLF);

const withLength = (request: Draft): Draft =>
  request.body === ""
    ? request
    : {
        ...request,
        headers: [
          ...request.headers,
          ["Content-Length", String(Buffer.byteLength(request.body, "latin1"))],
        ],
      };

/** Splits a body into chunks of the given sizes, for requests that are valid or still to be mutated. */
const inChunks = (request: Draft, sizes: number[]): Draft => {
  let rest = request.body;
  let body = "";
  for (const size of sizes) {
    const chunk = rest.slice(0, size);
    rest = rest.slice(size);
    if (chunk) body += `${chunk.length.toString(16)}${CRLF}${chunk}${CRLF}`;
  }
  if (rest) body += `${rest.length.toString(16)}${CRLF}${rest}${CRLF}`;
  return {
    ...request,
    headers: [...request.headers, ["Transfer-Encoding", "chunked"]],
    body: `${body}0${CRLF}${CRLF}`,
  };
};

/** JSON with unexpected content anywhere in it. */
const hostileJson: Arbitrary<string> = fc.letrec<{ value: string; key: string; object: string }>(
  (tie) => ({
    key: fc.constantFrom(
      ...Object.keys(JSON.parse(draft) as object),
      "__proto__",
      "constructor",
      "prototype",
      "toString",
      "type",
      "id",
      "room.view",
      "\\u0000",
      "x".repeat(300),
    ),
    object: fc
      .array(fc.tuple(tie("key"), tie("value")), { maxLength: 5 })
      .map((entries) => `{${entries.map(([key, value]) => `"${key}":${value}`).join(",")}}`),
    value: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.constantFrom(
        '"x"',
        '""',
        "null",
        "true",
        "0",
        "-1",
        "1e400",
        "1e-400",
        "2147483648",
        "[]",
        "{}",
        '"\\u0000"',
        '"\\ud800"',
        '"a\\r\\nX-Evil: 1"',
        `"${"x".repeat(301)}"`,
        `${"[".repeat(120)}${"]".repeat(120)}`,
      ),
      tie("object"),
      fc.array(tie("value"), { maxLength: 4 }).map((values) => `[${values.join(",")}]`),
    ),
  }),
).object;

/** Tokens that are almost valid. */
const hostileToken: Arbitrary<string> = fc
  .tuple(
    fc.dictionary(
      fc.constantFrom("alg", "typ", "kid", "jku", "crit", "b64", "__proto__"),
      fc.oneof(
        fc.constantFrom<unknown>("HS256", "none", "RS256", "", null, 1, ["b64"]),
        fc.jsonValue({ maxDepth: 1 }),
      ),
    ),
    fc.dictionary(
      fc.constantFrom("iss", "aud", "exp", "nbf", "iat", "uid", "traits", "profile", "__proto__"),
      fc.oneof(
        fc.constantFrom<unknown>(keyOf("demo").issuer, 9e9, -1e300, 1e300, ["admin", "api"], null),
        fc.jsonValue({ maxDepth: 2 }),
      ),
    ),
    fc.boolean(),
  )
  .map(([header, claims, good]) => {
    const key = keyOf("demo");
    const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString("base64url");
    const least = { iss: key.issuer, aud: key.audience, exp: 9e9 };
    // Signed by hand, because no library signs invalid tokens.
    const text = `${encode({ alg: "HS256", ...header })}.${encode({ ...least, ...claims })}`;
    const signature = createHmac("sha256", key.secret).update(text);
    return `Bearer ${text}.${good ? signature.digest("base64url") : "AAAA"}`;
  });

/** Requests that are valid except for some mutations. */
const hostile: Arbitrary<string> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .tuple(
        fc.constantFrom(...valid),
        fc.oneof(
          fc.constant(withLength),
          fc
            .array(fc.integer({ min: 1, max: 40 }), { maxLength: 6 })
            .map((sizes) => (request: Draft) => inChunks(request, sizes)),
        ),
        fc.array(mutation, { minLength: 1, maxLength: 4 }),
      )
      .map(([request, framed, mutations]) =>
        mutations.reduce((text, mutate) => mutate(text), write(framed(request))),
      ),
  },
  // Hostile content in a valid frame gets further into the server.
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom(...valid.filter(({ headers }) => headers.includes(json))), hostileJson)
      // A change to the world's rules could lock everybody out.
      .filter(([{ line }]) => !line.startsWith(`PATCH ${world} `))
      .map(([request, body]) => write(withLength({ ...request, body }))),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constantFrom(...valid), hostileToken).map(([request, token]) =>
      write(
        withLength({
          ...request,
          headers: [
            ["Authorization", token],
            ...request.headers.filter(([name]) => name !== "Authorization"),
          ],
        }),
      ),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.array(mutation, { minLength: 1, maxLength: 3 }).map((mutations) => {
      const text = form.body.toString("latin1");
      const body = mutations.reduce((text, mutate) => mutate(text), text);
      return write(
        withLength({ line: "POST /storage/upload/", headers: [asGuest, formType], body }),
      );
    }),
  },
);

/** The content of one connection: good requests, then hostile ones, split into writes at any position. */
export interface Conversation {
  good: number;
  hostile: string[];
  cuts: number[];
}

export const conversation: Arbitrary<Conversation> = fc.record({
  good: fc.nat(3),
  hostile: fc.array(hostile, { minLength: 1, maxLength: 3 }),
  cuts: fc.array(place, { maxLength: 4 }),
});
