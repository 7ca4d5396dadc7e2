import t from "tap";
import { newFile } from "../db/store-contract/setup.js";
import {
  admin,
  dial,
  listen,
  rawRequest,
  serve,
  type TestServer,
} from "../helper.js";

const as = admin("demo");
const rooms = "/api/v1/worlds/demo/rooms/";

void t.test("links keep what else a query holds as it came", async (t) => {
  const { app, store } = await serve(t);
  // Each search finds all of them.
  const description = `%FF \uFFFD ä %zz% a b c ? page=1 # "<>`;
  for (const name of ["a", "b", "c"])
    await store.rooms.create("demo", { name, description });
  const port = await listen(app);
  const cases: [name: string, query: string, next: string][] = [
    ["nothing else", "?page_size=1", "?page_size=1&page=2"],
    [
      "bytes that are no UTF-8",
      "?search=%FF&page_size=1",
      "?search=%FF&page_size=1&page=2",
    ],
    [
      "small letters",
      "?search=%c3%a4&page_size=1",
      "?search=%c3%a4&page_size=1&page=2",
    ],
    [
      "no escape",
      "?search=%zz%&page_size=1",
      "?search=%zz%&page_size=1&page=2",
    ],
    [
      "a plus and a space",
      "?search=a+b%20c&page_size=1",
      "?search=a+b%20c&page_size=1&page=2",
    ],
    [
      "a question mark",
      "?search=?&page_size=1",
      "?search=?&page_size=1&page=2",
    ],
    [
      "no values",
      "?search&&type=&page_size=1",
      "?search&&type=&page_size=1&page=2",
    ],
    [
      "a page in front",
      "?page=1&page_size=1&search=1",
      "?page=2&page_size=1&search=1",
    ],
    ["a page in disguise", "?p%61ge=1&page_size=1", "?page=2&page_size=1"],
    [
      "a page that is a value",
      "?search=page=1&page_size=1",
      "?search=page=1&page_size=1&page=2",
    ],
    ["a hash", "?search=%23&page_size=1", "?search=%23&page_size=1&page=2"],
    [
      "a quotation mark",
      '?search="<>&page_size=1',
      "?search=%22%3C%3E&page_size=1&page=2",
    ],
  ];
  for (const [name, query, next] of cases) {
    const wire = dial(t, port);
    wire.send(rawRequest(`GET ${rooms}${query}`, { Authorization: as }));
    const { status, text } = await wire.answer();
    t.equal(status, 200, name);
    const list = JSON.parse(text) as { next: string };
    t.equal(list.next, `http://localhost${rooms}${next}`, name);
    const followed = list.next.slice("http://localhost".length);
    wire.send(rawRequest(`GET ${followed}`, { Authorization: as }));
    const second = JSON.parse((await wire.answer()).text) as {
      previous: string;
      next: string;
    };
    t.equal(second.previous, list.next.replace("page=2", "page=1"), name);
    t.equal(second.next, list.next.replace("page=2", "page=3"), name);
  }
});

/** A list, to which rows are added while it is read, and out of which they go. */
interface Case {
  path: string;
  add: (server: TestServer, number: number) => Promise<unknown>;
  /** Nothing if no row can go. */
  remove?: (server: TestServer, id: string) => Promise<unknown>;
}

const post =
  (path: string, bodyOf: (number: number) => object) =>
  async ({ call }: TestServer, number: number) => {
    const url = `/api/v1/worlds/demo/${path}`;
    const body = bodyOf(number);
    const answer = await call({ method: "POST", url, as, body });
    if (answer.status !== 201) throw new Error(answer.text);
  };

const remove =
  (path: string) =>
  ({ call }: TestServer, id: string) =>
    call({
      ...{ method: "DELETE", as },
      url: `/api/v1/worlds/demo/${path}${id}/`,
    });

const enter = ({ store }: TestServer, number: number) =>
  store.users.enter("demo", { tokenId: `${number}`, traits: new Set() });
const erase = ({ store }: TestServer, user_id: string) =>
  store.users.erase("demo", { user_id });

const room = post("rooms/", (n) => ({
  name: `Room ${n % 4}`,
  module_config: [{ type: "x" }],
}));

const cases: Case[] = [
  { path: "rooms/", add: room, remove: remove("rooms/") },
  { path: "rooms/?ordering=-name", add: room, remove: remove("rooms/") },
  {
    path: "rooms/?type=x&search=room",
    add: room,
    remove: remove("rooms/"),
  },
  { path: "users/", add: enter, remove: erase },
  { path: "users/?ordering=-created", add: enter, remove: erase },
  { path: "users/?ordering=-last_seen", add: enter, remove: erase },
  {
    path: "sessions/",
    add: post("sessions/", (n) => ({
      title: `Talk ${n % 3}`,
      ...(n % 2 && {
        starts_at: `2027-03-01T1${n % 4}:00:00Z`,
        ends_at: "2027-03-01T19:00:00Z",
      }),
    })),
    remove: remove("sessions/"),
  },
  {
    path: "speakers/",
    add: post("speakers/", (n) => ({ name: `Ada ${n % 3}` })),
    remove: remove("speakers/"),
  },
  {
    path: "announcements/",
    add: post("announcements/", (n) => ({ text: `${n}` })),
  },
  {
    path: "files/",
    add: ({ store }, n) => {
      const { record } = newFile();
      const visitor = { tokenId: `${n}`, traits: new Set<string>() };
      return store.files.add("demo", visitor, record, 1e9);
    },
    remove: remove("files/"),
  },
  {
    path: "webhooks/",
    add: ({ store }, n) => {
      const settings = {
        ...{ url: "https://example.org/", types: ["*"], enabled: false },
        description: `${n}`,
      };
      return store.webhooks.create("demo", settings, "");
    },
    remove: remove("webhooks/"),
  },
  { path: "audit/?type=room.*", add: room },
];

void t.test("a cursor loses no row and repeats none", async (t) => {
  for (const { path, add, remove } of cases) {
    const server = await serve(t);
    const get = async (url: string) => {
      const { status, body } = await server.call({ url, as });
      t.equal(status, 200, `${path}: ${url}`);
      return body as { count: number; results: { id: string }[] } & Record<
        "next" | "previous",
        string | null
      >;
    };
    const base = `/api/v1/worlds/demo/${path}`;
    const all = `${base}${path.includes("?") ? "&" : "?"}`;
    let made = 0;
    for (; made < 7; made++) await add(server, made);
    const { results } = await get(base);
    const stay = results.map(({ id }) => id);
    let page = await get(`${all}cursor=&page_size=3`);
    t.match(page, { count: 7, previous: null, results: { length: 3 } }, path);
    const seen: string[] = [];
    for (;;) {
      seen.push(...page.results.map(({ id }) => id));
      await remove?.(server, seen.at(-1)!);
      if (made < 9) await add(server, made++);
      if (page.next === null) break;
      t.match(page.next, /[?&]cursor=[\w-]+/, path);
      page = await get(page.next);
    }
    t.equal(new Set(seen).size, seen.length, `${path}: none twice`);
    t.strictSame(
      stay.filter((id) => !seen.includes(id)),
      [],
      `${path}: none left out`,
    );
    const whole = await get(`${all}cursor=&page_size=1000`);
    t.equal(whole.next, null, `${path}: a whole list has no next page`);
    const exact = `${all}cursor=&page_size=${whole.count}`;
    t.equal((await get(exact)).next, null, `${path}: nor has a full page`);
  }
});

void t.test("a cursor is of one list, and stands alone", async (t) => {
  const { call, store } = await serve(t);
  for (const name of ["a", "b", "c"])
    await store.rooms.create("demo", { name });
  const at = async (query: string) => {
    const { body } = await call({ url: `${rooms}?${query}`, as });
    const { next } = body as { next: string };
    return new URL(next).searchParams.get("cursor")!;
  };
  const cursor = await at("cursor=&page_size=1");
  const encoded = (...values: unknown[]) =>
    Buffer.from(JSON.stringify(values)).toString("base64url");
  const order = "rooms sorting_priority";
  const refused: [name: string, query: string][] = [
    ["a page beside it", `cursor=${cursor}&page=1`],
    ["an empty one beside a page", "cursor=&page=2"],
    ["no cursor", "cursor=x"],
    ["JSON that is no list", `cursor=${Buffer.from("{}").toString("base64")}`],
    ["one of another order", `cursor=${cursor}&ordering=name`],
    ["one of another list", `cursor=${encoded("users created", 1, "a")}`],
    ["too few values", `cursor=${encoded(order, 1, "a")}`],
    ["another type", `cursor=${encoded(order, "1", "a", "b")}`],
    ["a NUL", `cursor=${encoded(order, 1, "\0", "b")}`],
    ["a fraction", `cursor=${encoded(order, 1.5, "a", "b")}`],
    ["a number beyond bounds", `cursor=${encoded(order, 1e300, "a", "b")}`],
    ["two cursors", "cursor=&cursor="],
  ];
  for (const [name, query] of refused) {
    const { status, body } = await call({ url: `${rooms}?${query}`, as });
    t.equal(status, 400, name);
    t.match(body, { cursor: [/./] }, name);
  }
  const url = `${rooms}?page_size=1&cursor=${cursor}&ordering=sorting_priority`;
  const { body } = await call({ url, as });
  t.match(body, { results: [{ name: "b" }], previous: null });
  const { next } = body as { next: string };
  const { searchParams: kept } = new URL(next);
  t.equal(kept.get("ordering"), "sorting_priority", "the rest is kept");
  t.equal(kept.getAll("cursor").length, 1);
});
