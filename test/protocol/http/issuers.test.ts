import { createHmac } from "node:crypto";
import { exportSPKI } from "jose";
import t, { type Test } from "tap";
import { KeySets } from "../../../plugins/auth/key-sets.js";
import { Outbound } from "../../../plugins/outbound/outbound.js";
import { admin, keyOf, tokenOf, worldOf } from "../../support/helper.js";
import { keyServer, makeKey } from "../../support/provider.js";
import { startServer } from "../../support/server.js";

const issuer = "https://login.example.org";
const audience = "foyer";
const url = "/api/v1/worlds/demo/";
const named = { iss: issuer, aud: audience, sub: "42" };
const traits = { always: ["admin", "api"] };

/**
 * Starts a server with the worlds `demo`, which accepts tokens from these issuers, and `other`,
 * which accepts none.
 */
async function serve(t: Test, ...issuers: object[]) {
  const config = {
    JWT_secrets: [keyOf("demo")],
    JWT_issuers: issuers.map((it) => ({ issuer, audience, traits, ...it })),
  };
  const world = worldOf("demo", { config });
  const served = await startServer(t, {
    worlds: [world, worldOf("other")],
    config: { webhookAllow: ["127.0.0.0/8"] },
  });
  const { call, app } = served;
  return {
    ...served,
    status: async (token: string, at = url) =>
      (await call({ url: at, as: `Bearer ${token}` })).status,
    who: async (token: string) => (await app.identify({ token }, "demo")).identity,
  };
}

void t.test("which tokens of another issuer count", async (t) => {
  const [rs, ps, es, ed, es384] = await Promise.all([
    makeKey("RS256", "rs"),
    makeKey("PS256", "ps"),
    makeKey("ES256", "es"),
    makeKey("EdDSA", "ed"),
    makeKey("ES384", "es384"),
  ]);
  const stranger = await makeKey("RS256", "rs");
  const keys = [rs.jwk, ps.jwk, es.jwk, ed.jwk, es384.jwk];
  const { status } = await serve(t, { jwks: { keys } });
  const narrow = await serve(t, { jwks: { keys }, algorithms: ["ES256"] });
  const spki = await exportSPKI(rs.publicKey);
  const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const byHand = (header: object, secret?: string | Buffer) => {
    const body = `${encoded(header)}.${encoded({ ...named, exp: 4e9 })}`;
    const signed = secret && createHmac("sha256", secret).update(body).digest("base64url");
    return `${body}.${signed ?? ""}`;
  };
  const now = Math.floor(Date.now() / 1000);
  const rows: [name: string, token: string, status: number][] = [
    ["RS256", await rs.sign(named), 200],
    ["PS256", await ps.sign(named), 200],
    ["ES256", await es.sign(named), 200],
    ["EdDSA", await ed.sign(named), 200],
    ["ES384", await es384.sign(named), 401],
    ["without a kid", await rs.sign(named, { kid: undefined }), 200],
    ["one of several audiences", await rs.sign({ ...named, aud: ["a", audience] }), 200],
    ["a uid is not needed", await rs.sign({ ...named, sub: undefined }), 200],
    ["another signer", await stranger.sign(named), 401],
    ["another audience", await rs.sign({ ...named, aud: "a" }), 401],
    ["another issuer", await rs.sign({ ...named, iss: `${issuer}/` }), 401],
    ["no issuer", await rs.sign({ ...named, iss: undefined }), 401],
    ["no end", await rs.sign({ ...named, exp: undefined }), 401],
    ["expired", await rs.sign({ ...named, exp: now - 1 }), 401],
    ["not yet valid", await rs.sign({ ...named, nbf: now + 60 }), 401],
    ["a time that is a text", await rs.sign({ ...named, exp: "4000000000" }), 401],
    ["a critical header", await rs.sign(named, { crit: ["x"], x: 1 }), 401],
    ["an unknown kid", await rs.sign(named, { kid: "x" }), 401],
    ["the kid of another key", await rs.sign(named, { kid: "es" }), 401],
    ["no algorithm", byHand({ alg: "none" }), 401],
    ["the public key as an HMAC secret", byHand({ alg: "HS256", kid: "rs" }, spki), 401],
    ["its modulus as one", byHand({ alg: "HS256" }, Buffer.from(rs.jwk.n!, "base64url")), 401],
    ["a key in the header", await stranger.sign(named, { jwk: stranger.jwk }), 401],
    ["an address in the header", await stranger.sign(named, { jku: "http://127.0.0.1:1/" }), 401],
    ["as a key of the world", tokenOf({ issuer, audience, secret: "x".repeat(40) }), 401],
    [
      "with the names of a key of the world",
      await rs.sign({ iss: keyOf("demo").issuer, aud: keyOf("demo").audience }),
      401,
    ],
    ["a key of the world", tokenOf(keyOf("demo"), { traits: ["admin", "api"] }), 200],
  ];
  for (const [name, token, expected] of rows) {
    t.equal(await status(token), expected, name);
    t.equal(await status(token), expected, `${name}, again`);
    const there = expected === 200 ? 403 : 401;
    t.equal(await status(token, "/api/v1/worlds/other/"), there, `${name}, in another world`);
  }
  t.equal(await narrow.status(await rs.sign(named)), 401, "narrowed");
  t.equal(await narrow.status(await es.sign(named)), 200, "to this one");
});

void t.test("who the users of an issuer are", async (t) => {
  const { sign, jwk } = await makeKey("ES256", "1");
  const jwks = { keys: [jwk] };
  const groups = {
    always: ["attendee"],
    claim: "realm_access.roles",
    map: { staff: ["moderator"], board: ["admin", "api"], __proto__x: [] },
  };
  const mapped = { jwks, traits: groups };
  const roles = (...roles: unknown[]) => ({ realm_access: { roles } });
  const rows: [
    name: string,
    entry: object,
    claims: object,
    identity: { tokenId?: string | undefined; traits?: string[]; profile?: object | undefined },
  ][] = [
    [
      "nothing is mapped",
      { jwks, traits: undefined },
      { groups: ["admin"], traits: ["admin"], uid: "x", email: "a@b" },
      { tokenId: `${issuer}#42`, traits: [], profile: undefined },
    ],
    ["a trusted issuer", { jwks, trusted: true }, {}, { tokenId: "42" }],
    ["another claim", { jwks, uid: "user.id" }, { user: { id: 7 } }, { tokenId: `${issuer}#7` }],
    [
      "a claim whose name has dots",
      { jwks, uid: "https://a.org/id" },
      { "https://a.org/id": "x" },
      { tokenId: `${issuer}#x` },
    ],
    ["no such claim", { jwks, uid: "user.id.toString" }, {}, { tokenId: undefined }],
    [
      "a claim that all objects have",
      { jwks, uid: "constructor.name" },
      {},
      { tokenId: undefined },
    ],
    ["a map", mapped, roles("staff", "other", 5, null), { traits: ["attendee", "moderator"] }],
    [
      "a map with two",
      mapped,
      roles("board", "staff"),
      { traits: ["attendee", "admin", "api", "moderator"] },
    ],
    ["names of all objects", mapped, roles("constructor", "__proto__"), { traits: ["attendee"] }],
    ["a claim of another type", mapped, roles({ staff: true }), { traits: ["attendee"] }],
    [
      "no map",
      { jwks, traits: { claim: "groups" } },
      { groups: ["a", "", "b", "x".repeat(201)] },
      { traits: ["a", "b"] },
    ],
    ["one string", { jwks, traits: { claim: "role" } }, { role: "crew" }, { traits: ["crew"] }],
    [
      "a name",
      { jwks },
      { name: " Ada ", preferred_username: "al" },
      { profile: { display_name: "Ada" } },
    ],
    [
      "a user name",
      { jwks },
      { preferred_username: "al", picture: "https://evil.example/a.png" },
      { profile: { display_name: "al" } },
    ],
    [
      "a profile",
      { jwks },
      { name: "Ada", profile: { display_name: "Countess" } },
      { profile: { display_name: "Countess" } },
    ],
    [
      "a profile that is a page",
      { jwks },
      { name: "Ada", profile: "https://a.org" },
      { profile: { display_name: "Ada" } },
    ],
  ];
  for (const [name, entry, claims, identity] of rows) {
    const { who } = await serve(t, entry);
    const found = await who(await sign({ ...named, ...claims }));
    if ("tokenId" in identity) t.equal(found.tokenId, identity.tokenId, name);
    if (identity.traits) t.strictSame([...found.traits], identity.traits, name);
    if ("profile" in identity) t.strictSame(found.profile, identity.profile, name);
  }
});

void t.test("the picture of a user", async (t) => {
  const { sign, jwk } = await makeKey("ES256", "1");
  const { who, store } = await serve(t, { jwks: { keys: [jwk] } });
  const id = "0d6f1a3e-8c1b-4a55-9f5e-2f6d4c7a9b10";
  const key = `pub/demo/${id}.dZxQJU8_ZgNT.png`;
  const uploader = { tokenId: "42", traits: new Set<string>() };
  const file = { key, size: 1, sha256: "0".repeat(64) };
  await store.files.add("demo", uploader, file, 1000);
  const at = (key: string) => `https://demo.example.org/media/${key}`;
  for (const [picture, profile] of [
    [at(key), { avatar: { url: at(key) } }],
    [at(key.replace("dZ", "xZ")), undefined],
    [at(key.replace("demo", "other")), undefined],
  ] as const) {
    const found = await who(await sign({ ...named, picture }));
    t.strictSame(found.profile, profile, picture);
  }
});

void t.test("keys at an address", async (t) => {
  const first = await makeKey("ES256", "1");
  const second = await makeKey("ES256", "2");
  const keys = await keyServer(t, [first.jwk]);
  keys.answer = { status: 503 };
  const { status } = await serve(t, { jwks_url: keys.url });
  const token = await first.sign(named);
  t.equal(await status(token), 401, "the issuer never answered");
  t.equal(keys.asked, 1);
  t.equal(await status(token), 401);
  t.equal(keys.asked, 1, "it is not asked at once");

  keys.answer = undefined;
  const served = await serve(t, { jwks_url: keys.url });
  keys.asked = 0;
  const all = Array.from({ length: 20 }, () => served.status(token));
  t.strictSame(new Set(await Promise.all(all)), new Set([200]));
  t.equal(keys.asked, 1, "one question for all");
  keys.keys = [second.jwk];
  t.equal(await served.status(await second.sign(named)), 200, "a new key");
  t.equal(await served.status(token), 401, "the old key is gone");
  for (let i = 0; i < 30; i++) {
    const flood = await second.sign(named, { kid: `x${i}` });
    t.equal(await served.status(flood), 401);
  }
  t.equal(keys.asked, 2, "no flood of names of keys");
});

void t.test("how long keys count", async (t) => {
  const key = await makeKey("ES256", "1");
  const keys = await keyServer(t, [key.jwk]);
  const outbound = new Outbound({ allow: ["127.0.0.1"] });
  t.teardown(() => outbound.close());
  const lines: string[] = [];
  let now = Date.now();
  const sets = new KeySets({ outbound, warn: (line) => lines.push(line), now: () => now });
  const minutes = (count: number) => void (now += count * 60_000);
  keys.answer = { body: "<html>" };
  t.equal(await sets.get(keys.url), undefined);
  t.match(lines, [/is not JSON/]);
  keys.answer = undefined;
  minutes(1);
  const set = await sets.get(keys.url);
  t.ok(set);
  t.ok(sets.isCurrent(keys.url, set!.version));
  minutes(9);
  await sets.get(keys.url);
  t.equal(keys.asked, 2);
  minutes(2);
  t.notOk(sets.isCurrent(keys.url, set!.version));
  await sets.get(keys.url);
  t.equal(keys.asked, 3, "after ten minutes");
  keys.answer = { status: 500 };
  minutes(11);
  for (let i = 0; i < 5; i++) t.ok(await sets.get(keys.url));
  t.equal(keys.asked, 4, "once in a minute");
  t.match(lines.at(-1), /status 500.*count for a day/);
  minutes(23 * 60);
  t.ok(await sets.get(keys.url));
  minutes(60);
  t.equal(await sets.get(keys.url), undefined, "a day is over");
  keys.answer = { body: JSON.stringify({ keys: "x".repeat(1 << 20) }) };
  minutes(2);
  t.equal(await sets.get(keys.url), undefined);
  t.match(lines.at(-1), /too large/);
});

void t.test("what a config may name", async (t) => {
  const { jwk } = await makeKey("ES256", "1");
  const { call, store } = await serve(t, { jwks: { keys: [jwk] } });
  const jwks = { keys: [jwk] };
  const as = admin("demo");
  const patch = (config: object) => call({ method: "PATCH", url, as, body: { config } });
  const entry = { issuer, audience };
  const provider = { id: "sso", name: "SSO", issuer, client_id: "foyer" };
  const at = "config.JWT_issuers.0";
  const bad: [config: object, field: string][] = [
    [{ JWT_issuers: [entry] }, at],
    [{ JWT_issuers: [{ ...entry, jwks, jwks_url: "https://8.8.8.8/" }] }, at],
    [{ JWT_issuers: [{ ...entry, jwks: { keys: [] } }] }, `${at}.jwks.keys`],
    [
      { JWT_issuers: [{ ...entry, jwks: { keys: [{ kty: "oct", k: "x" }] } }] },
      `${at}.jwks.keys.0`,
    ],
    [{ JWT_issuers: [{ ...entry, jwks: { keys: [{ ...jwk, d: "x" }] } }] }, `${at}.jwks.keys.0`],
    [{ JWT_issuers: [{ ...entry, jwks, algorithms: ["HS256"] }] }, `${at}.algorithms.0`],
    [{ JWT_issuers: [{ ...entry, jwks, algorithms: ["none"] }] }, `${at}.algorithms.0`],
    [{ JWT_issuers: [{ ...entry, jwks, algorithms: [] }] }, `${at}.algorithms`],
    [{ JWT_issuers: [{ ...entry, jwks, traits: { always: ["a b"] } }] }, `${at}.traits.always.0`],
    [{ JWT_issuers: [{ ...entry, jwks, more: 1 }] }, `${at}.more`],
    [{ JWT_issuers: [{ ...entry, jwks, issuer: "https://a#b" }] }, `${at}.issuer`],
    [{ JWT_issuers: [{ ...entry, jwks, issuer: "https://10.0.0.1" }] }, `${at}.issuer`],
    [{ JWT_issuers: [{ ...entry, jwks_url: "https://169.254.169.254/" }] }, `${at}.jwks_url`],
    [{ JWT_issuers: [{ ...entry, jwks_url: "http://8.8.8.8/" }] }, `${at}.jwks_url`],
    [{ JWT_issuers: Array.from({ length: 21 }, () => ({ ...entry, jwks })) }, "config.JWT_issuers"],
    [{ JWT_issuers: null }, "config.JWT_issuers"],
    [{ oidc: [{ ...provider, issuer: "https://10.0.0.1" }] }, "config.oidc.0.issuer"],
    [{ oidc: [{ ...provider, issuer: "sso" }] }, "config.oidc.0.issuer"],
    [{ oidc: [{ ...provider, id: "S/" }] }, "config.oidc.0.id"],
    [{ oidc: [provider, provider] }, "config.oidc.1.id"],
    [{ oidc: [{ ...provider, session_hours: 0 }] }, "config.oidc.0.session_hours"],
    [{ oidc: Array.from({ length: 6 }, (_, i) => ({ ...provider, id: `p${i}` })) }, "config.oidc"],
  ];
  for (const [config, field] of bad) {
    const { status, body } = await patch(config);
    t.equal(status, 400, JSON.stringify(config).slice(0, 200));
    t.ok(Object.hasOwn(body as object, field), JSON.stringify(body));
  }
  const good = { JWT_issuers: [{ ...entry, issuer: "shop", jwks }], oidc: [provider] };
  t.match(await patch(good), { status: 200, body: { config: good } });
  t.match(
    await patch({ theme: {} }),
    { status: 200, body: { config: { ...good, theme: {} } } },
    "a config without them keeps them",
  );
  await store.worlds.configure("demo", { config: { oidc: [], JWT_issuers: [] } });
  t.match(await call({ url, as }), { body: { config: good } });
  t.match(await patch({ JWT_issuers: [], oidc: [] }), {
    body: { config: { JWT_issuers: [], oidc: [] } },
  });
});

void t.test("an issuer that is removed", async (t) => {
  const { jwk, sign } = await makeKey("ES256", "1");
  const { call, status } = await serve(t, { jwks: { keys: [jwk] } });
  const token = await sign(named);
  const as = admin("demo");
  const patch = (config: object) => call({ method: "PATCH", url, as, body: { config } });
  t.equal(await status(token), 200);
  await patch({ theme: {} });
  t.equal(await status(token), 200, "another setting changed");
  const entry = { issuer, audience, jwks: { keys: [jwk] } };
  await patch({ JWT_issuers: [entry] });
  t.equal(await status(token), 403, "it has no traits now");
  await patch({ JWT_issuers: [] });
  t.equal(await status(token), 401);
});
