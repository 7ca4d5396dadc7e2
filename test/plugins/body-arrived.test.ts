import t from "tap";
import type { Store } from "../../db/contract/store.js";
import {
  dial,
  keyOf,
  listen,
  rawRequest,
  rules,
  serve,
  tokenOf,
  until,
  worldOf,
} from "../helper.js";

const world = "/api/v1/worlds/demo/";
const traits = ["admin", "api"];

/** Ways in which a caller loses what it had while its body is under way. */
const changes: [
  name: string,
  change: (store: Store, roomId: string) => Promise<unknown>,
  status: number,
][] = [
  [
    "the key is rotated",
    (store) =>
      store.worlds.update("demo", {
        config: { JWT_secrets: [keyOf("other")] },
      }),
    401,
  ],
  [
    "the right is taken away",
    (store) =>
      store.worlds.update("demo", {
        permission_config: rules({ "world.api": ["nobody"] }),
      }),
    403,
  ],
  ["the world is deleted", (store) => store.worlds.delete("demo"), 401],
];

void t.test("rights are asked for again when the body is there", async (t) => {
  const { app, store } = await serve(t, []);
  const port = await listen(app);

  /** Sends a request whose body comes after the change. */
  async function send(
    line: (roomId: string) => string,
    body: string,
    change: (store: Store, roomId: string) => Promise<unknown>,
    exp = Math.floor(Date.now() / 1000) + 60,
  ) {
    await store.worlds.delete("demo").catch(() => {});
    await store.worlds.create(worldOf("demo"));
    const { value: room } = await store.rooms.create("demo", { name: "a" });
    const wire = dial(t, port);
    wire.send(
      rawRequest(line(room.id), {
        Authorization: `Bearer ${tokenOf(keyOf("demo"), { traits, exp })}`,
        "Content-Type": "application/json",
        "Content-Length": String(body.length),
        Expect: "100-continue",
      }),
    );
    t.equal((await wire.answer()).status, 100, "it may send its body");
    await change(store, room.id);
    wire.send(body);
    const { status } = await wire.answer();
    wire.hangUp();
    return { status, room: await store.rooms.get("demo", room.id) };
  }

  const writes: [line: (roomId: string) => string, body: string][] = [
    [() => `PATCH ${world}`, '{"title":"x"}'],
    [() => `PATCH ${world}`, "no JSON"],
    [() => `POST ${world}rooms/`, '{"unknown":"x"}'],
    [() => `POST ${world}delete_user`, '{"token_id":"x"}'],
    [(id) => `PATCH ${world}rooms/${id}/`, '{"name":"x"}'],
    [(id) => `DELETE ${world}rooms/${id}/`, "{}"],
  ];
  for (const [line, body] of writes) {
    for (const [name, change, status] of changes) {
      const got = await send(line, body, change);
      t.equal(got.status, status, `${line("…")} ${body}: ${name}`);
    }
  }
  const roomLost: [name: string, (typeof changes)[0][1]][] = [
    ["it is deleted", (store, id) => store.rooms.delete("demo", id)],
    [
      "it hides",
      (store, id) =>
        store.rooms.update("demo", id, {
          permission_config: { "room.view": ["crew"] },
        }),
    ],
  ];
  for (const [line, body] of writes.slice(4)) {
    for (const [name, change] of roomLost) {
      const { status, room } = await send(line, body, change);
      t.equal(status, 403, `${line("…")}: ${name}`);
      if (room) t.equal(room.value.name, "a");
    }
  }

  const exp = Math.floor(Date.now() / 1000) + 4;
  const expired = () => until(() => Date.now() >= exp * 1000);
  const { status } = await send(...writes[0]!, expired, exp);
  t.equal(status, 401, "the token expires");
});
