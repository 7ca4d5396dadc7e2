import { createHmac } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { createDecoder, createVerifier } from "fast-jwt";
import t from "tap";
import { claimsSignedBy, readToken } from "../../../plugins/auth/identity.js";
import type { WorldChanges } from "../../../schemas/worlds.js";
import {
  admin,
  ask,
  bearer,
  call as send,
  keyOf,
  rawRequest,
  rules,
  tokenOf,
  until,
  worldOf,
} from "../../support/helper.js";
import { startServer } from "../../support/server.js";
import { shared } from "../../support/shared.js";
import { openStoreIn } from "../../support/stack.js";

const url = "/api/v1/worlds/demo/";

const key = keyOf("demo");

const now = () => Date.now() / 1000;

/** Returns valid claims of an administrator, with some changed or removed. */
const claims = (changes: Record<string, unknown> = {}) => ({
  iss: key.issuer,
  aud: key.audience,
  exp: now() + 3600,
  traits: ["admin", "api"],
  ...changes,
});

const encode = (part: unknown) =>
  Buffer.from(typeof part === "string" ? part : JSON.stringify(part)).toString("base64url");

/** Returns a token that no library would sign. */
function forge(
  payload: unknown,
  header: unknown = { alg: "HS256", typ: "JWT" },
  secret = key.secret,
  digest = "sha256",
): string {
  const text = `${encode(header)}.${Buffer.isBuffer(payload) ? payload.toString("base64url") : encode(payload)}`;
  return `Bearer ${text}.${createHmac(digest, secret).update(text).digest("base64url")}`;
}

/** Returns a token with an additional claim, as JSON that no serializer would produce. */
const claiming = (json: string) => forge(`${JSON.stringify(claims()).slice(0, -1)},${json}}`);

const nested = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${"}".repeat(levels - 1)}`;

/** Invalid credentials, named by what is wrong with them. */
const refused: [name: string, as: string | undefined, detail: RegExp][] = [
  ["no header", undefined, /^Authentication credentials were not provided/],
  ["an empty header", "", /^The header must read/],
  ["another scheme", "Basic dXNlcjpwYXNz", /^The header must read/],
  ["a client ID", "Client abc", /^The header must read/],
  ["a scheme alone", "Bearer", /^The header must read/],
  ["a scheme and a space", "Bearer ", /^The header must read/],
  ["a token alone", tokenOf(key), /^The header must read/],
  ["two tokens", `${admin("demo")} ${tokenOf(key)}`, /^The header must read/],
  ["two headers in one", `${admin("demo")}, x`, /^The header must read/],
  ["odd characters", "Bearer ä", /^The header must read/],
  ["garbage", "Bearer garbage", /^The token is malformed/],
  ["three dots", "Bearer a.b.c", /^The token is malformed/],
  ["nothing but dots", "Bearer ..", /^The token is malformed/],
  ["claims that are no JSON", forge("{"), /^The token is malformed/],
  ["claims that are null", forge("null"), /./],
  ["claims that are a list", forge([]), /./],
  ["no signature", forge(claims()).replace(/[^.]+$/, ""), /./],
  ["a cut signature", forge(claims()).slice(0, -1), /./],
  ["alg none, unsigned", `Bearer ${encode({ alg: "none", typ: "JWT" })}.${encode(claims())}.`, /./],
  ["alg none, signed", forge(claims(), { alg: "none" }), /./],
  ["alg None", forge(claims(), { alg: "None" }), /./],
  ["HS512", forge(claims(), { alg: "HS512", typ: "JWT" }, key.secret, "sha512"), /algorithm/],
  ["HS384", forge(claims(), { alg: "HS384", typ: "JWT" }, key.secret, "sha384"), /algorithm/],
  ["RS256 by name", forge(claims(), { alg: "RS256" }), /./],
  ["no alg", forge(claims(), { typ: "JWT" }), /./],
  [
    "another secret",
    forge(claims(), undefined, "another-secret".padEnd(40, "x")),
    /^The token was not signed with a key known here/,
  ],
  ["another issuer", forge(claims({ iss: "x" })), /^The token was not signed/],
  ["another audience", forge(claims({ aud: "x" })), /^The token was not signed/],
  [
    "an issuer in capitals",
    forge(claims({ iss: key.issuer.toUpperCase() })),
    /^The token was not signed/,
  ],
  [
    "issuer and audience of two worlds",
    forge(claims({ aud: keyOf("other").audience })),
    /^The token was not signed/,
  ],
  ["no iss", forge(claims({ iss: undefined })), /iss/],
  ["no aud", forge(claims({ aud: undefined })), /aud/],
  ["no exp", forge(claims({ exp: undefined })), /exp/],
  ["an iss that is a list", forge(claims({ iss: [key.issuer] })), /iss/],
  ["an aud that is an empty list", forge(claims({ aud: [] })), /aud/],
  ["an aud with a number", forge(claims({ aud: [key.audience, 1] })), /aud/],
  ["an aud of 21", forge(claims({ aud: Array<string>(21).fill(key.audience) })), /aud/],
  ["other audiences", forge(claims({ aud: ["x", "y"] })), /was not signed/],
  ["an empty uid", forge(claims({ uid: "" })), /^The uid of the token is empty/],
  ["an exp that is text", forge(claims({ exp: "9999999999" })), /exp/],
  ["an exp that is null", forge(claims({ exp: null })), /exp/],
  ["an nbf that is text", forge(claims({ nbf: "0" })), /nbf/],
  ["an iat that is text", forge(claims({ iat: "0" })), /iat/],
  ["expired", forge(claims({ exp: now() - 1 })), /expired/],
  // The token is created when the test file is loaded, and may be used a minute later.
  ["not valid yet", forge(claims({ nbf: now() + 1800 })), /not|active/],
  ["traits that are text", forge(claims({ traits: "admin" })), /traits/],
  ["traits that are numbers", forge(claims({ traits: [1] })), /traits/],
  ["traits that are null", forge(claims({ traits: null })), /traits/],
  ["a uid that is an object", forge(claims({ uid: {} })), /uid/],
  ["a uid that is null", forge(claims({ uid: null })), /uid/],
  ["a uid of 201 characters", forge(claims({ uid: "u".repeat(201) })), /uid/],
  ["a uid that JSON rounds", forge(claims({ uid: 2 ** 53 })), /uid/],
  ["a uid that is no text", claiming('"uid":"\\ud800"'), /uid/],
  ["a profile that is a list", forge(claims({ profile: [] })), /profile/],
  ["a profile that is text", forge(claims({ profile: "x" })), /profile/],
  ["a uid with a NUL", forge(claims({ uid: "a\0b" })), /uid/],
  [
    "claims that are not UTF-8",
    forge(Buffer.from(`{"uid":"\xff",${JSON.stringify(claims()).slice(1)}`, "latin1")),
    /^The token is malformed/,
  ],
  ["a trait with a NUL", forge(claims({ traits: ["a\0"] })), /traits/],
  ["a trait that is no text", claiming('"traits":["\\ud800"]'), /traits/],
  ["a trait of 201 characters", forge(claims({ traits: ["t".repeat(201)] })), /traits/],
  ["1001 traits", forge(claims({ traits: Array.from({ length: 1001 }, String) })), /traits/],
  ["a profile of 21 levels", claiming(`"profile":${nested(21)}`), /profile/],
  ["a profile of 1001 values", forge(claims({ profile: { a: Array(999).fill(0) } })), /profile/],
  ["a profile of 4000 levels", claiming(`"profile":${nested(4000)}`), /profile/],
  [
    "a profile of more than 16 KiB",
    forge(claims({ profile: { a: "é".repeat(8 * 1024) } })),
    /profile/,
  ],
  ["a NUL in a profile", forge(claims({ profile: { a: ["\0"] } })), /profile/],
  ["a NUL in a name", forge(claims({ profile: { "\0": 1 } })), /profile/],
  ["half a character in a profile", claiming('"profile":{"a":"\\ud800"}'), /profile/],
  ["a number without end", claiming('"profile":{"a":1e400}'), /profile/],
];

void t.test("failed authentication", async (t) => {
  const { call } = await startServer(t, { worlds: [worldOf("demo"), worldOf("other")] });
  for (const [name, as, detail] of refused) {
    const got = await call({ url, as });
    t.equal(got.status, 401, name);
    t.equal(got.headers["www-authenticate"], "Bearer", name);
    t.match(got.body, { detail, code: "unauthenticated" }, name);
    t.strictSame(Object.keys(got.body as object), ["detail", "code"], name);
    // The outcome is the same for a token that has been seen before.
    const again = await call({ url, as });
    t.equal(again.text, got.text, name);
  }
});

void t.test("what a token may claim", async (t) => {
  const { call } = await startServer(t, { worlds: [worldOf("demo"), worldOf("other")] });
  const least = claims({ traits: undefined });
  const hs256 = { alg: "HS256" };
  /** Adds raw JSON to claims that omit `exp` or `traits`. */
  const withText = (claims: object, json: string) =>
    forge(`${JSON.stringify(claims).slice(0, -1)},${json}}`);
  const elsewhere = { ...hs256, jku: "http://127.0.0.1:1/", x5u: "x", kid: "' OR 1" };
  const cases: [name: string, as: string, status: number][] = [
    ["the least", forge(claims()), 200],
    ["a scheme in small letters", forge(claims()).replace("Bearer", "bearer"), 200],
    ["more spaces", forge(claims()).replace(" ", "   "), 200],
    ["no typ", forge(claims(), hs256), 200],
    ["a uid", forge(claims({ uid: "u" })), 200],
    ["a uid of 200 emoji", forge(claims({ uid: "🎪".repeat(200) })), 200],
    ["a uid that is a number", forge(claims({ uid: 42 })), 200],
    ["a profile", forge(claims({ profile: { display_name: "Ada" } })), 200],
    ["a profile of 20 levels", claiming(`"profile":${nested(20)}`), 200],
    ["a profile of 1000 values", forge(claims({ profile: { a: Array(998).fill(0) } })), 200],
    ["a profile of 16 KiB", forge(claims({ profile: { a: "x".repeat(16 * 1024 - 8) } })), 200],
    ["depth in a claim that is not read", claiming(`"x":${nested(4000)}`), 200],
    [
      "1000 traits",
      forge(claims({ traits: ["admin", "api", ...Array.from({ length: 998 }, String)] })),
      200,
    ],
    ["valid from now on", forge(claims({ nbf: now() - 1, iat: now() - 1 })), 200],
    ["unknown claims", forge(claims({ sub: "x", extra: [] })), 200],
    ["more traits than required", forge(claims({ traits: ["a b", "api", "", "admin"] })), 200],
    ["keys from elsewhere", forge(claims(), elsewhere), 200],
    ["a key in the token", forge(claims(), { ...hs256, jwk: { kty: "oct", k: "" } }), 200],
    ["b64=false that is critical", forge(claims(), { ...hs256, b64: false, crit: ["b64"] }), 401],
    ["the last of two exp", claiming('"exp":1'), 401],
    ["the last of two traits", claiming('"traits":[]'), 403],
    ["the last of two aud", claiming('"aud":"x"'), 401],
    ["traits in a prototype", withText(least, '"__proto__":{"traits":["admin","api"]}'), 403],
    [
      "exp in a prototype",
      withText(claims({ exp: undefined }), '"__proto__":{"exp":9999999999}'),
      401,
    ],
    ["traits in one", forge(claims({ traits: ["admin,api"] })), 403],
    ["traits in a list in a list", forge(claims({ traits: [["admin", "api"]] })), 401],
    ["traits that are an object", forge(claims({ traits: { 0: "admin", length: 1 } })), 401],
    ["an exp without end", claiming('"exp":1e400'), 401],
    ["an exp far away", forge(claims({ exp: 1e300 })), 200],
    ["an exp long ago", forge(claims({ exp: -1e300 })), 401],
    ["an nbf far away", forge(claims({ nbf: 1e300 })), 401],
    ["an iat far away", forge(claims({ iat: 1e300 })), 200],
    ["an exp of now", forge(claims({ exp: now() })), 401],
    ["an aud of one", forge(claims({ aud: [key.audience] })), 200],
    ["an aud of two", forge(claims({ aud: ["x", key.audience] })), 200],
    ["another world in it", forge(claims({ world: "other", world_id: "other" })), 200],
  ];
  for (const [name, as, status] of cases) {
    for (const again of ["", ", again"]) {
      t.equal((await call({ url, as })).status, status, name + again);
    }
  }
});

void t.test("a token holds from its nbf until its exp", async (t) => {
  const { call } = await startServer(t);
  const start = Math.floor(now());
  const as = forge(claims({ nbf: start + 5, exp: start + 10 }));
  let seconds = 0;
  t.intercept(Date, "now", { value: () => (start + seconds) * 1000 });
  const seen: number[] = [];
  for (seconds of [0, 4, 5, 9, 10, 11]) seen.push((await call({ url, as })).status);
  t.strictSame(seen, [401, 401, 200, 200, 401, 401]);
});

void t.test("a wrong token tells of no issuer that is known here", async (t) => {
  const { call } = await startServer(t);
  const wrong = "wrong-secret".padEnd(40, "x");
  const cases: [name: string, header: object, changes: object][] = [
    ["a wrong secret", { alg: "HS256" }, {}],
    ["expired", { alg: "HS256" }, { exp: 1 }],
    ["not valid yet", { alg: "HS256" }, { nbf: now() + 60 }],
    ["no exp", { alg: "HS256" }, { exp: undefined }],
    ["no times", { alg: "HS256" }, { exp: -1e300, nbf: 1e300 }],
    ["HS512", { alg: "HS512" }, {}],
    ["none", { alg: "none" }, {}],
    ["RS256", { alg: "RS256" }, {}],
    ["a critical header", { alg: "HS256", crit: ["b64"], b64: false }, {}],
    ["a key of its own", { alg: "HS256", kid: "../x", jku: "http://x" }, {}],
    ["bad traits", { alg: "HS256" }, { traits: 1 }],
  ];
  for (const [name, header, changes] of cases) {
    for (const cut of [false, true]) {
      const [known, unknown] = await Promise.all(
        [key, keyOf("nobody")].map(({ issuer: iss, audience: aud }) => {
          const as = forge(claims({ iss, aud, ...changes }), header, wrong);
          return call({ url, as: cut ? as.replace(/[^.]+$/, "") : as });
        }),
      );
      t.equal(known?.status, 401, name);
      t.equal(known?.text, unknown?.text, name);
    }
  }
});

void t.test("a library accepts each token that is accepted", async (t) => {
  const decode = createDecoder({ complete: true });
  const requiredClaims = ["iss", "aud", "exp"];
  const verify = createVerifier({ key: key.secret, algorithms: ["HS256"], requiredClaims });
  const passes = (act: () => unknown) => {
    try {
      return act() !== undefined;
    } catch {
      return false;
    }
  };
  const tokenWith = (changes: object) => forge(claims({ ...changes })).slice("Bearer ".length);
  const good = tokenWith({});
  const changed = [...good].flatMap((char, at) =>
    ["A", "B", "_", "."]
      .filter((other) => other !== char)
      .map((other) => good.slice(0, at) + other + good.slice(at + 1)),
  );
  const odd = [
    { exp: undefined },
    { exp: 1 },
    { exp: "9e9" },
    { exp: [9e9] },
    { nbf: 9e9 },
    { nbf: "0" },
    { iat: "0" },
    { iat: null },
    { nbf: null },
  ].map(tokenWith);
  const accepted = [good, ...odd, ...changed].filter((token) =>
    passes(() => claimsSignedBy(key.secret, token, readToken(token, decode))),
  );
  t.strictSame(accepted, [good]);
  t.ok(passes(() => verify(good) as unknown));
});

void t.test("what is forbidden is so before the body is read", async (t) => {
  const permission_config = rules({ "world.api": [] });
  const { port, app, store } = await startServer(t, {
    worlds: [worldOf("demo", { permission_config })],
  });
  const { value: room } = await store.rooms.create("demo", { name: "x" });
  const own = `${url}rooms/${room.id}/`;
  const lines = [`PATCH ${url}`, `POST ${url}rooms/`, `PATCH ${own}`, `DELETE ${own}`];
  const bodies: [body: string, type: string][] = [
    ["{", "application/json"],
    ['{"x":1}', "application/json"],
    ["x", "text/plain"],
    [" ".repeat(1024 * 1024 + 1), "application/json"],
  ];
  for (const [as, status] of [
    ["", 401],
    [bearer("demo"), 403],
  ] as const) {
    for (const line of lines) {
      const [method = "", path = ""] = line.split(" ");
      for (const [body, type] of bodies) {
        const headers = { "content-type": type };
        const got = await send(app, { method, url: path, as, headers, body });
        t.equal(got.status, status, `${line} ${body.slice(0, 9)}`);
      }
      const json = { "Content-Type": "application/json", "Content-Length": "900000" };
      const got = await ask(t, port, rawRequest(line, { Authorization: as, ...json }));
      t.equal(got.status, status, `${line}: a body that never arrives`);
    }
  }
});

void t.test("which keys sign follows the config at once", async (t) => {
  const { call } = await startServer(t);
  const fresh = { ...key, secret: "fresh-secret-".padEnd(40, "y") };
  const other = keyOf("other-issuer");
  const [byOld, byFresh, byOther] = [key, fresh, other].map(
    (signing) => `Bearer ${tokenOf(signing, { traits: ["admin", "api"] })}`,
  ) as [string, string, string];
  const keys = (...JWT_secrets: object[]) => ({ config: { JWT_secrets } });
  const steps: [name: string, as: string, body: object, statuses: number[]][] = [
    ["one key", byOld, {}, [200, 401, 401]],
    ["two keys", byOld, keys(key, fresh), [200, 200, 401]],
    ["three keys", byFresh, keys(other, key, fresh), [200, 200, 200]],
    ["without the first", byOther, keys(other, fresh), [401, 200, 200]],
    ["a config without keys", byFresh, { config: { a: 1 } }, [401, 200, 200]],
    ["an empty config", byFresh, { config: {} }, [401, 200, 200]],
    ["back to the first", byOther, keys(key), [200, 401, 401]],
  ];
  for (const [name, as, body, statuses] of steps) {
    t.equal((await call({ method: "PATCH", url, as, body })).status, 200, name);
    const got = [];
    for (const as of [byOld, byFresh, byOther]) got.push((await call({ url, as })).status);
    t.strictSame(got, statuses, name);
  }
  const field = "config.JWT_secrets";
  const many = (length: number) => Array.from({ length }, () => key);
  const secret = (length: number) => ({ ...key, secret: "x".repeat(length) });
  const cases: [name: string, keys: object[], answer?: object][] = [
    ["none", [], { [field]: ["May not be empty."] }],
    ["21", many(21), { [field]: ["May hold at most 20 entries."] }],
    ["a secret of 31 characters", [secret(31)], { [`${field}.0.secret`]: [/./] }],
    ["another field", [{ ...key, algorithm: "none" }], { [`${field}.0.algorithm`]: ["Unknown field."] }],
    ["20, one with a secret of 32 characters", [...many(19), secret(32)]],
  ]; // prettier-ignore
  for (const [name, JWT_secrets, answer = {}] of cases) {
    const got = await call({ method: "PATCH", url, as: byOld, body: { config: { JWT_secrets } } });
    t.match(got, { status: name.startsWith("20") ? 200 : 400, body: answer }, name);
    t.equal((await call({ url, as: byOld })).status, 200, `${name}: all stay signed in`);
  }
});

void t.test("worlds that share a key share its tokens", async (t) => {
  const config = { JWT_secrets: [key] };
  const { call } = await startServer(t, {
    worlds: [worldOf("a", { config }), worldOf("demo"), worldOf("z", { config })],
  });
  for (const id of ["demo", "z", "a", "demo"]) {
    const got = await call({ url: `/api/v1/worlds/${id}/`, as: admin("demo") });
    t.equal(got.status, 200, id);
  }
});

void t.test("a token that was refused holds once its key does", async (t) => {
  const { call, store, dataDir } = await startServer(t);
  const elsewhere = (await openStoreIn(t, dataDir)).worlds;
  const { worlds } = store;
  const other = keyOf("other");
  const status = async () => (await call({ url, as: admin("other") })).status;
  const keep = (...JWT_secrets: object[]) => ({ config: { JWT_secrets } }) as WorldChanges;
  const longer = { ...other, secret: "x".repeat(64) };
  const steps: [name: string, run: () => unknown, status: number][] = [
    ["its key is nowhere", () => {}, 401],
    ["another world has", () => worlds.create(worldOf("other")), 403],
    ["that is gone", () => worlds.delete("other"), 401],
    ["the world has", () => worlds.update("demo", keep(other, key)), 200],
    ["no longer", () => worlds.update("demo", keep(key)), 401],
    ["with another secret", () => worlds.update("demo", keep(key, longer)), 401],
    ["another process wrote it", () => elsewhere.update("demo", keep(key, other)), 200],
    ["another process removed it", () => elsewhere.update("demo", keep(key)), 401],
  ];
  for (const [name, run, expected] of steps) {
    await run();
    // Another process's writes become visible in the next turn of the event loop, or on shared
    // engines once the node receives the entry.
    await setImmediate();
    if (shared) await until(async () => (await status()) === expected);
    t.strictSame([await status(), await status()], [expected, expected], name);
  }
});
