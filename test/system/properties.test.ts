import fc, { type Arbitrary } from "fast-check";
import t from "tap";
import type { JsonObject } from "../../schemas/openapi/openapi-schema.js";
import { arbitraryOf } from "../arbitrary.js";
import {
  admin,
  serve,
  worldOf,
  type Answer,
  type Request,
  type TestServer,
} from "../helper.js";

// Seeds are new each time, and printed: SEED=… tries the same again, and
// `npm run fuzz` tries for longer.

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
const numRuns = Number(process.env.RUNS ?? 5);
t.comment(`SEED=${seed} RUNS=${numRuns}`);
const effort = { seed, numRuns };

type Body = Record<string, unknown>;

const as = admin("demo");
const world = "/api/v1/worlds/demo/";
const rooms = `${world}rooms/`;

/** What is generated for every operation that takes a body. */
function bodiesOf({ app }: TestServer) {
  const { components } = app.openapi() as unknown as {
    components: { schemas: JsonObject };
  };
  const of = (name: string) =>
    arbitraryOf(
      components.schemas[name] as JsonObject,
      components.schemas,
    ) as Arbitrary<Body>;
  return {
    WorldChanges: of("WorldChanges"),
    RoomDraft: of("RoomDraft"),
    RoomChanges: of("RoomChanges"),
    UserName: of("UserName"),
  };
}

/** Fails with what was asked and answered. */
function expect(
  condition: boolean,
  { method = "GET", url }: Request,
  { status, text }: Answer,
): void {
  if (!condition) throw new Error(`${method} ${url}: ${status} ${text}`);
}

/** What a room takes, and only `room.config.get` shows. */
const UNSHOWN = new Set(["picture", "force_join", "schedule_data"]);

/**
 * Whether everything that was sent reads back; what was not sent does not
 * matter. A room whose own domain is null shows the domain of its world.
 */
const holds = (sent: Body, got: unknown): boolean =>
  Object.entries(sent).every(
    ([name, value]) =>
      UNSHOWN.has(name) ||
      (name === "domain" && value === null) ||
      JSON.stringify(sorted((got as Body)[name])) ===
        JSON.stringify(sorted(value)),
  );

/** The order of names means nothing in JSON; -0 is 0. */
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
  const server = await serve(t, [worldOf("demo")]);
  const { call } = server;
  const { WorldChanges, RoomDraft, RoomChanges, UserName } = bodiesOf(server);
  await fc.assert(
    fc.asyncProperty(RoomDraft, RoomChanges, async (draft, changes) => {
      const create: Request = { method: "POST", url: rooms, as, body: draft };
      const created = await call(create);
      expect(created.status === 201, create, created);
      expect(holds(draft, created.body), create, created);
      const url = `${rooms}${(created.body as { id: string }).id}/`;
      // Who hides a room from itself does not see it any more.
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
      // Keys and rules that lock this test out are not what it is about.
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
        Object.entries(asked).map(([name, value]) => [
          name,
          String(value).replaceAll("\0", "0"),
        ]),
      );
      const url = `${rooms}?${params.toString()}`;
      const answer = await call({ url, as });
      expect(answer.status === 200, { url }, answer);
    }),
    effort,
  );
});
