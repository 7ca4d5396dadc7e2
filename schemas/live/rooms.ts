import { type Static, Type } from "@sinclair/typebox";
import { callFaults } from "../plain/calls.js";
import { chatFaults } from "../plain/moderation/chat-settings.js";
import { AlsoCheck, Expected } from "../plain/texts.js";
import { Module, RoomDraft } from "../rooms.js";
import { PermissionConfig } from "../rules.js";
import { List, OneOf, ref, Text, Title } from "../values.js";
import { onRoom } from "./errors.js";
import { PublicUser } from "./users.js";
import {
  AnyObject,
  AnyObjectOrNull,
  command,
  Count,
  Crowd,
  Empty,
  Id,
  Nothing,
  Payload,
  RoomName,
  roomName,
  some,
  Whole,
} from "./values.js";

const TextOrNothing = Type.Unsafe<string | null>({ type: ["string", "null"] });

/** A module as clients receive it: always with `config`, and with a `channel_id` if the module is a chat. */
const SentModule = Type.Unsafe<
  Record<string, unknown> & { type: string; config: Record<string, unknown> }
>(
  Type.Object(
    { type: Type.String(), config: AnyObject, channel_id: Type.Optional(Type.String()) },
    { additionalProperties: true },
  ),
);

const sentFields = {
  id: Text({ format: "uuid" }),
  name: Type.String(),
  description: TextOrNothing,
  picture: TextOrNothing,
  import_id: TextOrNothing,
  pretalx_id: Type.Integer(),
  force_join: Type.Boolean(),
  schedule_data: AnyObjectOrNull,
  permissions: Type.Array(Type.String()),
  modules: Type.Array(SentModule),
};

/** A room as sent to users with `room.view`. */
export const SentRoom = Type.Object(
  { ...sentFields, users: Crowd, count: Type.Optional(Count) },
  { additionalProperties: false },
);
export type SentRoom = Static<typeof SentRoom>;

/** A room that was just created. */
export const NewRoom = Type.Object(
  { ...sentFields, count: Type.Optional(Count) },
  { additionalProperties: false },
);

/** A room's settings, for users with `room.update`. */
export const RoomSettings = Type.Object(
  {
    id: Text({ format: "uuid" }),
    trait_grants: ref(PermissionConfig),
    module_config: Type.Array(ref(Module)),
    picture: TextOrNothing,
    name: Type.String(),
    description: Type.String(),
    sorting_priority: Type.Integer(),
    pretalx_id: Type.Integer(),
    force_join: Type.Boolean(),
    schedule_data: AnyObjectOrNull,
  },
  { additionalProperties: false },
);
export type RoomSettings = Static<typeof RoomSettings>;

const pretalxId = Whole({ minimum: 0, maximum: 2 ** 31 - 1 });

/** A partial update of a room's settings. The response to an invalid value is `config.invalid`. */
export const RoomPatch = Payload({
  ...roomName,
  trait_grants: Type.Optional(ref(PermissionConfig)),
  module_config: Type.Optional(RoomDraft.properties.module_config),
  picture: Type.Optional(
    Type.Unsafe<string | null>(
      Type.Union([Text({ maxLength: 2000 }), Type.Null()], {
        [Expected]: "a string of at most 2000 characters or null",
      }),
    ),
  ),
  name: Type.Optional(Title),
  description: Type.Optional(
    Type.Unsafe<string | null>(
      Type.Union([Text(), Type.Null()], { [Expected]: "a string or null" }),
    ),
  ),
  sorting_priority: Type.Optional(Whole({ minimum: -(2 ** 31), maximum: 2 ** 31 - 1 })),
  pretalx_id: Type.Optional(pretalxId),
  force_join: Type.Optional(Type.Boolean()),
  schedule_data: Type.Optional(AnyObjectOrNull),
});

/** The allowed reactions. */
export const reactions = ["👏", "❤️", "👍", "🤣", "😮"] as const;

export const roomCommands = {
  "room.enter": command({
    summary: "Enters a room, which starts its pushes",
    payload: RoomName,
    result: Type.Object(
      { viewers: Type.Optional(Type.Array(PublicUser)) },
      { additionalProperties: false },
    ),
    errors: onRoom,
    example: some.room,
  }),
  "room.leave": command({
    summary: "Leaves a room",
    payload: RoomName,
    result: Empty,
    errors: onRoom,
    example: some.room,
  }),
  "room.invite.anonymous.link": command({
    summary: "The link that lets people into a room without a name",
    payload: RoomName,
    result: Type.Object(
      {
        url: Type.String({ format: "uri" }),
        short: Type.String({ format: "uri", description: "A short URL to type, with a code." }),
      },
      { additionalProperties: false },
    ),
    errors: onRoom,
    example: some.room,
  }),
  "room.invite.anonymous.end": command({
    summary: "Revokes that link, and ends the connections of everyone who joined through it",
    payload: RoomName,
    result: Empty,
    errors: onRoom,
    example: some.room,
  }),
  "room.react": command({
    summary: `Reacts with one of ${reactions.join(" ")}`,
    payload: Payload({ ...roomName, reaction: Text() }),
    result: Empty,
    errors: [...onRoom, "room.unknown_reaction"],
    example: { ...some.room, reaction: "👏" },
  }),
  "room.create": command({
    summary: "Creates a room after all others",
    payload: Payload(
      {
        name: Title,
        description: Type.Optional(
          Type.Unsafe<string | null>(
            Type.Union([Text({ maxLength: 10_000 }), Type.Null()], {
              [Expected]: "a string of at most 10000 characters or null",
            }),
          ),
        ),
        modules: Type.Optional(List(ref(Module), 100)),
        permission_preset: Type.Optional(OneOf("public")),
      },
      {
        [AlsoCheck]: ({ modules = [] }: { modules?: Static<typeof Module>[] }) => ({
          ...callFaults(modules, "modules"),
          ...chatFaults(modules, "modules"),
        }),
      },
    ),
    result: Type.Object({ room: Text({ format: "uuid" }), channel: TextOrNothing }),
    errors: ["room.invalid.denied", "room.invalid.name_taken", "room.invalid.invalid"],
    example: {
      name: "Workshop",
      description: "",
      modules: [{ type: "chat.native", config: { volatile: true } }],
    },
  }),
  "room.delete": command({
    summary: "Deletes a room",
    payload: RoomName,
    result: Empty,
    errors: onRoom,
    example: some.room,
  }),
  "room.config.get": command({
    summary: "The settings of a room",
    payload: RoomName,
    result: RoomSettings,
    errors: onRoom,
    example: some.room,
  }),
  "room.config.patch": command({
    summary: "Changes some settings of a room",
    payload: RoomPatch,
    result: RoomSettings,
    errors: [...onRoom, "config.invalid"],
    example: { ...some.room, name: "Workshop A", force_join: true },
  }),
  "room.config.list": command({
    summary: "The settings of all rooms, in their order",
    payload: Nothing,
    result: Type.Array(RoomSettings),
    errors: [],
    example: null,
  }),
  "room.config.reorder": command({
    summary: "Puts rooms first, in this order; the others follow",
    payload: List(Id, 100_000),
    result: Type.Array(RoomSettings),
    errors: [],
    example: [some.room.room],
  }),
  "room.schedule": command({
    summary: "Sets what the room shows now",
    payload: Payload({ ...roomName, schedule_data: AnyObjectOrNull }),
    result: Empty,
    errors: [...onRoom, "room.unknown_schedule_data"],
    example: { ...some.room, schedule_data: { title: "Opening" } },
  }),
} as const;

export const roomPushes = {
  "room.create": { summary: "A room was created", data: NewRoom },
  "room.delete": { summary: "A room was deleted", data: Type.Object({ id: Type.String() }) },
  "room.viewer.added": {
    summary: "A user entered; sent to users in the room with room.viewers",
    data: Type.Object({ user: PublicUser }),
  },
  "room.viewer.removed": {
    summary: "A user left; sent to users in the room with room.viewers",
    data: Type.Object({ user_id: Type.String() }),
  },
  "room.reaction": {
    summary: "The reactions of the last second, counted",
    data: Type.Object({
      room: Type.String(),
      reactions: Type.Record(Type.String(), Type.Integer()),
    }),
  },
  "room.schedule": {
    summary: "What a room shows changed",
    data: Type.Object({ room: Type.String(), schedule_data: AnyObjectOrNull }),
  },
} as const;
