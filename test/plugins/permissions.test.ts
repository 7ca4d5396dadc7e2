import t, { type Test } from "tap";
import type { PermissionConfig } from "../../schemas/plain/permissions.js";
import {
  admin,
  bearer,
  keyOf,
  rules,
  serve,
  tokenOf,
  worldOf,
} from "../helper.js";

const world = "/api/v1/worlds/demo/";
const rooms = `${world}rooms/`;

/** What the columns of a table of callers call, in their order. */
const COLUMNS = [
  "GET world",
  "PATCH world",
  "GET rooms",
  "POST rooms",
  "GET open",
  "PATCH open",
  "DELETE open",
  "GET stage",
  "PATCH stage",
  "DELETE stage",
] as const;

/** Authorization headers by who sends them. */
const callers = {
  nobody: undefined,
  "badly signed": `Bearer ${tokenOf({ ...keyOf("demo"), secret: "x".repeat(40) })}`,
  "of another world": admin("other"),
  "a guest": bearer("demo"),
  admin: bearer("demo", "admin"),
  crew: bearer("demo", "crew"),
  host: bearer("demo", "host"),
  "crew + host": bearer("demo", "host", "crew"),
  auditor: bearer("demo", "auditor"),
  editor: bearer("demo", "editor"),
  "auditor + editor": bearer("demo", "editor", "auditor"),
} as const;

/** Who calls, and the status of each column. */
type Row = [caller: keyof typeof callers, statuses: string];

/** Calls every route as every caller, each on rooms of its own. */
async function checkTable(
  t: Test,
  permission_config: PermissionConfig,
  stageRules: PermissionConfig,
  table: Row[],
) {
  const { call, store } = await serve(t, [
    worldOf("demo", { permission_config }),
    worldOf("other"),
  ]);
  for (const [name, row] of table) {
    const as = callers[name];
    const statuses = row.trim().split(/ +/).map(Number);
    const [open, stage] = await Promise.all([
      store.rooms.create("demo", { name: "open" }),
      store.rooms.create("demo", {
        name: "stage",
        permission_config: stageRules,
      }),
    ]);
    const urls: Record<string, string> = {
      world,
      rooms,
      open: `${rooms}${open.value.id}/`,
      stage: `${rooms}${stage.value.id}/`,
    };
    for (const [i, column] of COLUMNS.entries()) {
      const [method = "", thing = ""] = column.split(" ");
      const body =
        method === "POST"
          ? { body: { name: "made" } }
          : method === "PATCH"
            ? { body: {} }
            : {};
      const got = await call({ method, url: urls[thing]!, as, ...body });
      t.equal(got.status, statuses[i], `${name}: ${column}`);
    }
  }
}

//            the world    its rooms    a room             one with rules
//            GET PATCH    GET POST     GET PATCH DELETE   GET PATCH DELETE
const none = "401 401      401 401      401 401 401        401 401 401";
const deny = "403 403      403 403      403 403 403        403 403 403";

void t.test("a world whose API is open", (t) =>
  checkTable(
    t,
    rules({
      "world.api": [],
      "world.secrets": ["auditor"],
      "world.update": ["editor"],
      "room.create": [["host", "admin"]],
      "room.delete": ["admin"],
    }),
    {
      "room.view": [["crew", "host", "admin"]],
      "room.update": ["host", "crew"],
      "room.delete": [],
    },
    [
      ["nobody", none],
      ["badly signed", none],
      ["of another world", deny],
      ["a guest", "403 403  200 403  200 403 403  403 403 403"],
      ["auditor", "200 403  200 403  200 403 403  403 403 403"],
      ["editor", "403 403  200 403  200 403 403  403 403 403"],
      ["auditor + editor", "200 200  200 403  200 403 403  403 403 403"],
      ["crew", "403 403  200 403  200 403 403  200 403 204"],
      ["host", "403 403  200 201  200 403 403  200 403 204"],
      ["crew + host", "403 403  200 201  200 403 403  200 200 204"],
      // The room's own rule replaces the world's, also for who could do it by that.
      ["admin", "403 403  200 201  200 200 204  200 403 204"],
    ],
  ),
);

void t.test("a room cannot open the API of its world", (t) =>
  checkTable(
    t,
    rules({}),
    { "world.api": [], "room.view": [], "room.update": [], "room.delete": [] },
    [["a guest", deny]],
  ),
);
