import { type Static, Type } from "@sinclair/typebox";
import { domain } from "./plain/texts.js";
import { PermissionConfig } from "./rules.js";
import {
  AnyObjectOrNull,
  Domain,
  List,
  OneOf,
  PageOf,
  PageQuery,
  ref,
  Text,
  TextOrNull,
  Title,
} from "./values.js";
import { WorldParams } from "./worlds.js";

/** A content module of a room: its type, and the settings of that type. */
export const Module = Type.Unsafe<Record<string, unknown> & { type: string }>(
  Type.Object(
    { type: Text({ minLength: 1, examples: ["chat.native"] }) },
    {
      $id: "Module",
      description: "One piece of a room's content: its type, and what that type needs.",
      additionalProperties: true,
    },
  ),
);

const optionalFields = {
  description: Text({ description: "Markdown." }),
  module_config: List(ref(Module), 100),
  permission_config: ref(PermissionConfig),
  sorting_priority: Type.Integer({ minimum: -(2 ** 31), maximum: 2 ** 31 - 1 }),
};

/** The domain in a request. Null means that the room has none of its own. */
const ownDomain = TextOrNull({
  ...domain,
  description: "The room's own domain. With null it has none, and shows the world's.",
});

const roomDraftExample = {
  name: "Main stage",
  description: "Where the *keynotes* are.",
  module_config: [{ type: "chat.native", config: { volatile: true } }],
  permission_config: { "room.view": [["attendee", "speaker"]] },
  sorting_priority: 10,
};
const roomExample = {
  id: "5f8b1c9e-3a52-4d0e-9f57-1f0a6a3f9f11",
  ...roomDraftExample,
  domain: "summit.example.org",
};

/** A place in a world. */
export const Room = Type.Object(
  { id: Text({ format: "uuid" }), name: Title, ...optionalFields, domain: Domain },
  { $id: "Room", description: "A place in a world.", examples: [roomExample] },
);
export type Room = Static<typeof Room>;

/** The fields of a new room. Only the name has no default. */
export const RoomDraft = Type.Object(
  {
    name: Title,
    ...Type.Partial(Type.Object({ ...optionalFields, domain: ownDomain })).properties,
  },
  {
    $id: "RoomDraft",
    description: "What a new room is made of. Unknown fields are refused.",
    additionalProperties: false,
    examples: [roomDraftExample],
  },
);
export type RoomDraft = Static<typeof RoomDraft>;

/**
 * The settings of a room that its REST representation lacks, because that is the one of Venueless. One
 * request writes them together with the others.
 */
const settings = {
  picture: TextOrNull({ maxLength: 2000, description: "The address of an image." }),
  force_join: Type.Boolean({
    description: "Whether everybody who enters the world joins the room.",
  }),
  schedule_data: Type.Unsafe<Record<string, unknown> | null>({
    ...AnyObjectOrNull,
    description: "What the room shows at present, at most 16 KiB of JSON; null for nothing.",
  }),
};

/** The fields of a room to change. An `id` must be the present one. */
export const RoomChanges = Type.Partial(
  Type.Object({
    id: Text({ description: "Its present value, or nothing.", readOnly: true }),
    name: Title,
    ...optionalFields,
    domain: ownDomain,
    ...settings,
  }),
  {
    $id: "RoomChanges",
    description:
      "The fields of a room to replace. Unknown fields are refused. `picture`, `force_join` and `schedule_data` are not in the answer; the websocket command `room.config.get` has them.",
    additionalProperties: false,
    examples: [{ name: "Hallway" }],
  },
);
export type RoomChanges = Static<typeof RoomChanges>;

export const RoomParams = Type.Object({
  ...WorldParams.properties,
  room_id: Type.String({
    description: "The identifier of a room.",
    examples: ["5f8b1c9e-3a52-4d0e-9f57-1f0a6a3f9f11"],
  }),
});

const orderings = ["sorting_priority", "-sorting_priority", "name", "-name"] as const;
export type RoomOrdering = (typeof orderings)[number];

/** Query parameters of the list of rooms. Links to other pages keep all other parameters. */
export const RoomsQuery = Type.Object({
  ...PageQuery.properties,
  ordering: Type.Optional(OneOf(...orderings)),
  type: Type.Optional(Text({ description: "Rooms with a module of this type." })),
  search: Type.Optional(Text({ description: "Rooms whose name or description holds this." })),
});

/** A page of the rooms that the caller may see. */
export const RoomList = PageOf(Room, {
  $id: "RoomList",
  description: "A page of the rooms that the caller may see.",
  example: roomExample,
});
