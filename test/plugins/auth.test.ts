import { createHmac } from "node:crypto";
import { createDecoder, createVerifier } from "fast-jwt";
import t from "tap";
import { claimsSignedBy, readToken } from "../../plugins/auth/tokens.js";
import {
  admin,
  bearer,
  call as send,
  dial,
  keyOf,
  listen,
  rawRequest,
  rules,
  serve,
  tokenOf,
  worldOf,
} from "../helper.js";

const url = "/api/v1/worlds/demo/";

const key = keyOf("demo");

const now = () => Date.now() / 1000;

/** Good claims of an administrator, with some of them different or left out. */
const claims = (changes: Record<string, unknown> = {}) => ({
  iss: key.issuer,
  aud: key.audience,
  exp: now() + 3600,
  traits: ["admin", "api"],
  ...changes,
});

const encode = (part: unknown) =>
  Buffer.from(typeof part === "string" ? part : JSON.stringify(part)).toString(
    "base64url",
  );

/** A token as no library would sign it. */
function forge(
  payload: unknown,
  header: unknown = { alg: "HS256", typ: "JWT" },
  secret = key.secret,
  digest = "sha256",
): string {
  const text = `${encode(header)}.${Buffer.isBuffer(payload) ? payload.toString("base64url") : encode(payload)}`;
  return `Bearer ${text}.${createHmac(digest, secret).update(text).digest("base64url")}`;
}

/** A token with one more claim, as JSON text that no library would write. */
const claiming = (json: string) =>
  forge(`${JSON.stringify(claims()).slice(0, -1)},${json}}`);

/** An object in an object, so many levels of them. */
const nested = (levels: number) =>
  `${'{"a":'.repeat(levels - 1)}{}${"}".repeat(levels - 1)}`;

/** What is no authentication: header and token by what is wrong with them. */
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
  [
    "alg none, unsigned",
    `Bearer ${encode({ alg: "none", typ: "JWT" })}.${encode(claims())}.`,
    /./,
  ],
  ["alg none, signed", forge(claims(), { alg: "none" }), /./],
  ["alg None", forge(claims(), { alg: "None" }), /./],
  [
    "HS512",
    forge(claims(), { alg: "HS512", typ: "JWT" }, key.secret, "sha512"),
    /algorithm/,
  ],
  [
    "HS384",
    forge(claims(), { alg: "HS384", typ: "JWT" }, key.secret, "sha384"),
    /algorithm/,
  ],
  ["RS256 by name", forge(claims(), { alg: "RS256" }), /./],
  ["no alg", forge(claims(), { typ: "JWT" }), /./],
  [
    "another secret",
    forge(claims(), undefined, "another-secret".padEnd(40, "x")),
    /^The token was not signed with a key known here/,
  ],
  ["another issuer", forge(claims({ iss: "x" })), /^The token was not signed/],
  [
    "another audience",
    forge(claims({ aud: "x" })),
    /^The token was not signed/,
  ],
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
  [
    "an aud of 21",
    forge(claims({ aud: Array<string>(21).fill(key.audience) })),
    /aud/,
  ],
  ["other audiences", forge(claims({ aud: ["x", "y"] })), /was not signed/],
  [
    "an empty uid",
    forge(claims({ uid: "" })),
    /^The uid of the token is empty/,
  ],
  ["an exp that is text", forge(claims({ exp: "9999999999" })), /exp/],
  ["an exp that is null", forge(claims({ exp: null })), /exp/],
  ["an nbf that is text", forge(claims({ nbf: "0" })), /nbf/],
  ["an iat that is text", forge(claims({ iat: "0" })), /iat/],
  ["expired", forge(claims({ exp: now() - 1 })), /expired/],
  // It is made when all tests of the folder are loaded, and may be used a minute later.
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
    forge(
      Buffer.from(
        `{"uid":"\xff",${JSON.stringify(claims()).slice(1)}`,
        "latin1",
      ),
    ),
    /^The token is malformed/,
  ],
  ["a trait with a NUL", forge(claims({ traits: ["a\0"] })), /traits/],
  ["a trait that is no text", claiming('"traits":["\\ud800"]'), /traits/],
  [
    "a trait of 201 characters",
    forge(claims({ traits: ["t".repeat(201)] })),
    /traits/,
  ],
  [
    "1001 traits",
    forge(claims({ traits: Array.from({ length: 1001 }, String) })),
    /traits/,
  ],
  ["a profile of 21 levels", claiming(`"profile":${nested(21)}`), /profile/],
  [
    "a profile of 1001 values",
    forge(claims({ profile: { a: Array(999).fill(0) } })),
    /profile/,
  ],
  [
    "a profile of 4000 levels",
    claiming(`"profile":${nested(4000)}`),
    /profile/,
  ],
  [
    "a profile of more than 16 KiB",
    forge(claims({ profile: { a: "é".repeat(8 * 1024) } })),
    /profile/,
  ],
  ["a NUL in a profile", forge(claims({ profile: { a: ["\0"] } })), /profile/],
  ["a NUL in a name", forge(claims({ profile: { "\0": 1 } })), /profile/],
  [
    "half a character in a profile",
    claiming('"profile":{"a":"\\ud800"}'),
    /profile/,
  ],
  ["a number without end", claiming('"profile":{"a":1e400}'), /profile/],
];

void t.test("failed authentication", async (t) => {
  const { call } = await serve(t, [worldOf("demo"), worldOf("other")]);
  for (const [name, as, detail] of refused) {
    const got = await call({ url, as });
    t.equal(got.status, 401, name);
    t.equal(got.headers["www-authenticate"], "Bearer", name);
    t.match(got.body, { detail, code: "unauthenticated" }, name);
    t.strictSame(Object.keys(got.body as object), ["detail", "code"], name);
    // Once more: the outcome is no other when the token has been seen before.
    const again = await call({ url, as });
    t.equal(again.text, got.text, name);
  }
});

void t.test("tokens that are taken", async (t) => {
  const { call } = await serve(t);
  const cases: [name: string, as: string][] = [
    ["the least", forge(claims())],
    ["a scheme in small letters", forge(claims()).replace("Bearer", "bearer")],
    ["more spaces", forge(claims()).replace(" ", "   ")],
    ["no typ", forge(claims(), { alg: "HS256" })],
    ["a uid", forge(claims({ uid: "u" }))],
    ["a uid of 200 emoji", forge(claims({ uid: "🎪".repeat(200) }))],
    ["a uid that is a number", forge(claims({ uid: 42 }))],
    ["a profile", forge(claims({ profile: { display_name: "Ada" } }))],
    ["a profile of 20 levels", claiming(`"profile":${nested(20)}`)],
    [
      "a profile of 1000 values",
      forge(claims({ profile: { a: Array(998).fill(0) } })),
    ],
    [
      "a profile of 16 KiB",
      forge(claims({ profile: { a: "x".repeat(16 * 1024 - 8) } })),
    ],
    ["depth in a claim that is not read", claiming(`"x":${nested(4000)}`)],
    [
      "1000 traits",
      forge(
        claims({
          traits: ["admin", "api", ...Array.from({ length: 998 }, String)],
        }),
      ),
    ],
    ["valid from now on", forge(claims({ nbf: now() - 1, iat: now() - 1 }))],
    ["unknown claims", forge(claims({ sub: "x", extra: [] }))],
    [
      "more traits than are asked for",
      forge(claims({ traits: ["a b", "api", "", "admin"] })),
    ],
  ];
  for (const [name, as] of cases) {
    t.equal((await call({ url, as })).status, 200, name);
    t.equal((await call({ url, as })).status, 200, `${name}, seen before`);
  }
});

void t.test("a token holds from its nbf until its exp", async (t) => {
  const { call } = await serve(t);
  const start = Math.floor(now());
  const as = forge(claims({ nbf: start + 5, exp: start + 10 }));
  let seconds = 0;
  t.intercept(Date, "now", { value: () => (start + seconds) * 1000 });
  const seen: number[] = [];
  for (seconds of [0, 4, 5, 9, 10, 11]) {
    seen.push((await call({ url, as })).status);
  }
  t.strictSame(seen, [401, 401, 200, 200, 401, 401]);
});

void t.test(
  "a wrong token tells of no issuer that is known here",
  async (t) => {
    const { call } = await serve(t);
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
  },
);

void t.test(
  "tokens that say odd things, signed by the right key",
  async (t) => {
    const { call } = await serve(t, [worldOf("demo"), worldOf("other")]);
    const hs256 = { alg: "HS256" };
    const least = claims({ traits: undefined });
    const cases: [name: string, as: string, status: number][] = [
      [
        "keys from elsewhere",
        forge(claims(), {
          ...hs256,
          jku: "http://127.0.0.1:1/",
          x5u: "x",
          kid: "' OR 1",
        }),
        200,
      ],
      [
        "a key in the token",
        forge(claims(), { ...hs256, jwk: { kty: "oct", k: "" } }),
        200,
      ],
      [
        "b64=false that is critical",
        forge(claims(), { ...hs256, b64: false, crit: ["b64"] }),
        401,
      ],
      ["the last of two exp", claiming('"exp":1'), 401],
      ["the last of two traits", claiming('"traits":[]'), 403],
      ["the last of two aud", claiming('"aud":"x"'), 401],
      [
        "traits in a prototype",
        forge(
          `${JSON.stringify(least).slice(0, -1)},"__proto__":{"traits":["admin","api"]}}`,
        ),
        403,
      ],
      [
        "exp in a prototype",
        forge(
          `${JSON.stringify(claims({ exp: undefined })).slice(0, -1)},"__proto__":{"exp":9999999999}}`,
        ),
        401,
      ],
      ["traits in one", forge(claims({ traits: ["admin,api"] })), 403],
      [
        "traits in a list in a list",
        forge(claims({ traits: [["admin", "api"]] })),
        401,
      ],
      [
        "traits that are an object",
        forge(claims({ traits: { 0: "admin", length: 1 } })),
        401,
      ],
      ["an exp without end", claiming('"exp":1e400'), 401],
      ["an exp far away", forge(claims({ exp: 1e300 })), 200],
      ["an exp long ago", forge(claims({ exp: -1e300 })), 401],
      ["an nbf far away", forge(claims({ nbf: 1e300 })), 401],
      ["an iat far away", forge(claims({ iat: 1e300 })), 200],
      ["an exp of now", forge(claims({ exp: now() })), 401],
      ["an aud of one", forge(claims({ aud: [key.audience] })), 200],
      ["an aud of two", forge(claims({ aud: ["x", key.audience] })), 200],
      [
        "another world in it",
        forge(claims({ world: "other", world_id: "other" })),
        200,
      ],
    ];
    for (const [name, as, status] of cases) {
      for (const again of ["", ", again"]) {
        const got = await call({ url, as });
        t.equal(got.status, status, name + again);
      }
    }
  },
);

void t.test("a library takes each token that is taken", async (t) => {
  const { secret } = key;
  const decode = createDecoder({ complete: true });
  const verify = createVerifier({
    ...{ key: secret, algorithms: ["HS256"] },
    requiredClaims: ["iss", "aud", "exp"],
  });
  const takes = (act: () => unknown) => {
    try {
      return act() !== undefined;
    } catch {
      return false;
    }
  };
  const good = forge(claims()).slice("Bearer ".length);
  const changed = [...good].flatMap((char, at) =>
    ["A", "B", "_", "."]
      .filter((other) => other !== char)
      .map((other) => good.slice(0, at) + other + good.slice(at + 1)),
  );
  const odd = [
    ...[{ exp: undefined }, { exp: 1 }, { exp: "9e9" }, { exp: [9e9] }],
    ...[{ nbf: 9e9 }, { nbf: "0" }, { iat: "0" }, { iat: null }, { nbf: null }],
  ].map((changes) => forge(claims(changes)).slice("Bearer ".length));
  let taken = 0;
  for (const token of [good, ...odd, ...changed]) {
    const own = takes(() =>
      claimsSignedBy(secret, token, readToken(token, decode)),
    );
    if (own) taken++;
    if (own)
      t.ok(
        takes(() => verify(token) as unknown),
        token,
      );
  }
  t.equal(taken, 1, "only the unchanged one");
});

void t.test("what is forbidden is so before the body is read", async (t) => {
  const { app, store } = await serve(t, [
    worldOf("demo", { permission_config: rules({ "world.api": [] }) }),
  ]);
  const { value: room } = await store.rooms.create("demo", { name: "x" });
  const port = await listen(app);
  const writes: [method: string, path: string][] = [
    ["PATCH", url],
    ["POST", `${url}rooms/`],
    ["PATCH", `${url}rooms/${room.id}/`],
    ["DELETE", `${url}rooms/${room.id}/`],
  ];
  const callers: [name: string, as: string, status: number][] = [
    ["nobody", "", 401],
    ["a guest", bearer("demo"), 403],
  ];
  const bodies: [name: string, body: string, type: string][] = [
    ["no JSON", "{", "application/json"],
    ["unknown fields", '{"x":1}', "application/json"],
    ["text", "x", "text/plain"],
    ["too much", " ".repeat(1024 * 1024 + 1), "application/json"],
  ];
  for (const [who, as, status] of callers) {
    for (const [method, path] of writes) {
      for (const [name, body, type] of bodies) {
        const headers = { "content-type": type };
        const got = await send(app, { method, url: path, as, headers, body });
        t.equal(got.status, status, `${who}, ${method} ${path}, ${name}`);
      }
      const wire = dial(t, port);
      wire.send(
        rawRequest(`${method} ${path}`, {
          Authorization: as,
          "Content-Type": "application/json",
          "Content-Length": "900000",
        }),
      );
      const { status: got } = await wire.answer();
      t.equal(
        got,
        status,
        `${who}, ${method} ${path}, a body that never comes`,
      );
    }
  }
});

void t.test("moderation takes access away", async (t) => {
  const { call, store } = await serve(t);
  const rooms = `${url}rooms/`;
  const { id } = await store.users.enter("demo", {
    ...{ tokenId: "eve", traits: new Set<string>() },
  });
  const as = `Bearer ${tokenOf(key, { uid: "eve", traits: ["admin", "api"] })}`;
  const statuses = async () => [
    (await call({ url: rooms, as })).status,
    (await call({ method: "POST", url: rooms, as, body: { name: "a" } }))
      .status,
  ];
  // The token is known from the second call on.
  t.same(await statuses(), [200, 201]);
  await store.users.moderate("demo", id, "silenced");
  t.same(await statuses(), [200, 403]);
  await store.users.moderate("demo", id, "banned");
  t.same(await statuses(), [403, 403]);
});
