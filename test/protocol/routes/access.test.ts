import { isDeepStrictEqual } from "node:util";
import t, { type Test } from "tap";
import type { JsonObject } from "../../../schemas/openapi/openapi-schema.js";
import type { PermissionConfig } from "../../../schemas/plain/permissions.js";
import {
  admin,
  type Answer,
  bearer,
  keyOf,
  rules,
  tokenOf,
  worldOf,
} from "../../support/helper.js";
import { ACCESS } from "../../support/resource.js";
import { fromAll, identified } from "../../support/resources.js";
import { startServer } from "../../support/server.js";
import { ABSENT_ID, startPopulatedServer, idIn, urlOf } from "../../support/route-calls.js";

// Access matrix: every route, called by every kind of caller. A route without a row fails the first
// test below.

const token = (id: string, claims: object, traits: string[]) =>
  `Bearer ${tokenOf(keyOf(id), { uid: "u", traits, ...claims })}`;

const callers: [name: string, as: string | undefined][] = [
  ["nobody", undefined],
  ["garbage", "Bearer garbage"],
  ["expired", token("demo", { exp: 1 }, ["admin", "api"])],
  ["of another world", token("other", {}, ["admin", "api", "crew"])],
  ["a guest", "Client guest"],
  ["attendee", token("demo", {}, ["attendee"])],
  ["api only", token("demo", {}, ["api"])],
  ["admin only", token("demo", {}, ["admin"])],
  ["admin and api", token("demo", {}, ["admin", "api"])],
  // These two call a room whose rules require crew, if the path names a room.
  ["admitted by the room", token("demo", {}, ["admin", "api", "crew"])],
  ["refused by the room", token("demo", {}, ["admin", "api"])],
];

//              no gar exp oth gue att api adm both rooms: admits, refuses
const all200 = "200 200 200 200 200 200 200 200 200 200 200";
const all302 = "302 302 302 302 302 302 302 302 302 302 302";
const all401 = "401 401 401 401 401 401 401 401 401 401 401";
const all403 = "403 403 403 403 403 403 403 403 403 403 403";
const all404 = "404 404 404 404 404 404 404 404 404 404 404";
const ofServer = "401 401 401 403 401 403 403 403 403 403 403";

/** The expected status for each caller, by route. GET rows also cover HEAD. */
const table: Record<string, string> = {
  "GET /": all404,
  "GET /console": all200,
  "GET /w/:world": all200,
  "GET /w/:world/console": all200,
  "GET /icon.svg": all200,
  "GET /manifest.webmanifest": all200,
  "GET /front.json": all200,
  "GET /w/:world/icon.svg": all200,
  "GET /w/:world/manifest.webmanifest": all200,
  "GET /w/:world/front.json": all200,
  "GET /w/:world/sign-in/:provider/": all404,
  "GET /w/:world/sign-in/:provider/callback": all404,
  "GET /login/:token": all404,
  "GET /j/:code": all404,
  "GET /setup": all200,
  "GET /web/player.html": all200,
  "GET /web/:name": all200,
  "GET /demo/stream.m3u8": all200,
  "GET /demo/:name": all200,
  "GET /healthz": all200,
  "GET /readyz": all200,
  "GET /docs/": all200,
  "GET /docs/:name": all302,
  "GET /docs/api": all200,
  "GET /docs/guides/:name": all200,
  "GET /docs/live": all200,
  "GET /docs/live.css": all200,
  "GET /docs/start.js": all200,
  "GET /docs/static/:name": all200,
  "GET /api/v1/openapi.json": all200,
  "GET /api/v1/asyncapi.json": all200,
  // Always 426: clients log in with a message, after the upgrade.
  "GET /ws/world/:world_id": all200.replaceAll("200", "426"),
  // Requires a token of its own, which none of these callers has.
  "GET /metrics": all401,
  "GET /media/pub/:world/:name": all200,
  "GET /api/v1/worlds/:world_id/": ACCESS.read,
  "PATCH /api/v1/worlds/:world_id/": ACCESS.read,
  "POST /api/v1/worlds/:world_id/delete_user": ACCESS.delete,
  // The last callers are authorized, but the world shows no such schedule.
  "POST /api/v1/worlds/:world_id/schedule_update": ACCESS.read.replaceAll("200", "401"),
  "GET /api/v1/worlds/:world_id/users/": ACCESS.read,
  "PATCH /api/v1/worlds/:world_id/users/": ACCESS.read,
  "GET /api/v1/worlds/:world_id/users/:user_id/": ACCESS.read,
  "PATCH /api/v1/worlds/:world_id/users/:user_id/": ACCESS.read,
  // These require the operator's token.
  "GET /api/v1/worlds/": ofServer,
  "POST /api/v1/worlds/": ofServer,
  "DELETE /api/v1/worlds/:world_id/": ofServer,
  // Requires the setup link that an empty server prints to its terminal.
  "POST /api/v1/setup/": all401,
  "POST /api/v1/worlds/:world_id/tokens/": ACCESS.read,
  "GET /api/v1/worlds/:world_id/announcements/": ACCESS.read,
  "POST /api/v1/worlds/:world_id/announcements/": ACCESS.make,
  "GET /api/v1/worlds/:world_id/announcements/:announcement_id/": ACCESS.read,
  "PATCH /api/v1/worlds/:world_id/announcements/:announcement_id/": ACCESS.read,
  "GET /api/v1/worlds/:world_id/rooms/:room_id/messages/": ACCESS.readInRoom,
  "POST /api/v1/worlds/:world_id/rooms/:room_id/messages/": ACCESS.makeInRoom,
  "DELETE /api/v1/worlds/:world_id/rooms/:room_id/messages/:event_id/": ACCESS.deleteInRoom,
  "GET /api/v1/worlds/:world_id/rooms/:room_id/questions/": ACCESS.readInRoom,
  "GET /api/v1/worlds/:world_id/rooms/:room_id/polls/": ACCESS.readInRoom,
  "GET /api/v1/worlds/:world_id/rooms/:room_id/captions/": ACCESS.readInRoom,
  "POST /api/v1/worlds/:world_id/rooms/:room_id/captions/": ACCESS.deleteInRoom,
  "GET /api/v1/worlds/:world_id/call-engines/": ACCESS.read,
  // Authorized by the engine's signature.
  "POST /api/v1/calls/livekit/": all401,
  "GET /api/v1/worlds/:world_id/results/:kind/": ACCESS.read,
  // Authorized by its sealed URL, which names the requester.
  "GET /api/v1/worlds/:world_id/reports/:report/": all403,
  "GET /api/v1/worlds/:world_id/activity/": ACCESS.read,
  "GET /api/v1/worlds/:world_id/changes/": ACCESS.read,
  "GET /api/v1/worlds/:world_id/audit/": ACCESS.read,
  "GET /api/v1/worlds/:world_id/files/": ACCESS.read,
  "DELETE /api/v1/worlds/:world_id/files/:file_id/": ACCESS.delete,
  "GET /api/v1/worlds/:world_id/rooms/": ACCESS.read,
  "POST /api/v1/worlds/:world_id/rooms/": ACCESS.make,
  "GET /api/v1/worlds/:world_id/rooms/:room_id/": ACCESS.readInRoom,
  "POST /api/v1/worlds/:world_id/rooms/:room_id/copy/": ACCESS.makeInRoom,
  "PATCH /api/v1/worlds/:world_id/rooms/:room_id/": ACCESS.readInRoom,
  "DELETE /api/v1/worlds/:world_id/rooms/:room_id/": ACCESS.deleteInRoom,
  "GET /api/v1/worlds/:world_id/program/": ACCESS.read,
  "PUT /api/v1/worlds/:world_id/program/": ACCESS.read,
  "GET /w/:world/program.ics": all200,
  ...fromAll(({ access }) => access),
  "POST /storage/upload/": "403 403 403 403 201 201 201 201 201 201 201",
  "POST /storage/schedule_import/": "403 403 403 403 403 403 403 201 201 201 201",
};

/** The same table for a world that requires the trait `attendee`. */
const closed: Record<string, string> = {
  "POST /storage/upload/": "403 403 403 403 403 201 403 403 403 403 403",
  "POST /storage/schedule_import/": "403 403 403 403 403 403 403 403 403 403 403",
};

const ABSENT_WORLD = "missing";

const attendee = callers[5]![1]!;

async function checkTable(t: Test, rows: Record<string, string>, permissions = rules({})) {
  const { routes, store, room, closedRoom, send, upload, idsFor, holdCall } =
    await startPopulatedServer(t, permissions);
  const media = await upload(attendee);
  const lasting = [await room(), await closedRoom()];
  for (const [route, row] of Object.entries(rows)) {
    const isDoomed = route === "DELETE /api/v1/worlds/:world_id/rooms/:room_id/";
    const statuses = row.split(" ").map(Number);
    const found: number[] = [];
    for (const [i, [name, as]] of callers.entries()) {
      const isClosed = i >= callers.length - 2;
      const id = isDoomed ? await (isClosed ? closedRoom() : room()) : lasting[Number(isClosed)]!;
      // The upload creates the user to erase.
      if (route.endsWith("/delete_user")) {
        await upload(token("demo", { uid: "subject" }, ["attendee"]));
      }
      const ids = await idsFor(route, id);
      const endsCall = route.startsWith("DELETE") && route.endsWith("/call/");
      if (endsCall) await holdCall(id);
      const url = urlOf(route, id, media, ids);
      const got = await send(route, { url, as });
      found.push(got.status);
      if (route.startsWith("DELETE")) {
        const { file, event } = ids;
        const resource = identified.find(({ parameter }) => ids[parameter] !== undefined);
        const isMessage = async () =>
          !(await store.chat.event("demo", id, Number(event)))?.content.includes("deleted");
        const left = resource
          ? await resource.has(store, ids[resource.parameter]!)
          : event !== undefined
            ? await isMessage()
            : endsCall
              ? (await store.calls.get("demo", id)).call
              : file === undefined
                ? await store.rooms.get("demo", id)
                : await store.files.get("demo", file);
        t.equal(!left, got.status === 204, `${route} by ${name}: what is left`);
      }
      const head = route.replace("GET", "HEAD");
      if (head === route) continue;
      const without = await send(head, { url, as });
      t.strictSame(
        [routes.has(head), without.status, without.text],
        [true, got.status, ""],
        `${head} by ${name}`,
      );
    }
    t.strictSame(found, statuses, `${route} by ${callers.length} callers`);
  }
}

void t.test("each route has a row, and each row a route", async (t) => {
  const { app, routes } = await startPopulatedServer(t);
  const rows = Object.keys(table);
  const heads = rows.flatMap((row) => (row.startsWith("GET ") ? [row.replace("GET", "HEAD")] : []));
  t.strictSame([...routes].sort(), [...rows, ...heads].sort());
  const { paths } = app.openapi() as { paths: Record<string, JsonObject> };
  for (const [path, methods] of Object.entries(paths)) {
    const pattern = path.replace(/\{(\w+)\}/g, ":$1");
    for (const method of Object.keys(methods)) {
      const row = `${method.toUpperCase()} ${pattern}`;
      t.ok(row in table || `${row}/` in table, `${row}, of the document`);
    }
  }
});

void t.test("every route by every caller", (t) => checkTable(t, table));

void t.test("a world that is closed to guests", (t) =>
  checkTable(t, closed, rules({ "world.view": ["attendee"] })),
);

/** Everything a client can see of an answer, except what differs between any two. */
function seen({ status, headers, text }: Answer) {
  const { date: _, "x-request-id": id, ...rest } = headers;
  // Random in each answer.
  const plain = text.replace(/"(challenge|state)":"[\w-]*"/g, '"$1":""');
  return { status, headers: rest, text: plain, numbered: id !== undefined };
}

/** Header variations that could reveal whether something exists. */
const variations: Record<string, string>[] = [
  {},
  { "if-none-match": "*" },
  { "if-match": '"x"' },
  { "if-match": "*" },
  { "content-type": "text/plain" },
  { range: "bytes=0-0" },
  { origin: "https://evil.example" },
];

const METHODS = ["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"];

void t.test("what is there looks like what is not", async (t) => {
  const { routes, room, closedRoom, send, upload } = await startPopulatedServer(
    t,
    rules({ "world.view": ["attendee"] }),
  );
  const id = await closedRoom();
  const open = await room();
  const media = await upload(attendee);
  const elsewhere = await upload(callers[3]![1]!, "other.example.org");
  const paths = new Set([...routes].map((route) => route.split(" ")[1]!));
  const all = callers.slice(0, 5).map(([, as]) => as);
  const refused = callers.at(-1)![1];
  let compared = 0;
  const same = async (
    name: string,
    method: string,
    headers: Record<string, string>,
    as: string | undefined,
    there: string,
    none: string,
  ) => {
    const [a, b] = [
      await send(method, { url: there, as, headers }),
      await send(method, { url: none, as, headers }),
    ];
    compared++;
    // Asserts only on a mismatch: one passing assertion per pair would flood the output.
    if (!isDeepStrictEqual(seen(a), seen(b))) {
      t.strictSame(seen(a), seen(b), name);
    }
  };
  for (const path of paths) {
    for (const method of METHODS) {
      for (const headers of variations) {
        const name = `${method} ${path} ${JSON.stringify(headers)}`;
        const there = urlOf(`${method} ${path}`, id, media);
        // All callers without extra headers, but only one caller with each variation.
        const strangers = headers === variations[0] ? all : all.slice(-1);
        if (path.includes(":world_id")) {
          const none = there.replace("/demo/", `/${ABSENT_WORLD}/`);
          for (const as of strangers) {
            await same(`${name} of a world`, method, headers, as, there, none);
          }
        }
        if (path.includes(":room_id")) {
          const none = there.replace(id, ABSENT_ID);
          for (const as of [...strangers, attendee, refused]) {
            await same(`${name} of a room`, method, headers, as, there, none);
          }
          // To callers who may not enter the world, an open room also looks missing.
          const elsewhere = there.replace(id, open);
          for (const as of strangers) {
            await same(name, method, headers, as, elsewhere, none);
          }
        }
        if (path.includes(":file_id")) {
          const none = there.replace(idIn(media), ABSENT_ID);
          for (const as of [...strangers, attendee]) {
            await same(`${name} of a file`, method, headers, as, there, none);
          }
          // A caller who may delete files learns nothing about other worlds.
          const foreign = there.replace(idIn(media), idIn(elsewhere));
          const as = admin("demo");
          await same(`${name} elsewhere`, method, headers, as, foreign, none);
        }
        if (path.startsWith("/media/")) {
          const guessed = there.replace(/\.[\w-]{12}\./, ".aaaaaaaaaaaa.");
          const none = guessed.replace("/demo/", `/${ABSENT_WORLD}/`);
          await same(`${name} of a file`, method, headers, "", guessed, none);
        }
      }
    }
  }
  t.ok(compared > 500, `${compared} pairs`);
});

void t.test("a host that is a world's looks like any other", async (t) => {
  const { send } = await startPopulatedServer(t, rules({ "world.view": ["attendee"] }));
  for (const [name, as] of callers.slice(0, 5)) {
    const [there, none] = await Promise.all(
      ["demo.example.org", "missing.example.org"].map((host) =>
        send("POST /storage/upload/", { url: "/storage/upload/", as, headers: { host } }),
      ),
    );
    t.equal(there?.status, 403, name);
    t.strictSame(seen(there!), seen(none!), name);
  }
});

void t.test("users that are there, and those that are not", async (t) => {
  const { send, upload } = await startPopulatedServer(t);
  await upload(token("demo", { uid: "subject" }, []));
  await upload(token("other", { uid: "elsewhere" }, []), "other.example.org");
  const route = "POST /api/v1/worlds/demo/delete_user";
  const url = "/api/v1/worlds/demo/delete_user";
  const ask = (token_id: string, as: string | undefined) =>
    send(route, { url, as, body: { token_id } });
  for (const [name, as] of callers.slice(0, 8)) {
    const there = await ask("subject", as);
    const none = await ask("nobody", as);
    t.strictSame(seen(there), seen(none), name);
  }
  // A caller who may know whether they exist learns nothing about users of other worlds.
  const as = admin("demo");
  t.strictSame(seen(await ask("elsewhere", as)), seen(await ask("nobody", as)));
});

const world = "/api/v1/worlds/demo/";
const rooms = `${world}rooms/`;

/** The requests behind the columns of the tables below, in order. */
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

/** Authorization headers, by caller. */
const holders = {
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

/** A caller, and the expected status for each column. */
type Row = [caller: keyof typeof holders, statuses: string];

/** Calls every route as every caller, with fresh rooms for each caller. */
async function checkRules(
  t: Test,
  permission_config: PermissionConfig,
  stageRules: PermissionConfig,
  table: Row[],
) {
  const { call, store } = await startServer(t, {
    worlds: [worldOf("demo", { permission_config }), worldOf("other")],
  });
  for (const [name, row] of table) {
    const as = holders[name];
    const statuses = row.trim().split(/ +/).map(Number);
    const [open, stage] = await Promise.all([
      store.rooms.create("demo", { name: "open" }),
      store.rooms.create("demo", { name: "stage", permission_config: stageRules }),
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
        method === "POST" ? { body: { name: "made" } } : method === "PATCH" ? { body: {} } : {};
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
  checkRules(
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
      // The room's rule replaces the world's, even for callers whom the world's rule would allow.
      ["admin", "403 403  200 201  200 200 204  200 403 204"],
    ],
  ),
);

void t.test("a room cannot open the API of its world", (t) =>
  checkRules(
    t,
    rules({}),
    { "world.api": [], "room.view": [], "room.update": [], "room.delete": [] },
    [["a guest", deny]],
  ),
);
