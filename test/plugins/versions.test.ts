import t from "tap";
import type { Room } from "../../schemas/rooms.js";
import { admin, serve, worldOf, type Answer } from "../helper.js";

const as = admin("demo");
const world = "/api/v1/worlds/demo/";
const rooms = `${world}rooms/`;
const TAG = /^"[^",]+"$/;

void t.test("304 for what the client has", async (t) => {
  const { call, store } = await serve(t);
  const { value: room } = await store.rooms.create("demo", { name: "x" });
  for (const url of [world, `${rooms}${room.id}/`]) {
    const { headers } = await call({ url, as });
    const tag = headers.etag!;
    t.match(tag, TAG);

    const cases: [ifNoneMatch: string, status: number][] = [
      [tag, 304],
      [`W/${tag}`, 304],
      ["*", 304],
      [`"a", ${tag}`, 304],
      [`"a",W/${tag} , "b"`, 304],
      ['"a"', 200],
      ['"a", "b"', 200],
      [tag.slice(1, -1), 200],
      [`"${tag}"`, 200],
      ["", 200],
    ];
    for (const [known, status] of cases) {
      const got = await call({ url, as, headers: { "if-none-match": known } });
      t.equal(got.status, status, known);
      t.equal(got.headers.etag, tag, known);
      t.equal(got.text === "", status === 304, known);
      t.equal(got.headers["cache-control"], "private, no-cache", known);
    }
    const foreign = await call({
      url,
      as: admin("other"),
      headers: { "if-none-match": tag },
    });
    t.equal(foreign.status, 401, "a tag is no token");
  }
});

void t.test(
  "a tag changes with what it stands for, and only then",
  async (t) => {
    const { call, store } = await serve(t);
    const { value: room } = await store.rooms.create("demo", { name: "x" });
    const url = `${rooms}${room.id}/`;
    const patch = async (url: string, body: object) => {
      const { status, headers } = await call({
        method: "PATCH",
        url,
        as,
        body,
      });
      t.equal(status, 200);
      return headers.etag;
    };
    const get = async (url: string) => (await call({ url, as })).headers.etag;

    for (const [target, change, back] of [
      [url, { name: "y" }, { name: "x" }],
      [world, { title: "New" }, { title: "The demo" }],
    ] as const) {
      const first = await get(target);
      t.equal(await patch(target, {}), first, "nothing changed");
      t.equal(await patch(target, back), first, "it said that already");
      const second = await patch(target, change);
      t.not(second, first, "changed");
      t.equal(await get(target), second, "as a GET says");
      const third = await patch(target, back);
      t.not(third, first, "changed back, which is a change");
      t.not(third, second);
    }
  },
);

void t.test("a write in a version that is no longer", async (t) => {
  const { call, store } = await serve(t);
  const made = await store.rooms.create("demo", { name: "room" });
  const room = `${rooms}${made.value.id}/`;
  const sequence: [
    name: string,
    method: string,
    url: string,
    ifMatch: (tag: string) => string,
    status: number,
  ][] = [
    ["another tag", "PATCH", world, () => '"a"', 412],
    ["two other tags", "PATCH", world, () => '"a", "b"', 412],
    ["a weak tag", "PATCH", world, (tag) => `W/${tag}`, 412],
    ["a bare tag", "PATCH", world, (tag) => tag.slice(1, -1), 412],
    ["nothing", "PATCH", world, () => "", 412],
    ["the tag", "PATCH", world, (tag) => tag, 200],
    ["a list", "PATCH", world, (tag) => `"a", ${tag}`, 200],
    ["whatever there is", "PATCH", world, () => "*", 200],
    ["another tag", "PATCH", room, () => '"a"', 412],
    ["a weak tag", "PATCH", room, (tag) => `W/${tag}`, 412],
    ["the tag", "PATCH", room, (tag) => tag, 200],
    ["a list", "PATCH", room, (tag) => `W/"a",${tag}`, 200],
    ["whatever there is", "PATCH", room, () => "*", 200],
    ["another tag", "DELETE", room, () => '"a"', 412],
    ["a weak tag", "DELETE", room, (tag) => `W/${tag}`, 412],
    ["the tag", "DELETE", room, (tag) => tag, 204],
    ["whatever there was", "DELETE", room, () => "*", 403],
    ["any tag of what is gone", "PATCH", room, () => '"a"', 403],
  ];
  for (const [i, [name, method, url, ifMatch, status]] of sequence.entries()) {
    const before = await call({ url, as });
    const field = url === world ? "title" : "name";
    const got = await call({
      method,
      url,
      as,
      headers: { "if-match": ifMatch(before.headers.etag ?? "") },
      ...(method === "PATCH" && { body: { [field]: `new ${i}` } }),
    });
    t.equal(got.status, status, `${method} with ${name}`);
    const after = await call({ url, as });
    if (status === 412) {
      t.match(
        got.body,
        { detail: /changed in between/, code: "changed" },
        name,
      );
      t.strictSame(after.body, before.body, `${name}: nothing was written`);
    } else if (status === 200) {
      t.equal(got.headers.etag, after.headers.etag, name);
      t.match(after.body, { [field]: `new ${i}` }, name);
    }
  }
});

void t.test("bad data is reported before an outdated version", async (t) => {
  const { call } = await serve(t);
  const got = await call({
    method: "PATCH",
    url: world,
    as,
    headers: { "if-match": '"a"' },
    body: { title: "" },
  });
  t.equal(got.status, 400);
});

/** How often each status came. */
function tally(answers: Answer[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

void t.test("of many who write in one version, one wins", async (t) => {
  const { call, store } = await serve(t);
  const { value: room } = await store.rooms.create("demo", { name: "x" });
  for (const [url, field] of [
    [world, "title"],
    [`${rooms}${room.id}/`, "name"],
  ] as const) {
    const tag = (await call({ url, as })).headers.etag!;
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        call({
          method: "PATCH",
          url,
          as,
          headers: { "if-match": tag },
          body: { [field]: `by ${i}` },
        }),
      ),
    );
    t.strictSame(tally(answers), { 200: 1, 412: 19 }, field);
    const winner = answers.find(({ status }) => status === 200)!;
    const read = await call({ url, as });
    t.strictSame(read.body, winner.body, field);
    t.equal(read.headers.etag, winner.headers.etag, field);
  }
  const url = `${rooms}${room.id}/`;
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => call({ method: "DELETE", url, as })),
  );
  t.strictSame(tally(answers), { 204: 1, 403: 19 }, "deleted once");
});

void t.test("many who write different fields lose none", async (t) => {
  const { call, store } = await serve(t, [worldOf("demo"), worldOf("other")]);
  const { value: room } = await store.rooms.create("demo", { name: "x" });
  const url = `${rooms}${room.id}/`;
  const fields: Partial<Room>[] = [
    { name: "new" },
    { description: "new" },
    { sorting_priority: 7 },
    { domain: "new.org" },
    { module_config: [{ type: "new" }] },
  ];
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      call({ method: "PATCH", url, as, body: fields[i % fields.length] }),
    ),
  );
  t.strictSame(tally(answers), { 200: 20 });
  t.match((await call({ url, as })).body, Object.assign({}, ...fields));

  const made = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      call({ method: "POST", url: rooms, as, body: { name: `room ${i}` } }),
    ),
  );
  t.strictSame(tally(made), { 201: 20 });
  t.match((await call({ url: rooms, as })).body, { count: 21 });

  const claims = await Promise.all(
    ["demo", "other"].map((id) =>
      call({
        method: "PATCH",
        url: `/api/v1/worlds/${id}/`,
        as: admin(id),
        body: { domain: "wanted.org" },
      }),
    ),
  );
  t.strictSame(tally(claims), { 200: 1, 400: 1 }, "one gets the domain");
});
