import fc, { type Arbitrary } from "fast-check";
import t from "tap";
import { openEngines } from "../../db/open.js";
import type { JsonObject } from "../../schemas/openapi/openapi-schema.js";
import { arbitraryOf } from "../support/arbitrary.js";
import { fileForm, PDF } from "../support/files.js";
import { admin, type Answer, keyOf, type Request, tokenOf } from "../support/helper.js";
import { type Server, startServer } from "../support/server.js";
import { testdir } from "../support/testdir.js";

// Hostile and generated requests. SEED=… repeats a run, RUNS=… sets the number of generated cases.

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
const numRuns = Number(process.env.RUNS ?? 5);
t.comment(`SEED=${seed} RUNS=${numRuns}`);
const effort = { seed, numRuns };

const as = admin("demo");
const world = "/api/v1/worlds/demo/";
const rooms = `${world}rooms/`;

type Body = Record<string, unknown>;

/** Returns generators for the bodies of all operations that accept one. */
function bodiesOf({ app }: Server) {
  const { components } = app.openapi() as unknown as {
    components: { schemas: JsonObject };
  };
  const of = (name: string) =>
    arbitraryOf(components.schemas[name] as JsonObject, components.schemas) as Arbitrary<Body>;
  return {
    WorldChanges: of("WorldChanges"),
    RoomDraft: of("RoomDraft"),
    RoomChanges: of("RoomChanges"),
    UserName: of("UserName"),
  };
}

/** Throws an error that shows the request and the response, unless the condition holds. */
function expect(
  condition: boolean,
  { method = "GET", url }: Request,
  { status, text }: Answer,
): void {
  if (!condition) throw new Error(`${method} ${url}: ${status} ${text}`);
}

/** Fields that a room accepts, but that only `room.config.get` returns. */
const UNSHOWN = new Set(["picture", "force_join", "schedule_data"]);

/**
 * Returns whether every field that was sent reads back; other fields are ignored. A room whose
 * domain is null shows its world's domain.
 */
const holds = (sent: Body, got: unknown): boolean =>
  Object.entries(sent).every(
    ([name, value]) =>
      UNSHOWN.has(name) ||
      (name === "domain" && value === null) ||
      JSON.stringify(sorted((got as Body)[name])) === JSON.stringify(sorted(value)),
  );

/** Normalizes JSON: sorts names, whose order is insignificant, and replaces -0 by 0. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, inner]) => [name, sorted(inner)]),
  );
}

void t.test("whatever the document allows is taken", async (t) => {
  const server = await startServer(t);
  const { call } = server;
  const { WorldChanges, RoomDraft, RoomChanges, UserName } = bodiesOf(server);
  await fc.assert(
    fc.asyncProperty(RoomDraft, RoomChanges, async (draft, changes) => {
      const create: Request = { method: "POST", url: rooms, as, body: draft };
      const created = await call(create);
      expect(created.status === 201, create, created);
      expect(holds(draft, created.body), create, created);
      const url = `${rooms}${(created.body as { id: string }).id}/`;
      // A user whose rules hide the room can no longer see it.
      const { permission_config: _, ...visible } = changes;
      const update: Request = { method: "PATCH", url, as, body: visible };
      const admits = JSON.stringify(draft.permission_config ?? {});
      const updated = await call(update);
      const hidden = /"room\.(view|update)"/.test(admits);
      expect(updated.status === 200 || hidden, update, updated);
      if (updated.status !== 200) return;
      expect(holds({ ...draft, ...visible }, updated.body), update, updated);
      const read = await call({ url, as });
      expect(read.text === updated.text, { url }, read);
      expect(read.headers.etag === updated.headers.etag, { url }, read);
    }),
    effort,
  );
  await fc.assert(
    fc.asyncProperty(WorldChanges, async (changes) => {
      // Excludes keys and rules, which could lock the test out.
      const { permission_config: _, ...body } = changes;
      delete (body.config as Body | undefined)?.JWT_secrets;
      const update: Request = { method: "PATCH", url: world, as, body };
      const updated = await call(update);
      expect(updated.status === 200, update, updated);
      const { config, ...fields } = body;
      expect(holds(fields, updated.body), update, updated);
      if (config) {
        const got = (updated.body as { config: Body }).config;
        expect(holds(config as Body, got), update, updated);
      }
    }),
    effort,
  );
  await fc.assert(
    fc.asyncProperty(UserName, async (body) => {
      const url = `${world}delete_user`;
      const request: Request = { method: "POST", url, as, body };
      const answer = await call(request);
      expect(answer.status === 403, request, answer);
    }),
    effort,
  );
  const query = fc.record(
    {
      page: fc.integer({ min: 1, max: 2 ** 31 }),
      page_size: fc.integer({ min: 1, max: 1000 }),
      ordering: fc.constantFrom("name", "-name", "sorting_priority"),
      type: fc.string({ unit: "binary", minLength: 1 }),
      search: fc.string({ unit: "binary" }),
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(query, async (asked) => {
      const params = new URLSearchParams(
        Object.entries(asked).map(([name, value]) => [name, String(value).replaceAll("\0", "0")]),
      );
      const url = `${rooms}?${params.toString()}`;
      const answer = await call({ url, as });
      expect(answer.status === 200, { url }, answer);
    }),
    effort,
  );
});

void t.test("no name in anything that is sent reaches a prototype", async (t) => {
  const { call } = await startServer(t);
  const before = Reflect.ownKeys(Object.prototype);
  const bad = ['"__proto__":{"polluted":1}', '"constructor":{"prototype":{"polluted":1}}'];
  const places = [
    (member: string) => `{${member}}`,
    (member: string) => `{"name":"x",${member}}`,
    (member: string) => `{"name":"x","permission_config":{${member}}}`,
    (member: string) => `{"name":"x","module_config":[{"type":"a",${member}}]}`,
    (member: string) => `{"name":"x","module_config":[{"type":"a","b":[{${member}}]}]}`,
    (member: string) => `{"config":{${member}}}`,
    (member: string) => `{"config":{"a":{"b":{${member}}}}}`,
    (member: string) => `{"config":{"JWT_secrets":[{${member}}]}}`,
    (member: string) => `{"token_id":"a",${member}}`,
    // The parser decodes escapes before it checks names.
    (member: string) =>
      `{"name":"x",${member.replace("_", "\\u005f").replace("con", "c\\u006fn")}}`,
  ];
  for (const [method, url] of [
    ["POST", `${world}rooms/`],
    ["PATCH", world],
    ["POST", `${world}delete_user`],
  ] as const) {
    for (const member of bad) {
      for (const place of places) {
        const body = place(member);
        const got = await call({ method, url, as, body });
        t.equal(got.status, 400, `${method} ${url} ${body}`);
      }
    }
  }
  for (const query of [
    "__proto__[polluted]=1",
    "__proto__=1",
    "constructor.prototype.polluted=1",
    "constructor[prototype][polluted]=1",
    "__proto__.polluted=1&page=2",
  ]) {
    const { status } = await call({ url: `${world}rooms/?${query}`, as });
    t.equal(status, 400, query);
  }
  for (const name of ["__proto__", "constructor", "toString"]) {
    const form = fileForm(name, PDF);
    const got = await call({
      method: "POST",
      url: "/storage/upload/",
      as: "Client a",
      headers: form.headers,
      body: Buffer.from(
        form.body.toString("latin1").replace('name="file"', `name="${name}"`),
        "latin1",
      ),
    });
    t.strictSame([got.status, got.body], [400, { error: "file.missing" }], name);
    const ended = fileForm(`a.${name}`, PDF);
    const other = await call({
      method: "POST",
      url: "/storage/upload/",
      as: "Client a",
      headers: ended.headers,
      body: ended.body,
    });
    t.strictSame([other.status, other.body], [400, { error: "file.type" }], `a.${name}`);
    const media = await call({
      url: `/media/pub/${name}/${name}.aaaaaaaaaaaa.${name}`,
    });
    t.equal(media.status, 404, name);
  }
  const claims = { traits: ["__proto__", "constructor"], uid: "__proto__" };
  const profile = JSON.parse('{"__proto__":{"polluted":1}}') as object;
  for (const [more, status] of [
    [{}, 403],
    [{ profile }, 401],
  ] as const) {
    const token = tokenOf(keyOf("demo"), { ...claims, ...more });
    t.equal((await call({ url: rooms, as: `Bearer ${token}` })).status, status);
  }
  t.strictSame(Reflect.ownKeys(Object.prototype), before);
  t.equal(({} as { polluted?: number }).polluted, undefined);
});

void t.test("nothing that is stored gets out as a header", async (t) => {
  const { app, call } = await startServer(t);
  const evil = [
    "a\r\nX-Evil: 1",
    "a\nX-Evil: 1",
    "a\u000d\u000aX-Evil: 1",
    "a%0d%0aX-Evil: 1",
    "a\u560d\u560aX-Evil: 1",
  ];
  for (const text of evil) {
    for (const [url, body] of [
      [world, { domain: text }],
      [`${world}rooms/`, { name: "x", domain: text }],
    ] as const) {
      const method = url === world ? "PATCH" : "POST";
      const got = await call({ method, url, as, body });
      t.match(got, { status: 400, body: { domain: [/./] } }, text);
    }
    // Any text is a valid name, and is returned unchanged.
    const made = await call({
      method: "POST",
      url: `${world}rooms/`,
      as,
      body: { name: text, description: text },
    });
    t.equal(made.status, 201, text);
    const { id } = made.body as { id: string };
    const form = fileForm(`${text}.pdf`, PDF);
    const stored = await call({
      method: "POST",
      url: "/storage/upload/",
      as: "Client a",
      headers: form.headers,
      body: form.body,
    });
    const answers = [made, stored];
    for (const url of [
      `${world}rooms/${id}/`,
      `${world}rooms/?search=${encodeURIComponent(text)}&page_size=1`,
      `${world}rooms/${encodeURIComponent(text)}/`,
      `/${encodeURIComponent(text)}`,
    ]) {
      answers.push(await call({ url, as }));
    }
    if (stored.status === 201) {
      const { pathname } = new URL((stored.body as { url: string }).url);
      const { headers } = await app.inject(pathname);
      answers.push({ ...stored, headers: headers as Record<string, string> });
    }
    for (const { headers } of answers) {
      t.notMatch(JSON.stringify(headers), /evil/i, text);
    }
  }
});

void t.test("a room that was accepted can be listed alone", async (t) => {
  const { call } = await startServer(t);
  const numbers = Array.from({ length: 200_000 }, () => "1e20").join(",");
  const body = `{"name":"A","module_config":[{"type":"a","x":[${numbers}]}]}`;
  t.equal((await call({ method: "POST", url: rooms, as, body })).status, 201);
  t.equal((await call({ url: `${rooms}?page_size=1`, as })).status, 200);
});

void t.test("a failure to read a file is not to be cached", async (t) => {
  const dataDir = testdir(t);
  const engines = await openEngines({ dataDir });
  engines.files.open = async () => ({
    size: 1000,
    modified: new Date(),
    read: async () => {
      throw new Error("too many open files");
    },
  });
  const { call } = await startServer(t, { dataDir, engines, mayLogErrors: true });
  const url = "/media/pub/w/01234567-0123-0123-0123-0123456789ab.ABCDEFGHIJKL.pdf";
  const { status, headers } = await call({ url });
  t.equal(status, 500);
  for (const name of ["cache-control", "etag", "last-modified", "accept-ranges"]) {
    t.equal(headers[name], undefined, name);
  }
});
