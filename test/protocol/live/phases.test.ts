import t from "tap";
import type { Json } from "../../../conformance/client.js";
import { defaultPermissionConfig } from "../../../schemas/plain/permissions.js";
import { holdTime } from "../../support/open-world.js";
import { demo, startServer } from "../../support/server.js";

// The phases of an event: who may enter when, through each kind of access.

const server = await startServer(t, {
  worlds: [
    demo({
      permission_config: {
        ...defaultPermissionConfig,
        "world.api": ["api"],
      },
    }),
  ],
  people: { host: { uid: "host", traits: ["admin", "api"] } },
});
const { rest, store } = server;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const at = (offset: number) => new Date(Date.now() + offset).toISOString();

/**
 * Replaces `config.access`, as a PATCH does, and waits until all connections have been notified.
 */
async function set(access: object | undefined) {
  const { config } = (await store.worlds.get("demo"))!.value;
  const { access: _, ...rest } = config;
  const next = access === undefined ? rest : { ...rest, access };
  const { status } = await server.rest("PATCH", "demo/", { config: next });
  if (status !== 200) throw new Error(String(status));
}

const phases: { name: string; access: object; open: string[]; refused: string | undefined }[] = [
  {
    name: "published",
    access: { published: true },
    open: ["guest", "attendee", "speaker", "account", "host"],
    refused: undefined,
  },
  { name: "unpublished", access: { published: false }, open: ["host"], refused: "unpublished" },
  {
    name: "early",
    access: { published: true, opens_at: at(HOUR), closes_at: at(2 * HOUR) },
    open: ["speaker", "account", "host"],
    refused: "early",
  },
  {
    name: "open",
    access: { published: true, opens_at: at(-HOUR), closes_at: at(HOUR) },
    open: ["guest", "attendee", "speaker", "account", "host"],
    refused: undefined,
  },
  {
    name: "over, for the team",
    access: { published: true, closes_at: at(-HOUR) },
    open: ["speaker", "account", "host"],
    refused: "over",
  },
  {
    name: "over, for the invited",
    access: { published: true, closes_at: at(-HOUR), after: "invited" },
    open: ["attendee", "speaker", "account", "host"],
    refused: "over",
  },
  {
    name: "over, for everybody",
    access: { published: true, closes_at: at(-HOUR), after: "everybody" },
    open: ["guest", "attendee", "speaker", "account", "host"],
    refused: undefined,
  },
];

const token = (uid: string, ...traits: string[]) => ({ token: server.tokenOf({ uid, traits }) });
const visitors: Record<string, object> = {
  guest: { client_id: "guest" },
  attendee: token("attendee", "attendee"),
  speaker: token("speaker", "speaker"),
  account: token("account"),
  host: token("host", "admin", "api"),
};

void t.test("each door in each phase", async (t) => {
  const account = await server.person({ uid: "account" });
  const { body: room } = await rest("POST", "demo/rooms/", {
    name: "Hall",
    module_config: [{ type: "question", config: { active: true, anonymous: true } }],
  });
  await rest("POST", "demo/speakers/", { name: "Ada", user_id: account.hello["user.config"].id });
  const host = server.people["host"]!;
  const { url } = await host.do("room.invite.anonymous.link", { room: room.id });
  const invite_token = new URL(url).hash.replace("#invite=", "");
  const { user } = await host.do("user.kiosk.create", {
    profile: { display_name: "Screen", room_id: room.id },
  });
  const { token: screen } = await host.do("user.kiosk.fetch", { id: user.id });
  const { url: calendar } = await account.do("program.link", {});
  const subscribed = new URL(calendar);
  for (const { name, access, open, refused } of phases) {
    await set(access);
    for (const [who, credentials] of Object.entries(visitors)) {
      const client = await server.connect();
      const answer = await client.login(credentials);
      const expected = open.includes(who)
        ? ["authenticated"]
        : ["error", { code: "auth.denied", details: { access: [refused] } }];
      t.match(answer, expected, `${name}: ${who} over a websocket`);
      client.ws.terminate();
    }
    const isOpen = open.includes("guest");
    const limited = {
      "an anonymous link": { client_id: "a", invite_token },
      "a screen": { token: screen },
    };
    for (const [door, credentials] of Object.entries(limited)) {
      const client = await server.connect();
      const [entered] = await client.login(credentials);
      t.equal(entered, isOpen ? "authenticated" : "error", `${name}: ${door}`);
      client.ws.terminate();
    }
    const upload = await server.call({
      method: "POST",
      url: "/storage/upload/?world=demo",
      as: "Client guest",
    });
    t.equal(upload.status === 403, !isOpen, `${name}: an upload of a guest (${upload.status})`);
    const ics = await server.call({ url: "/w/demo/program.ics" });
    t.equal(ics.status === 403, refused === "unpublished", `${name}: the calendar of guests`);
    const own = await server.call({ url: subscribed.pathname + subscribed.search });
    t.equal(own.status === 403, refused === "unpublished", `${name}: a calendar of one's own`);
    for (const [who, traits] of [
      ["attendee", ["api", "attendee"]],
      ["host", ["admin", "api"]],
    ] as const) {
      const as = `Bearer ${server.tokenOf({ uid: who, traits: [...traits] })}`;
      const read = await server.call({ url: "/api/v1/worlds/demo/rooms/", as });
      t.equal(
        read.status === 200,
        open.includes(who),
        `${name}: ${who} over HTTP (${read.status})`,
      );
    }
    const page = await server.call({ url: "/w/demo", headers: { accept: "text/html" } });
    t.equal(page.text.includes("<title>demo"), refused !== "unpublished", `${name}: the page`);
  }
});

void t.test("the time opens and closes the doors", async (t) => {
  const pass = holdTime(t);
  await set({ published: true, opens_at: at(15 * MINUTE), closes_at: at(30 * MINUTE) });
  const host = await server.person("boss", "admin", "api");
  const refused = async () => {
    const client = await server.connect();
    return ((await client.login({ client_id: "guest" }))[1] as Json).details?.access;
  };
  // Minutes pass without a write that would announce the change.
  pass(14 * MINUTE);
  t.same(await refused(), ["early"]);
  pass(MINUTE);
  const guest = await server.guest();
  pass(14 * MINUTE);
  t.equal(await guest.code("user.list.blocked"), "ok", "not before");
  pass(MINUTE);
  t.match(await guest.next("error"), { code: "auth.denied", details: { access: ["over"] } });
  t.same(await refused(), ["over"]);
  t.equal(await host.code("user.list.blocked"), "ok", "the team stays");
  await guest.closed;
});

void t.test("a speaker who is none any more has to leave", async (t) => {
  await set({ published: true });
  const ada = await server.person("ada");
  const { body: speaker } = await rest("POST", "demo/speakers/", { name: "Ada", user_id: ada.id });
  await set({ published: true, opens_at: at(HOUR) });
  await server.settled();
  t.equal(await ada.code("user.list.blocked"), "ok");
  await rest("PATCH", `demo/speakers/${speaker.id}/`, { user_id: null });
  t.match(await ada.next("error"), { code: "auth.denied", details: { access: ["early"] } });
});

void t.test("settings that cannot hold are refused", async (t) => {
  const { config } = (await store.worlds.get("demo"))!.value;
  const rows: [string, object][] = [
    ["closes_at", { published: true, opens_at: at(HOUR), closes_at: at(0) }],
    ["opens_at", { published: true, opens_at: "tomorrow" }],
    ["opens_at", { published: true, opens_at: "2027-02-30T10:00:00Z" }],
    ["published", { opens_at: at(HOUR) }],
    ["after", { published: true, after: "some" }],
  ];
  for (const [field, access] of rows) {
    const { status, body } = await rest("PATCH", "demo/", { config: { ...config, access } });
    t.equal(status, 400, field);
    t.ok(
      Object.keys(body).some((key) => key.startsWith("config.access")),
      JSON.stringify(body),
    );
  }
});
