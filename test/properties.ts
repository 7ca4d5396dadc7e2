import fc, { type Arbitrary } from "fast-check";
import type { JsonObject } from "../schemas/openapi/openapi-schema.js";
import { arbitraryOf } from "./arbitrary.js";
import {
  admin,
  worldOf,
  type Answer,
  type Request,
  type TestServer,
} from "./helper.js";

/** How much is tried: the same seed tries the same again. */
export interface Effort {
  seed: number;
  numRuns: number;
}

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

/**
 * Whether everything that was sent reads back; what was not sent does not
 * matter. A room whose own domain is null shows the domain of its world.
 */
const holds = (sent: Body, got: unknown): boolean =>
  Object.entries(sent).every(
    ([name, value]) =>
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

/** Whatever the document allows is taken, and reads back equal. */
export async function validInputIsTaken(
  server: TestServer,
  effort: Effort,
): Promise<void> {
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
}

/** A way to spoil a valid body, and the field that the answer has to name. */
interface Fault {
  field: string;
  value: unknown;
}

const faults: Record<"room" | "world", Arbitrary<Fault>> = {
  room: fc.oneof(
    wrong(
      "name",
      fc.constantFrom("", 7, null, [], {}, "x".repeat(301), "a\0b"),
    ),
    wrong("description", fc.constantFrom(7, null, [], "\ud800")),
    wrong("module_config", fc.constantFrom({}, "x", null, 1)),
    wrong("module_config.0", fc.constantFrom(1, "x", null, [])),
    wrong("module_config.0.type", fc.constantFrom(1, "", null)),
    wrong("permission_config", fc.constantFrom([], "x", null, 1)),
    wrong("permission_config.room.view", fc.constantFrom({}, "admin", null, 1)),
    wrong("permission_config.room.view.0", fc.constantFrom(1, "a b", "", null)),
    wrong(
      "sorting_priority",
      fc.constantFrom(1.5, "1", null, 2 ** 31, -(2 ** 31) - 1),
    ),
    wrong(
      "domain",
      fc.constantFrom("", "A.b", "a b", 1, false, "a:0", "a:99999", "-a"),
    ),
    unknownField(),
  ),
  world: fc.oneof(
    wrong("id", fc.constantFrom("other", 1, null)),
    wrong("title", fc.constantFrom("", 7, null, "x".repeat(301))),
    wrong("config", fc.constantFrom([], "x", null, 1)),
    wrong("config.JWT_secrets", fc.constantFrom([], {}, "x", null)),
    wrong("config.JWT_secrets.0", fc.constantFrom(1, "x", null)),
    wrong("permission_config", fc.constantFrom([], "x", null, 1)),
    wrong("domain", fc.constantFrom("", "A.b", "a_b", 1, null)),
    unknownField(),
  ),
};

function wrong(field: string, values: Arbitrary<unknown>): Arbitrary<Fault> {
  return values.map((value) => ({ field, value }));
}

function unknownField(): Arbitrary<Fault> {
  return fc
    .stringMatching(/^[a-z]{8,12}$/)
    .map((name) => ({ field: `x${name}`, value: 1 }));
}

/** The body, with the fault in its place. */
function spoiled(body: Body, { field, value }: Fault): Body {
  if (field === "module_config.0") return { ...body, module_config: [value] };
  if (field === "module_config.0.type") {
    return { ...body, module_config: [{ type: value }] };
  }
  if (field === "config.JWT_secrets.0") {
    return { ...body, config: { JWT_secrets: [value] } };
  }
  if (field === "config.JWT_secrets") {
    return { ...body, config: { JWT_secrets: value } };
  }
  const rule = /^permission_config\.(room\.view)(\.0)?$/.exec(field);
  if (rule) {
    const inner = rule[2] ? [value] : value;
    return { ...body, permission_config: { [rule[1]!]: inner } };
  }
  return { ...body, [field]: value };
}

/** One fault in a valid body is a 400 that names that field, and no other. */
export async function faultsAreNamed(
  server: TestServer,
  effort: Effort,
): Promise<void> {
  const { call } = server;
  const { WorldChanges, RoomDraft } = bodiesOf(server);
  const check = async (request: Request, { field }: Fault) => {
    const answer = await call(request);
    expect(answer.status === 400, request, answer);
    const named = Object.keys(answer.body as object);
    expect(named.length === 1 && named[0] === field, request, answer);
  };
  await fc.assert(
    fc.asyncProperty(RoomDraft, faults.room, async (draft, fault) => {
      const body = spoiled(draft, fault);
      await check({ method: "POST", url: rooms, as, body }, fault);
    }),
    effort,
  );
  await fc.assert(
    fc.asyncProperty(WorldChanges, faults.world, async (changes, fault) => {
      const body = spoiled(changes, fault);
      await check({ method: "PATCH", url: world, as, body }, fault);
    }),
    effort,
  );
}

/** The world that these properties are tried on. */
export const subject = [worldOf("demo")];
