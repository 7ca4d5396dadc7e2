import t from "tap";
import { admin, keyOf, serve, tokenOf } from "../helper.js";
import { furnished, urlOf } from "../route-calls.js";

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

/** A caller for whom each call of the API succeeds. */
const everybody = `Bearer ${tokenOf(keyOf("demo"), { uid: "u", traits: ["admin", "api"] })}`;

/** The writes of all routes that there are, but those of the operator and of a setup. */
const writesOf = (routes: ReadonlySet<string>) =>
  [...routes].filter(
    (route) =>
      /^(POST|PUT|PATCH|DELETE) \/api\/v1\/worlds\/:world_id\//.test(route) &&
      route !== "DELETE /api/v1/worlds/:world_id/",
  );

void t.test("every write compares what If-Match names", async (t) => {
  const { routes, room, send, upload, idsFor } = await furnished(t);
  const media = await upload(everybody);
  const writes = writesOf(routes);
  t.ok(writes.length > 20);
  let versioned = 0;
  for (const route of writes) {
    // What the path names, made for each call, as it may be deleted.
    const url = async () => {
      const id = await room();
      return urlOf(route, id, media, await idsFor(route, id));
    };
    const write = async (ifMatch: (tag: string) => string) => {
      const target = await url();
      const get = `GET ${route.replace(/^\w+ /, "")}`;
      const before = routes.has(get)
        ? await send(get, { url: target, as: everybody })
        : undefined;
      const tag = before?.headers.etag;
      const headers = { "if-match": ifMatch(tag ?? '"none"') };
      const got = await send(route, { url: target, as: everybody, headers });
      return { tag, got };
    };
    for (const stale of ['"stale"', '"a", "b"', 'W/"a"', ""]) {
      const { got } = await write(() => stale);
      t.equal(got.status, 412, `${route} with ${stale}`);
      t.match(got.body, { code: "changed" }, route);
    }
    if (/\/(test|schedule_update)$/.test(route)) continue;
    const any = await write(() => "*");
    t.match(String(any.got.status), /^20[014]$/, `${route} with *`);
    const { tag, got } = await write((tag) => `"a", ${tag}`);
    if (tag === undefined || route.startsWith("POST")) {
      t.equal(got.status, 412, `${route} has no version`);
    } else {
      t.match(String(got.status), /^20[04]$/, `${route} with its version`);
      versioned++;
    }
  }
  t.equal(versioned, 12);
});

void t.test("a delivery does not hinder a change of a webhook", async (t) => {
  const { idsFor, send, store } = await furnished(t);
  const { webhook } = await idsFor("/webhooks/", "");
  const url = `${world}webhooks/${webhook}/`;
  const get = () => send("GET /x", { url, as });
  const { etag } = (await get()).headers;
  const before = (await store.webhooks.get("demo", webhook!))!;
  await store.webhooks.hold("demo", webhook!, "one", before);
  const { revision } = before;
  const now = { ...before, last_status: 500 };
  const of = { revision, holder: "one" };
  t.ok(await store.webhooks.note("demo", webhook!, of, now));
  const after = (await get()).headers.etag;
  t.not(after, etag, "its state is another");
  const patch = (ifMatch: string) =>
    send("PATCH /webhooks/:webhook_id/", {
      ...{ url, as, body: { description: ifMatch } },
      headers: { "if-match": ifMatch },
    });
  t.equal((await patch(etag!)).status, 200);
  t.equal((await patch(after!)).status, 412, "its settings are others");
});
