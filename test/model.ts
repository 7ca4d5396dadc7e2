import fc, { type AsyncCommand } from "fast-check";
import type { PermissionConfig, Rule } from "../schemas/plain/permissions.js";
import type { Room, RoomDraft, RoomOrdering } from "../schemas/rooms.js";
import { bearer, rules, worldOf, type TestServer } from "./helper.js";
import type { Effort } from "./properties.js";

/** The simplest thing that could be the service: a list of rooms and a rule. */
interface Model {
  rooms: Room[];
  worldRules: PermissionConfig;
}

interface Real {
  server: TestServer;
  id: string;
}

type Traits = readonly string[];

const callers: readonly Traits[] = [
  [],
  ["attendee"],
  ["speaker", "attendee"],
  ["admin", "api"],
];

const passes = (rule: Rule, traits: Traits): boolean =>
  rule.every((entry) => [entry].flat().some((trait) => traits.includes(trait)));

/** What the decisions say of a key, written a second time. */
function may(
  key: string,
  traits: Traits,
  { worldRules }: Model,
  room?: Room,
): boolean {
  const rule = room?.permission_config[key] ?? worldRules[key];
  return rule ? passes(rule, traits) : key === "room.view";
}

const byBytes = (a: string, b: string) =>
  Buffer.compare(Buffer.from(a), Buffer.from(b));

const orders: Record<RoomOrdering, (a: Room, b: Room) => number> = {
  sorting_priority: (a, b) => a.sorting_priority - b.sorting_priority,
  "-sorting_priority": (a, b) => b.sorting_priority - a.sorting_priority,
  name: (a, b) => byBytes(a.name, b.name),
  "-name": (a, b) => byBytes(b.name, a.name),
};

const inOrder = (ordering: RoomOrdering) => (a: Room, b: Room) =>
  orders[ordering](a, b) ||
  orders.sorting_priority(a, b) ||
  byBytes(a.name, b.name) ||
  byBytes(a.id, b.id);

/** Calls one world as a user. */
function call(
  { server, id }: Real,
  traits: Traits,
  method: string,
  path: string,
  body?: unknown,
) {
  return server.call({
    method,
    url: `/api/v1/worlds/${id}${path}`,
    as: bearer(id, ...traits),
    ...(body !== undefined && { body }),
  });
}

function same(got: unknown, wanted: unknown, what: string): void {
  const [a, b] = [got, wanted].map((value) => JSON.stringify(value));
  if (a !== b) throw new Error(`${what}: got ${a}, wanted ${b}`);
}

type Command = AsyncCommand<Model, Real>;

/** A command that is nothing but what it does and expects. */
const command = (
  name: string,
  run: (model: Model, real: Real) => Promise<void>,
): Command => ({ check: () => true, run, toString: () => name });

const rule: fc.Arbitrary<Rule> = fc.constantFrom<Rule[]>(
  [],
  ["admin"],
  ["attendee"],
  [["speaker", "admin"]],
  ["speaker", "attendee"],
);
const draft: fc.Arbitrary<RoomDraft> = fc.record(
  {
    name: fc.constantFrom("a", "B", "ä", "Ä", "ß", "😀", "～", "a b"),
    description: fc.constantFrom("", "Straße", "ΣΑΣ", "x"),
    sorting_priority: fc.integer({ min: -2, max: 2 }),
    module_config: fc.constantFrom(
      [],
      [{ type: "chat.native" }],
      [{ type: "call.bigbluebutton" }, { type: "chat.native", x: 1 }],
    ),
    permission_config: fc.record(
      { "room.view": rule, "room.update": rule },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: ["name"] },
);
const who = fc.constantFrom(...callers);

const create = fc.tuple(who, draft).map(([traits, body]) =>
  command(`create ${JSON.stringify([traits, body])}`, async (model, real) => {
    const got = await call(real, traits, "POST", "/rooms/", body);
    if (!may("room.create", traits, model))
      return same(got.status, 403, "create");
    same(got.status, 201, "create");
    const { id } = got.body as Room;
    const room: Room = {
      id,
      name: body.name,
      description: body.description ?? "",
      module_config: body.module_config ?? [],
      permission_config: body.permission_config ?? {},
      sorting_priority: body.sorting_priority ?? 0,
      domain: `${real.id}.example.org`,
    };
    same(got.body, room, "created");
    model.rooms.push(room);
  }),
);

const change = fc.tuple(who, fc.nat(), draft).map(([traits, n, body]) =>
  command(
    `change ${n} ${JSON.stringify([traits, body])}`,
    async (model, real) => {
      const room = model.rooms[n % (model.rooms.length || 1)];
      if (!room) return;
      const path = `/rooms/${room.id}/`;
      const got = await call(real, traits, "PATCH", path, body);
      const allowed =
        may("room.view", traits, model, room) &&
        may("room.update", traits, model, room);
      same(got.status, allowed ? 200 : 403, "change");
      if (allowed) same(got.body, Object.assign(room, body), "changed");
    },
  ),
);

const remove = fc.tuple(who, fc.nat()).map(([traits, n]) =>
  command(`remove ${n} ${JSON.stringify(traits)}`, async (model, real) => {
    const room = model.rooms[n % (model.rooms.length || 1)];
    if (!room) return;
    const got = await call(real, traits, "DELETE", `/rooms/${room.id}/`);
    const allowed =
      may("room.view", traits, model, room) &&
      may("room.delete", traits, model, room);
    same(got.status, allowed ? 204 : 403, "remove");
    if (allowed) model.rooms = model.rooms.filter((other) => other !== room);
  }),
);

const read = fc.tuple(who, fc.nat()).map(([traits, n]) =>
  command(`read ${n} ${JSON.stringify(traits)}`, async (model, real) => {
    const room = model.rooms[n % (model.rooms.length || 1)];
    if (!room) return;
    const got = await call(real, traits, "GET", `/rooms/${room.id}`);
    const allowed = may("room.view", traits, model, room);
    same(got.status, allowed ? 200 : 403, "read");
    if (allowed) same(got.body, room, "read");
  }),
);

const fold = (text: string) => text.toLowerCase().toUpperCase();

const list = fc
  .record({
    traits: who,
    page: fc.integer({ min: 1, max: 4 }),
    page_size: fc.integer({ min: 1, max: 5 }),
    ordering: fc.constantFrom(...(Object.keys(orders) as RoomOrdering[])),
    type: fc.constantFrom("", "chat.native", "call.bigbluebutton"),
    search: fc.constantFrom("", "a", "Ä", "strasse", "σας", "x"),
  })
  .map((asked) =>
    command(`list ${JSON.stringify(asked)}`, async (model, real) => {
      const { traits, page, page_size, ordering, type, search } = asked;
      const query = new URLSearchParams({
        page: String(page),
        page_size: String(page_size),
        ordering,
        ...(type && { type }),
        ...(search && { search }),
      });
      const path = `/rooms/?${query.toString()}`;
      const got = await call(real, traits, "GET", path);
      const wanted = model.rooms
        .filter((room) => may("room.view", traits, model, room))
        .filter((room) =>
          type
            ? room.module_config.some((module) => module.type === type)
            : true,
        )
        .filter((room) =>
          [room.name, room.description].some((text) =>
            fold(text).includes(fold(search)),
          ),
        )
        .sort(inOrder(ordering));
      const { count, next, previous, results } = got.body as {
        count: number;
        next: string | null;
        previous: string | null;
        results: Room[];
      };
      const start = (page - 1) * page_size;
      same(count, wanted.length, "count");
      same(results, wanted.slice(start, start + page_size), "results");
      same(next !== null, start + page_size < wanted.length, "next");
      same(previous !== null, page > 1 && wanted.length > 0, "previous");
    }),
  );

const setRule = fc.option(rule, { nil: undefined }).map((view) =>
  command(`world.view ${JSON.stringify(view)}`, async (model, real) => {
    model.worldRules = open(view);
    const got = await call(real, ["admin", "api"], "PATCH", "/", {
      permission_config: model.worldRules,
    });
    same(got.status, 200, "world");
  }),
);

/** The default rules, with the API open to everybody and a rule for who sees rooms. */
const open = (view?: Rule): PermissionConfig =>
  rules({ "world.api": [], ...(view && { "room.view": view }) });

let worlds = 0;

/** Any sequence of calls by several callers answers as the model does. */
export async function agreesWithModel(
  server: TestServer,
  effort: Effort,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(
      fc.commands([create, create, change, remove, read, list, list, setRule], {
        maxCommands: 40,
        size: "max",
      }),
      async (commands) => {
        const id = `model-${++worlds}`;
        const worldRules = open();
        await server.store.worlds.create(
          worldOf(id, { permission_config: worldRules }),
        );
        await fc.asyncModelRun(
          () => ({
            model: { rooms: [], worldRules },
            real: { server, id },
          }),
          commands,
        );
      },
    ),
    effort,
  );
}
