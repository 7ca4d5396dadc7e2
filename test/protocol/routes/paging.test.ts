import t from "tap";
import { newFile } from "../../contract/db/store-contract/setup.js";
import { admin, dial, rawRequest } from "../../support/helper.js";
import { type Server, startServer } from "../../support/server.js";

// Pages and cursors of all lists.

const as = admin("demo");
const rooms = "/api/v1/worlds/demo/rooms/";

interface Page {
  count: number;
  next: string | null;
  previous: string | null;
  results: { id: string }[];
}

void t.test("links keep what else a query holds as it was sent", async (t) => {
  const { port, store } = await startServer(t);
  // Every search below matches this description.
  const description = `%FF \uFFFD ä %zz% a b c ? page=1 # "<>`;
  for (const name of ["a", "b", "c"]) await store.rooms.create("demo", { name, description });
  const one = "page_size=1";
  const cases: [name: string, query: string, next: string][] = [
    ["nothing else", `?${one}`, `?${one}&page=2`],
    ["bytes that are no UTF-8", `?search=%FF&${one}`, `?search=%FF&${one}&page=2`],
    ["small letters", `?search=%c3%a4&${one}`, `?search=%c3%a4&${one}&page=2`],
    ["no escape", `?search=%zz%&${one}`, `?search=%zz%&${one}&page=2`],
    ["a plus and a space", `?search=a+b%20c&${one}`, `?search=a+b%20c&${one}&page=2`],
    ["a question mark", `?search=?&${one}`, `?search=?&${one}&page=2`],
    ["no values", `?search&&type=&${one}`, `?search&&type=&${one}&page=2`],
    ["a page in front", `?page=1&${one}&search=1`, `?page=2&${one}&search=1`],
    ["a page in disguise", `?p%61ge=1&${one}`, `?page=2&${one}`],
    ["a page that is a value", `?search=page=1&${one}`, `?search=page=1&${one}&page=2`],
    ["a hash", `?search=%23&${one}`, `?search=%23&${one}&page=2`],
    ["a quotation mark", `?search="<>&${one}`, `?search=%22%3C%3E&${one}&page=2`],
  ];
  for (const [name, query, next] of cases) {
    const wire = dial(t, port);
    const get = async (target: string) => {
      wire.send(rawRequest(`GET ${target}`, { Authorization: as }));
      return JSON.parse((await wire.answer()).text) as Page;
    };
    const first = await get(rooms + query);
    t.equal(first.next, `http://localhost${rooms}${next}`, name);
    const { previous, ...second } = await get(rooms + next);
    t.equal(previous, first.next!.replace("page=2", "page=1"), name);
    t.equal(second.next, first.next!.replace("page=2", "page=3"), name);
  }
});

/** A list to which rows are added, and from which rows are removed, while it is being paged through. */
interface List {
  path: string;
  add: (server: Server, number: number) => Promise<unknown>;
  /** Undefined if rows cannot be removed. */
  remove?: (server: Server, id: string) => Promise<unknown>;
}

const post =
  (path: string, bodyOf: (n: number) => object) =>
  async ({ rest }: Server, n: number) => {
    const { status } = await rest("POST", `demo/${path}`, bodyOf(n));
    if (status !== 201) throw new Error(`${path}: ${status}`);
  };
const list = (path: string, add: List["add"], query = ""): List => ({
  path: path + query,
  add,
  remove: ({ rest }, id) => rest("DELETE", `demo/${path}${id}/`),
});
const enter = ({ store }: Server, n: number) =>
  store.users.enter("demo", { tokenId: `${n}`, traits: new Set() });
const erase = ({ store }: Server, user_id: string) => store.users.erase("demo", { user_id });
const room = post("rooms/", (n) => ({ name: `Room ${n % 4}`, module_config: [{ type: "x" }] }));
const ends_at = "2027-03-01T19:00:00Z";
const times = (n: number) => n % 2 && { starts_at: `2027-03-01T1${n % 4}:00:00Z`, ends_at };
const hook = { url: "https://example.org/", types: ["*"], enabled: false };

const lists: List[] = [
  list("rooms/", room, "?ordering=-name"),
  list("rooms/", room, "?type=x&search=room"),
  { path: "users/?ordering=-created", add: enter, remove: erase },
  list(
    "sessions/",
    post("sessions/", (n) => ({ title: `Talk ${n % 3}`, ...times(n) })),
  ),
  list(
    "speakers/",
    post("speakers/", (n) => ({ name: `Ada ${n % 3}` })),
  ),
  { path: "announcements/", add: post("announcements/", (n) => ({ text: `${n}` })) },
  list("files/", ({ store }, n) => {
    const visitor = { tokenId: `${n}`, traits: new Set<string>() };
    return store.files.add("demo", visitor, newFile().record, 1e9);
  }),
  list("webhooks/", ({ store }, n) =>
    store.webhooks.create("demo", { ...hook, description: `${n}` }, ""),
  ),
  { path: "audit/?type=room.*", add: room },
];

void t.test("a cursor loses no row and repeats none", async (t) => {
  for (const { path, add, remove } of lists) {
    const server = await startServer(t);
    const get = async (url: string) => {
      const { status, body } = await server.call({ url, as });
      t.equal(status, 200, `${path}: ${url}`);
      return body as Page;
    };
    const base = `/api/v1/worlds/demo/${path}`;
    const all = `${base}${path.includes("?") ? "&" : "?"}`;
    let made = 0;
    for (; made < 7; made++) await add(server, made);
    const stay = (await get(base)).results.map(({ id }) => id);
    let page = await get(`${all}cursor=&page_size=3`);
    t.match(page, { count: 7, previous: null, results: { length: 3 } }, path);
    const middle = {
      count: 7,
      previous: /[?&]page=1$/,
      next: /[?&]page=3$/,
      results: { length: 2 },
    };
    t.match(await get(`${all}page_size=2&page=2`), middle, path);
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
    const missing = stay.filter((id) => !seen.includes(id));
    t.strictSame(missing, [], `${path}: none left out`);
    const whole = await get(`${all}cursor=&page_size=1000`);
    t.equal(whole.next, null, `${path}: a whole list has no next page`);
    const exact = await get(`${all}cursor=&page_size=${whole.count}`);
    t.equal(exact.next, null, `${path}: nor has a full page`);
    const bad = await server.call({ url: `${all}page=0&page_size=1001`, as });
    t.match(bad, { status: 400, body: { page: [/./], page_size: [/./] } }, path);
  }
});

void t.test("a cursor is of one list, and stands alone", async (t) => {
  const { call, store } = await startServer(t);
  for (const name of ["a", "b", "c"]) await store.rooms.create("demo", { name });
  const get = (query: string) => call({ url: `${rooms}?${query}`, as });
  const next = ({ body }: { body: unknown }) => new URL((body as Page).next!).searchParams;
  const cursor = next(await get("cursor=&page_size=1")).get("cursor")!;
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
    t.match(await get(query), { status: 400, body: { cursor: [/./] } }, name);
  }
  const second = await get(`page_size=1&cursor=${cursor}&ordering=sorting_priority`);
  t.match(second.body, { results: [{ name: "b" }], previous: null });
  const kept = next(second);
  t.equal(kept.get("ordering"), "sorting_priority", "the rest is kept");
  t.equal(kept.getAll("cursor").length, 1);
});
