import { type Static, Type } from "@sinclair/typebox";
import { CALL_ENGINES } from "../plain/calls.js";
import { Expected } from "../plain/texts.js";
import { PermissionConfig, Rule } from "../rules.js";
import { List, OneOf, ref, Text, Title } from "../values.js";
import { BlockedWords } from "../worlds.js";
import { SentRoom } from "./rooms.js";
import {
  AnyObject,
  AnyObjectOrNull,
  command,
  Count,
  Crowd,
  Nothing,
  Payload,
  Whole,
} from "./values.js";

/** A world as sent to its users. */
export const SentWorld = Type.Object(
  {
    id: Type.String(),
    title: Type.String(),
    pretalx: AnyObject,
    profile_fields: Type.Array(AnyObject),
    social_logins: Type.Array(Type.String()),
    iframe_blockers: AnyObject,
    onsite_traits: ref(Rule),
    vapid_public_key: Type.Unsafe<string | null>({ type: ["string", "null"] }),
  },
  { additionalProperties: false },
);
export type SentWorld = Static<typeof SentWorld>;

/** A world with the receiver's permissions and visible rooms. */
export const WorldState = Type.Object(
  { world: SentWorld, permissions: Type.Array(Type.String()), rooms: Type.Array(SentRoom) },
  { additionalProperties: false },
);
export type WorldState = Static<typeof WorldState>;

/** The differences between a {@link WorldState} and the last state that the receiver was sent. */
export const WorldChange = Type.Object(
  {
    rooms: Type.Array(SentRoom, {
      description:
        "The rooms that are new, have changed, or have become visible. New rooms come last.",
    }),
    removed: Type.Array(Type.String(), {
      description: "The rooms that were deleted or are no longer visible.",
    }),
    order: Type.Optional(
      Type.Array(Type.String(), { description: "All rooms, if their order has changed." }),
    ),
    world: Type.Optional(SentWorld),
    permissions: Type.Optional(Type.Array(Type.String())),
  },
  { additionalProperties: false },
);
export type WorldChange = Static<typeof WorldChange>;

/** The networks allowed in `social_logins`. */
export const networks = ["gravatar", "twitter", "linkedin"] as const;

const limit = Type.Unsafe<number | string | null>(
  Type.Union([Whole({ minimum: 0, maximum: 2 ** 31 - 1 }), Type.Null()], {
    [Expected]: "a whole number, or null or 0 for none",
  }),
);

/** A world's settings, for users with `world.update`. */
const settings = {
  theme: AnyObject,
  roles: AnyObject,
  trait_grants: ref(PermissionConfig),
  bbb_defaults: AnyObject,
  pretalx: AnyObject,
  title: Title,
  locale: Text({ minLength: 1, maxLength: 50 }),
  dateLocale: Text({ minLength: 1, maxLength: 50 }),
  videoPlayer: AnyObjectOrNull,
  timezone: Text({ minLength: 1, maxLength: 100 }),
  connection_limit: limit,
  available_permissions: Type.Array(Type.String()),
  profile_fields: List(AnyObject, 100),
  social_logins: List(Text(), 10),
  iframe_blockers: AnyObject,
  track_exhibitor_views: Type.Boolean(),
  track_room_views: Type.Boolean(),
  track_world_views: Type.Boolean(),
  onsite_traits: ref(Rule),
  conftool_url: Text({ maxLength: 2000 }),
  conftool_password: Text({ maxLength: 2000 }),
  blocked_words: ref(BlockedWords),
};

/** A world's 22 settings, and the server's call engines. */
export const WorldSettings = Type.Object(
  {
    ...settings,
    call_engines: Type.Array(OneOf(...CALL_ENGINES), {
      description: "The server's call engines. Read-only: a patch may repeat it.",
    }),
    connection_limit: Type.Unsafe<number | null>({ type: ["integer", "null"] }),
  },
  { additionalProperties: false },
);
export type WorldSettings = Static<typeof WorldSettings>;

const { available_permissions: _, ...writable } = settings;

const some = Type.Partial(Type.Object(writable)).properties;

/**
 * A partial update of a world's settings. The response to an invalid value is `config.invalid`. If
 * the current settings differ from `expected`, nothing is written, and the response is
 * `config.changed`.
 */
export const WorldPatch = Payload({ ...some, expected: Type.Optional(AnyObject) });
export type WorldPatch = Static<typeof WorldPatch>;

export const worldCommands = {
  "world.config.get": command({
    summary: "The settings of the world",
    payload: Nothing,
    result: WorldSettings,
    errors: [],
    example: null,
  }),
  "world.config.patch": command({
    summary: "Changes some settings of the world",
    payload: WorldPatch,
    result: WorldSettings,
    errors: ["config.invalid", "config.changed"],
    example: { title: "Summit 2027", connection_limit: 5 },
  }),
} as const;

export const worldPushes = {
  "world.updated": {
    summary: "The world or its rooms changed, or what the receiver may do",
    data: WorldState,
  },
  "world.changed": {
    summary:
      "The differences from the last state sent to the receiver, if the client requested changes; replaces world.updated",
    data: WorldChange,
  },
  "world.schedule.updated": {
    summary: "The event's schedule has moved or was updated",
    data: AnyObject,
  },
  "world.user_count_change": {
    summary:
      "A room's number of people has crossed 1 or 11 in either direction; if the client requested changes, sent whenever the count changes",
    data: Type.Object({ room: Type.String(), users: Crowd, count: Type.Optional(Count) }),
  },
} as const;
