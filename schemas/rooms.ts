import { type Static, Type } from "@sinclair/typebox";
import { callFaults } from "./plain/calls.js";
import { chatFaults } from "./plain/moderation/chat-settings.js";
import { AlsoCheck, domain } from "./plain/texts.js";
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

type Module = Record<string, unknown> & { type: string };

/** A content module in a room: its type, with settings specific to that type. */
export const Module = Type.Unsafe<Module>(
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

/** The domain in a request. Null means that the room has no domain of its own. */
const ownDomain = TextOrNull({
  ...domain,
  description: "The room's own domain. With null, the room has the world's domain.",
});

/** Checks the modules of a room that already matches the room schema. */
export const checkModules = {
  [AlsoCheck]: ({ module_config = [] }: { module_config?: Module[] }) => ({
    ...callFaults(module_config),
    ...chatFaults(module_config),
  }),
};

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

/** A room in a world. */
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
    ...checkModules,
    $id: "RoomDraft",
    description: "The fields of a new room. Unknown fields are refused.",
    additionalProperties: false,
    examples: [roomDraftExample],
  },
);
export type RoomDraft = Static<typeof RoomDraft>;

/**
 * Room settings that the REST representation omits for compatibility with Venueless. One request
 * can write these settings together with the room's other fields.
 */
const settings = {
  picture: TextOrNull({ maxLength: 2000, description: "The address of an image." }),
  force_join: Type.Boolean({
    description: "Whether everybody who enters the world joins the room.",
  }),
  schedule_data: Type.Unsafe<Record<string, unknown> | null>({
    ...AnyObjectOrNull,
    description: "What the room currently shows, at most 16 KiB of JSON; null for nothing.",
  }),
};

/** The changes to a room. If an `id` is present, it must be the room's current id. */
export const RoomChanges = Type.Partial(
  Type.Object({
    id: Text({ description: "Must equal the current value, if present.", readOnly: true }),
    name: Title,
    ...optionalFields,
    domain: ownDomain,
    ...settings,
  }),
  {
    ...checkModules,
    $id: "RoomChanges",
    description:
      "The fields of a room to replace. Unknown fields are refused. `picture`, `force_join` and `schedule_data` are not in the response; the websocket command `room.config.get` returns them.",
    additionalProperties: false,
    examples: [{ name: "Hallway" }],
  },
);
export type RoomChanges = Static<typeof RoomChanges>;

/** The name of a copy of a room. */
export const RoomCopy = Type.Object(
  { name: Title },
  {
    $id: "RoomCopy",
    description: "The name of the copy.",
    additionalProperties: false,
    examples: [{ name: "Second stage" }],
  },
);

export const RoomParams = Type.Object({
  ...WorldParams.properties,
  room_id: Type.String({
    description: "The identifier of a room.",
    examples: ["5f8b1c9e-3a52-4d0e-9f57-1f0a6a3f9f11"],
  }),
});

const orderings = ["sorting_priority", "-sorting_priority", "name", "-name"] as const;
export type RoomOrdering = (typeof orderings)[number];

/** Query parameters for listing rooms. Links to other pages preserve all parameters that do not select a page. */
export const RoomsQuery = Type.Object({
  ...PageQuery.properties,
  ordering: Type.Optional(OneOf(...orderings)),
  type: Type.Optional(Text({ description: "Rooms with a module of this type." })),
  search: Type.Optional(
    Text({ description: "Rooms whose name or description contains this text." }),
  ),
});

/** A page of the rooms that the caller may see. */
export const RoomList = PageOf(Room, {
  $id: "RoomList",
  description: "A page of the rooms that the caller may see.",
  example: roomExample,
});
