import { setImmediate } from "node:timers/promises";
import t from "tap";
import type { WorldChanges } from "../../schemas/worlds.js";
import { admin, keyOf, serve, tokenOf, until, worldOf } from "../helper.js";
import { shared } from "../shared.js";
import { openStoreIn } from "../stack.js";

const url = "/api/v1/worlds/demo/";

const key = keyOf("demo");

void t.test("which keys sign follows the config at once", async (t) => {
  const { call } = await serve(t);
  const fresh = { ...keyOf("demo"), secret: "fresh-secret-".padEnd(40, "y") };
  const other = { ...keyOf("other-issuer") };
  const traits = ["admin", "api"];
  const [byOld, byFresh, byOther] = [key, fresh, other].map(
    (signing) => `Bearer ${tokenOf(signing, { traits })}`,
  ) as [string, string, string];
  const config = (...JWT_secrets: object[]) => ({ config: { JWT_secrets } });

  const steps: [
    name: string,
    as: string,
    body: object,
    old: number,
    fresh: number,
    other: number,
  ][] = [
    ["one key", byOld, {}, 200, 401, 401],
    ["two keys", byOld, config(key, fresh), 200, 200, 401],
    ["three keys", byFresh, config(other, key, fresh), 200, 200, 200],
    ["without the first", byOther, config(other, fresh), 401, 200, 200],
    ["a config without keys", byFresh, { config: { a: 1 } }, 401, 200, 200],
    ["an empty config", byFresh, { config: {} }, 401, 200, 200],
    ["back to the first", byOther, config(key), 200, 401, 401],
  ];
  for (const [name, as, body, ...statuses] of steps) {
    const patched = await call({ method: "PATCH", url, as, body });
    t.equal(patched.status, 200, name);
    const got = [];
    for (const as of [byOld, byFresh, byOther]) {
      got.push((await call({ url, as })).status);
    }
    t.strictSame(got, statuses, name);
  }
});

void t.test("which keys a config may hold", async (t) => {
  const { call } = await serve(t);
  const as = admin("demo");
  const field = "config.JWT_secrets";
  const cases: [name: string, keys: unknown, status: number, answer: object][] =
    [
      ["none", [], 400, { [field]: ["May not be empty."] }],
      [
        "21",
        Array.from({ length: 21 }, () => key),
        400,
        { [field]: ["May hold at most 20 entries."] },
      ],
      [
        "a secret of 31 characters",
        [{ ...key, secret: "x".repeat(31) }],
        400,
        { [`${field}.0.secret`]: [/./] },
      ],
      [
        "a field that no key has",
        [{ ...key, algorithm: "none" }],
        400,
        { [`${field}.0.algorithm`]: ["Unknown field."] },
      ],
      [
        "20, one with a secret of 32 characters",
        [
          ...Array.from({ length: 19 }, () => key),
          { ...key, secret: "x".repeat(32) },
        ],
        200,
        {},
      ],
    ];
  for (const [name, JWT_secrets, status, answer] of cases) {
    const body = { config: { JWT_secrets } };
    const got = await call({ method: "PATCH", url, as, body });
    t.equal(got.status, status, name);
    t.match(got.body, answer, name);
    t.equal(
      (await call({ url, as })).status,
      200,
      `${name}: all stay signed in`,
    );
  }
});

void t.test("worlds that share a key share its tokens", async (t) => {
  const shared = { JWT_secrets: [key] };
  const { call } = await serve(t, [
    worldOf("a", { config: shared }),
    worldOf("demo"),
    worldOf("z", { config: shared }),
  ]);
  for (const id of ["demo", "z", "a", "demo"]) {
    const got = await call({ url: `/api/v1/worlds/${id}/`, as: admin("demo") });
    t.equal(got.status, 200, id);
  }
});

void t.test("a token that was refused holds once its key does", async (t) => {
  const { call, store, dataDir } = await serve(t);
  const elsewhere = await openStoreIn(t, dataDir);
  const other = keyOf("other");
  const as = admin("other");
  const status = async () => (await call({ url, as })).status;
  const keep = (...JWT_secrets: object[]) =>
    ({ config: { JWT_secrets } }) as WorldChanges;
  const steps: [name: string, run: () => Promise<unknown>, status: number][] = [
    ["its key is nowhere", async () => {}, 401],
    ["another world has", () => store.worlds.create(worldOf("other")), 403],
    ["that is gone", () => store.worlds.delete("other"), 401],
    ["the world has", () => store.worlds.update("demo", keep(other, key)), 200],
    ["no longer", () => store.worlds.update("demo", keep(key)), 401],
    [
      "with another secret",
      () =>
        store.worlds.update(
          "demo",
          keep(key, { ...other, secret: "x".repeat(64) }),
        ),
      401,
    ],
    [
      "another process wrote the right one",
      () => elsewhere.worlds.update("demo", keep(key, other)),
      200,
    ],
    [
      "another process took it away",
      () => elsewhere.worlds.update("demo", keep(key)),
      401,
    ],
  ];
  for (const [name, run, expected] of steps) {
    await run();
    // What another process wrote is seen from the next turn on; on the shared engines,
    // once a node gets the entry.
    await setImmediate();
    if (shared) await until(async () => (await status()) === expected);
    t.strictSame([await status(), await status()], [expected, expected], name);
  }
});
