import { createHmac } from "node:crypto";
import t from "tap";
import type { Store } from "../../db/contract/store.js";
import { fileForm, finished, PDF, upload, headOf } from "../files.js";
import { dial, keyOf, listen, rules, serve, worldOf } from "../helper.js";
import { usersOf } from "../listed.js";

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
    ["a profile", signed('"uid":"u","traits":["x"],"profile":{"a":1}'), 201],
  ];
  for (const [name, as, status] of cases) {
    const got = await upload(server, fileForm("a.pdf", PDF), { as });
    t.equal(got.status, status, name);
    if (status === 403) t.equal(got.text, "", `${name}: the answer is empty`);
  }
  const users = await usersOf(server.store, "demo");
  t.strictSame(
    users.map(({ token_id, traits, profile }) => [token_id, traits, profile]),
    [["u", ["x"], { a: 1 }]],
  );
});

void t.test("the right to upload is asked for again at the end", async (t) => {
  const form = fileForm("a.pdf", PDF);
  const body = Buffer.from(form.body as Uint8Array).toString("latin1");
  const guest = "Client guest-1";
  const cases: [
    name: string,
    as: string,
    change: (store: Store) => Promise<unknown>,
    status: number,
  ][] = [
    ["nothing changed", guest, async () => {}, 201],
    [
      "guests are kept out",
      guest,
      (store) =>
        store.worlds.update("demo", {
          permission_config: rules({ "world.view": ["attendee"] }),
        }),
      403,
    ],
    [
      "the key is gone",
      signed('"uid":"u"'),
      (store) =>
        store.worlds.update("demo", {
          config: { JWT_secrets: [keyOf("other")] },
        }),
      403,
    ],
    ["the world is gone", guest, (store) => store.worlds.delete("demo"), 403],
    [
      "its domain is another world's",
      guest,
      async (store) => {
        const { domain } = worldOf("demo");
        await store.worlds.update("demo", { domain: "x.org" });
        await store.worlds.create(worldOf("next", { domain }));
      },
      403,
    ],
  ];
  for (const [name, as, change, status] of cases) {
    const { app, store, dataDir } = await serve(t);
    const wire = dial(t, await listen(app));
    const half = body.length / 2;
    const Host = "demo.example.org";
    const Expect = "100-continue";
    wire.send(headOf(form, { Authorization: as, Host, Expect }));
    t.equal((await wire.answer()).status, 100);
    wire.send(body.slice(0, half));
    await change(store);
    wire.send(body.slice(half));
    const got = await wire.answer();
    t.equal(got.status, status, name);
    if (status === 201) continue;
    t.equal(got.text, "", `${name}: the answer is empty`);
    const left = await finished(dataDir);
    t.notOk(
      left.some((file) => file.endsWith(".pdf")),
      `${name}: nothing is stored`,
    );
  }
});
