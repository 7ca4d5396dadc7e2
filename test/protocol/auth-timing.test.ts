import { createRequire, syncBuiltinESMExports } from "node:module";
import t from "tap";

// Measuring the time of a rejected secret would give different results on each machine. Instead,
// the test counts comparisons: each secret is compared once, in full, in constant time.

const crypto = createRequire(import.meta.url)("node:crypto") as typeof import("node:crypto");
const compare = crypto.timingSafeEqual;
const compared: number[] = [];
crypto.timingSafeEqual = (a, b) => {
  compared.push(a.byteLength);
  return compare(a, b);
};
syncBuiltinESMExports();

// Imported only now, because libraries capture the function when they are loaded.
const { keyOf, tokenOf } = await import("../support/helper.js");
const { demo, startServer } = await import("../support/server.js");

/** The length of a signature in a token, in characters. */
const SIGNATURE = 43;

const url = "/api/v1/worlds/demo/";

void t.test("a wrong secret, however wrong it is", async (t) => {
  const key = keyOf("demo");
  const config = { JWT_secrets: [key] };
  const { call } = await startServer(t, {
    worlds: [
      demo(),
      demo({ id: "other" }),
      demo({ id: "clone", config }),
      demo({ id: "copy", config }),
    ],
  });
  const right = tokenOf(key, { traits: ["admin", "api"] });
  const [head, body, signature] = right.split(".") as [string, string, string];
  const spoil = (at: number) =>
    `${head}.${body}.${signature.slice(0, at)}${signature[at] === "A" ? "B" : "A"}${signature.slice(at + 1)}`;
  const cases: [name: string, token: string, url: string][] = [
    ["the first character", spoil(0), url],
    ["the last but one", spoil(signature.length - 2), url],
    ["another secret", tokenOf({ ...key, secret: "x".repeat(64) }), url],
    ["no such issuer", tokenOf(keyOf("nobody")), url],
    ["no such world", spoil(5), "/api/v1/worlds/missing/"],
    ["no such world or issuer", tokenOf(keyOf("none")), "/api/v1/worlds/x/"],
    ["expired, and another secret", tokenOf({ ...key, secret: "x".repeat(64) }, { exp: 1 }), url],
  ];
  for (const [name, token, url] of cases) {
    // A rejected token is cached until a key changes.
    for (const [time, expected] of [
      ["the first time", [SIGNATURE]],
      ["again", []],
    ] as const) {
      compared.length = 0;
      const { status } = await call({ url, as: `Bearer ${token}` });
      t.equal(status, 401, `${name}, ${time}`);
      t.strictSame(compared, expected, `${name}, ${time}: whole signatures`);
    }
  }
  compared.length = 0;
  t.equal((await call({ url, as: `Bearer ${right}` })).status, 200);
  t.strictSame(compared, [SIGNATURE], "a right one is compared once, too");
});

void t.test("a world is not read for who is not of it", async (t) => {
  const read: string[] = [];
  const note = <T>(get: (id: string) => T) => {
    return (id: string) => {
      read.push(id);
      return get(id);
    };
  };
  const { call } = await startServer(t, {
    worlds: [demo(), demo({ id: "other" })],
    faults: {
      wrap: (store) => ({
        ...store,
        worlds: { ...store.worlds, get: note((id) => store.worlds.get(id)) },
      }),
    },
  });
  const as = `Bearer ${tokenOf(keyOf("other"), { traits: ["admin", "api"] })}`;
  for (const who of [undefined, "Bearer x", `Bearer ${tokenOf(keyOf("x"))}`, as, as]) {
    await call({ url, as: who });
  }
  t.strictSame(read, [], "how large it is, or whether it is there, takes no time");
  await call({ url: "/api/v1/worlds/other/", as });
  t.strictSame([...new Set(read)], ["other"], "its own is");
});

void t.test("the token of the metrics", async (t) => {
  const token = "a-token-for-the-metrics";
  const { call } = await startServer(t, {
    config: { metrics: { host: "", port: undefined, token } },
  });
  for (const as of ["", "Bearer a", `Bearer ${token}x`, `Bearer ${token}`]) {
    compared.length = 0;
    const { status } = await call({ url: "/metrics", as });
    t.equal(status, as === `Bearer ${token}` ? 200 : 401);
    t.strictSame(compared, [32], `"${as}": a hash of it, whole`);
  }
});
