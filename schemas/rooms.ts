import { Type, type Static } from "@sinclair/typebox";
import { PermissionConfig } from "./permissions.js";
import { Domain, List, OneOf, Text, Title } from "./values.js";

/** One piece of a room's content: its type, and what that type needs. */
export const Module = Type.Unsafe<Record<string, unknown> & { type: string }>(
  Type.Object(
    { type: Text({ minLength: 1, examples: ["chat.native"] }) },
    { additionalProperties: true },
  ),
);

const optional = {
  description: Text({ description: "Markdown." }),
  module_config: List(Module, 100),
  permission_config: PermissionConfig,
  sorting_priority: Type.Integer({
    minimum: -(2 ** 31),
    maximum: 2 ** 31 - 1,
  }),
  domain: Domain,
};

/** A place in a world. */
export const Room = Type.Object({
  id: Text({ format: "uuid" }),
  name: Title,
  ...optional,
});
export type Room = Static<typeof Room>;

/** What a room is made of; only its name has no default. */
export const RoomDraft = Type.Object(
  { name: Title, ...Type.Partial(Type.Object(optional)).properties },
  { additionalProperties: false },
);
export type RoomDraft = Static<typeof RoomDraft>;

/** The fields of a room that may be changed; `id` only to what it is. */
export const RoomChanges = Type.Partial(
  Type.Object({
    id: Text({ description: "Its present value, or nothing." }),
    name: Title,
    ...optional,
  }),
  { additionalProperties: false },
);
export type RoomChanges = Static<typeof RoomChanges>;

export const RoomParams = Type.Object({
  world_id: Type.String(),
  room_id: Type.String(),
});

const orderings = [
  "sorting_priority",
  "-sorting_priority",
  "name",
  "-name",
] as const;
export type RoomOrdering = (typeof orderings)[number];

/** How a list of rooms is asked for. Other parameters are kept in its links. */
export const RoomsQuery = Type.Object({
  page: Type.Optional(Type.Integer({ minimum: 1, default: 1 })),
  page_size: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1000, default: 50 }),
  ),
  ordering: Type.Optional(OneOf(...orderings)),
  type: Type.Optional(
    Text({ description: "Rooms with a module of this type." }),
  ),
  search: Type.Optional(
    Text({ description: "Rooms whose name or description holds this." }),
  ),
});
/** A page of the rooms that the caller may see. */
export const RoomList = Type.Object({
  count: Type.Integer({ description: "How many there are on all pages." }),
  next: Type.Union([Type.String({ format: "uri" }), Type.Null()]),
  previous: Type.Union([Type.String({ format: "uri" }), Type.Null()]),
  results: Type.Array(Room),
});
