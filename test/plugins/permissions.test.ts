import t, { type Test } from "tap";
import type {
  PermissionConfig,
  Rule,
} from "../../schemas/plain/permissions.js";
import type { Room } from "../../schemas/rooms.js";
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
  garbage: "Bearer x",
  "badly signed": `Bearer ${tokenOf({ ...keyOf("demo"), secret: "x".repeat(40) })}`,
  "a client ID": "Client abc",
  "of another world": admin("other"),
  "a guest": bearer("demo"),
  api: bearer("demo", "api"),
  admin: bearer("demo", "admin"),
  "Admin + API": bearer("demo", "Admin", "API"),
  "admin,api": bearer("demo", "admin,api"),
  "admin + api": admin("demo"),
  "admin + api + crew": bearer("demo", "crew", "api", "admin"),
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
    // What a caller may not delete must be there still.
    for (const [column, { value }] of [
      ["DELETE open", open],
      ["DELETE stage", stage],
    ] as const) {
      const left = await store.rooms.get("demo", value.id);
      const gone = statuses[COLUMNS.indexOf(column)] === 204;
      t.equal(left === undefined, gone, `${name}: after ${column}`);
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

void t.test("whom a rule admits", async (t) => {
  const { call, store } = await serve(t, [
    worldOf("demo", {
      permission_config: { "world.api": [], "room.view": ["never"] },
    }),
  ]);
  const cases: [rule: Rule, admitted: string[][], refused: string[][]][] = [
    [[], [[], ["a"]], []],
    [["a"], [["a"], ["b", "a"]], [[], ["b"], ["A"], ["a "]]],
    [
      ["a", "b"],
      [
        ["a", "b"],
        ["c", "b", "a"],
      ],
      [[], ["a"], ["b"]],
    ],
    [[["a", "b"]], [["a"], ["b"], ["a", "b"]], [[], ["c"]]],
    [
      [["a", "b"], "c"],
      [
        ["a", "c"],
        ["c", "b"],
      ],
      [["a", "b"], ["c"], []],
    ],
    [
      [
        ["a", "b"],
        ["c", "d"],
      ],
      [
        ["a", "d"],
        ["b", "c"],
      ],
      [
        ["a", "b"],
        ["c", "d"],
      ],
    ],
    // One of none: no caller has that.
    [[[]], [], [[], ["a"]]],
    [["a", []], [], [["a"], []]],
  ];
  for (const [rule, admitted, refused] of cases) {
    const { value: room } = await store.rooms.create("demo", {
      name: "x",
      permission_config: { "room.view": rule },
    });
    for (const [status, callers] of [
      [200, admitted],
      [403, refused],
    ] as const) {
      for (const traits of callers) {
        const as = bearer("demo", ...traits);
        const name = `${JSON.stringify(rule)} by ${JSON.stringify(traits)}`;
        const one = await call({ url: `${rooms}${room.id}/`, as });
        t.equal(one.status, status, name);
        const list = await call({ url: rooms, as });
        const listed = (list.body as { results: Room[] }).results;
        t.equal(
          listed.some(({ id }) => id === room.id),
          status === 200,
          `${name}, in the list`,
        );
      }
    }
  }
});

void t.test("a room that is hidden looks like none at all", async (t) => {
  const { call, store } = await serve(t, [worldOf("demo")]);
  const { value: room } = await store.rooms.create("demo", {
    name: "x",
    permission_config: { "room.view": ["crew"] },
  });
  for (const method of ["GET", "PATCH", "DELETE"]) {
    const [hidden, missing] = await Promise.all(
      [room.id, "00000000-0000-4000-8000-000000000000"].map((id) =>
        call({
          method,
          url: `${rooms}${id}/`,
          as: admin("demo"),
          headers: { "if-match": '"x"', "if-none-match": "*" },
          ...(method === "PATCH" && { body: { name: "" } }),
        }),
      ),
    );
    t.equal(hidden?.status, 403, method);
    t.equal(hidden?.text, missing?.text, method);
    for (const answer of [hidden, missing]) {
      delete answer?.headers.date;
      delete answer?.headers["x-request-id"];
    }
    t.strictSame(hidden?.headers, missing?.headers, method);
  }
});

void t.test("a change of rules holds from the next request", async (t) => {
  const { call } = await serve(t);
  const guest = bearer("demo");
  const change = (permission_config: PermissionConfig) =>
    call({
      method: "PATCH",
      url: world,
      as: admin("demo"),
      body: { permission_config },
    });
  t.equal((await call({ url: rooms, as: guest })).status, 403);
  await change(rules({ "world.api": [] }));
  t.equal((await call({ url: rooms, as: guest })).status, 200);
  await change(rules({}));
  t.equal((await call({ url: rooms, as: guest })).status, 403);
});
