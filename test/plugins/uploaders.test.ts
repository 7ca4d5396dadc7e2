import { createHmac } from "node:crypto";
import t from "tap";
import { fileForm, PDF, upload } from "../files.js";
import { keyOf, serve } from "../helper.js";

/** A token of the world `demo` with more claims, as JSON text. */
function signed(more: string): string {
  const { issuer, audience, secret } = keyOf("demo");
  const [head, body] = [
    '{"alg":"HS256"}',
    `{"iss":"${issuer}","aud":"${audience}","exp":9999999999,${more}}`,
  ].map((text) => Buffer.from(text).toString("base64url"));
  const hmac = createHmac("sha256", secret).update(`${head}.${body}`);
  return `Bearer ${head}.${body}.${hmac.digest("base64url")}`;
}

void t.test("claims that cannot be kept are no right to upload", async (t) => {
  const server = await serve(t);
  const deep = `${'{"a":'.repeat(4000)}1${"}".repeat(4000)}`;
  const cases: [name: string, as: string, status: number][] = [
    ["a deep profile", signed(`"uid":"u","profile":${deep}`), 403],
    ["a NUL in a profile", signed('"uid":"u","profile":{"a":"\\u0000"}'), 403],
    ["a NUL in the uid", signed('"uid":"u\\u0000"'), 403],
    ["half a character", signed('"uid":"u","traits":["\\ud800"]'), 403],
    ["a NUL in a client ID", "Client a\0", 403],
    ["a profile", signed('"uid":"u","profile":{"a":1}'), 201],
  ];
  for (const [name, as, status] of cases) {
    const got = await upload(server, fileForm("a.pdf", PDF), { as });
    t.equal(got.status, status, name);
    if (status === 403) t.equal(got.text, "", `${name}: nothing is told`);
  }
  const users = await server.store.users.list("demo");
  t.strictSame(
    users.map(({ token_id, profile }) => [token_id, profile]),
    [["u", { a: 1 }]],
  );
});
