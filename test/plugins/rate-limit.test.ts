import t from "tap";
import { loadConfig } from "../../config.js";
import { admin, bearer, serve, keyOf, tokenOf, worldOf } from "../helper.js";

const { load } = loadConfig({});
const rooms = "/api/v1/worlds/demo/rooms/";
const as = admin("demo");

void t.test("a token may call so often in a minute", async (t) => {
  const worlds = [worldOf("demo"), worldOf("other")];
  const { call } = await serve(t, worlds, {
    config: { load: { ...load, perMinute: 2 } },
  });
  const token = (uid: string) =>
    `Bearer ${tokenOf(keyOf("demo"), { uid, traits: ["admin", "api"] })}`;
  const cases: [name: string, as: string | undefined, statuses: number[]][] = [
    ["one token", as, [200, 200, 429, 429]],
    [
      "the same, written differently",
      as.replace("Bearer ", "bEARER   "),
      [429],
    ],
    ["another token of the same world", token("1"), [200, 200, 429]],
    ["nobody", undefined, [401, 401, 401]],
    ["no right", bearer("demo", "guest"), [403, 403, 403]],
    ["another world's", admin("other"), [403, 403, 403]],
  ];
  for (const [name, as, statuses] of cases) {
    for (const status of statuses) {
      const got = await call({ url: rooms, as });
      t.equal(got.status, status, name);
      if (status !== 429) continue;
      t.strictSame(got.body, {
        detail: "Too many requests. Try again later.",
        code: "rate_limited",
      });
      t.match(got.headers["retry-after"], /^([1-9]|[1-5]\d|60)$/);
    }
  }
  const world = await call({ url: "/api/v1/worlds/demo/", as });
  t.equal(world.status, 429, "every route counts");
  t.equal((await call({ url: "/healthz" })).status, 200);
  t.equal(
    (await call({ url: rooms.replace("demo", "other"), as: admin("other") }))
      .status,
    200,
  );
});

void t.test("by default, as often as it likes", async (t) => {
  const { call } = await serve(t);
  for (let i = 0; i < 200; i++) await call({ url: rooms, as });
  const { status, headers } = await call({ url: rooms, as });
  t.equal(status, 200);
  t.notMatch(Object.keys(headers).join(), /ratelimit/);
});
