import { type Static, Type } from "@sinclair/typebox";
import { Expected, visibleOrEmpty } from "../plain/texts.js";
import { List, OneOf, Text } from "../values.js";
import { onUser } from "./errors.js";
import {
  AnyObject,
  command,
  Empty,
  Id,
  Nothing,
  Payload,
  some,
  TimeOrNull,
  Whole,
} from "./values.js";

/** The user fields that other users see. */
const publicFields = {
  id: Text({ format: "uuid" }),
  profile: AnyObject,
  pretalx_id: Type.Unsafe<string | null>({ type: ["string", "null"] }),
  deleted: Type.Boolean(),
  badges: Type.Array(Type.String(), {
    description: "The user's badges according to trait_badges_map, sorted.",
  }),
  inactive: Type.Boolean({ description: "Whether the last login was more than 36 hours ago." }),
};

/** Fields that readers with `user.manage` see in addition to the public fields. */
const adminFields = {
  moderation_state: Type.Optional(OneOf("", "silenced", "banned", "waiting")),
  moderated_until: Type.Optional(
    Text({ format: "date-time", description: "When the silence ends by itself, if it does." }),
  ),
  token_id: Type.Optional(Type.Unsafe<string | null>({ type: ["string", "null"] })),
};

/** A user as other users see them. */
export const PublicUser = Type.Object(
  { ...publicFields, ...adminFields },
  { additionalProperties: false },
);
export type PublicUser = Static<typeof PublicUser>;

/** A user as sent to the user's own connections. */
export const OwnUser = Type.Object(
  {
    ...publicFields,
    client_state: AnyObject,
    moderation_state: Type.Optional(
      Type.Literal("silenced", {
        description:
          "Only if the user is read-only, and only in responses to logins with `changes`.",
      }),
    ),
    moderated_until: Type.Optional(
      Text({
        format: "date-time",
        description: "When the user may write again, if the silence ends by itself.",
      }),
    ),
  },
  { additionalProperties: false },
);
export type OwnUser = Static<typeof OwnUser>;

const { deleted: _, ...listedFields } = publicFields;

/** A row in search results. */
export const ListedUser = Type.Object(
  { ...listedFields, ...adminFields },
  { additionalProperties: false },
);
export type ListedUser = Static<typeof ListedUser>;

/**
 * A profile. Clients know the named keys; unknown keys are kept. At most 16 KiB of JSON, 1,000
 * values and 20 levels.
 */
export const Profile = Type.Unsafe<Record<string, unknown>>(
  Type.Object(
    {
      display_name: Type.Optional(Text(visibleOrEmpty)),
      avatar: Type.Optional(
        Type.Unsafe<Record<string, unknown> | null>(
          Type.Union([AnyObject, Type.Null()], { [Expected]: "an object or null" }),
        ),
      ),
      fields: Type.Optional(AnyObject),
    },
    { additionalProperties: true },
  ),
);

const UserNamed = Payload({ id: Id });
const ids = List(Id, 10_000);
const page = Whole({ minimum: -(2 ** 31), maximum: 2 ** 31 - 1 });

export const userCommands = {
  "user.update": command({
    summary: "Replaces the user's own profile or client state",
    payload: Payload({ profile: Type.Optional(Profile), client_state: Type.Optional(AnyObject) }),
    result: Empty,
    errors: [...onUser, "profile.name_taken", "chat.blocked_word"],
    example: { profile: { display_name: "Ada", greeted: true } },
  }),
  "user.admin.update": command({
    summary: "Changes the profile or the pretalx_id of a user",
    payload: Payload({
      id: Id,
      profile: Type.Optional(Profile),
      client_state: Type.Optional(
        Type.Unsafe<Record<string, unknown>>({ ...AnyObject, description: "Only for a screen." }),
      ),
      pretalx_id: Type.Optional(
        Type.Unsafe<string | null>(
          Type.Union([Text({ maxLength: 200 }), Type.Null()], {
            [Expected]: "a string of at most 200 characters or null",
          }),
        ),
      ),
    }),
    result: Empty,
    errors: [...onUser, "protocol.denied", "chat.blocked_word"],
    example: { ...some.user, profile: { display_name: "Ada" } },
  }),
  "user.fetch": command({
    summary: "Reads one user, or up to 100 by their ids",
    payload: Payload({
      id: Type.Optional(Id),
      ids: Type.Optional(ids),
      pretalx_ids: Type.Optional(ids),
    }),
    result: Type.Union([PublicUser, Type.Record(Type.String(), PublicUser)]),
    errors: onUser,
    example: { ids: [some.user.id] },
  }),
  "user.list": command({
    summary: "All users, by display name",
    payload: Type.Unsafe<{ type?: string; include_banned?: boolean } | null>(
      Type.Union([
        Payload({ type: Type.Optional(Text()), include_banned: Type.Optional(Type.Boolean()) }),
        Type.Null(),
      ]),
    ),
    result: Type.Object({ results: Type.Array(PublicUser) }),
    errors: ["server.too_large"],
    example: null,
  }),
  "user.list.search": command({
    summary: "A page of the users whose name or profile contains a text",
    payload: Payload({
      search_term: Text({ maxLength: 1000 }),
      page,
      badge: Type.Optional(
        Type.Unsafe<string | null>(
          Type.Union([Text(), Type.Null()], { [Expected]: "a string or null" }),
        ),
      ),
      include_banned: Type.Optional(Type.Boolean()),
    }),
    result: Type.Object({ results: Type.Array(ListedUser), isLastPage: Type.Boolean() }),
    errors: ["server.too_large"],
    example: { search_term: "ada", page: 1 },
  }),
  "user.web_push.subscribe": command({
    summary: "Subscribes a browser to notifications while its page is closed",
    payload: Payload({
      subscription: Payload({
        endpoint: Text({ minLength: 1, maxLength: 1000 }),
        expirationTime: Type.Optional(
          Type.Unsafe<number | null>(
            Type.Union([Type.Number(), Type.Null()], { [Expected]: "a number or null" }),
          ),
        ),
        keys: Payload({ p256dh: Text({ maxLength: 200 }), auth: Text({ maxLength: 100 }) }),
      }),
      moderation: Type.Optional(
        Type.Boolean({
          description:
            "Whether the browser is also notified about reports and messages that wait for the user as a moderator. Off by default.",
        }),
      ),
    }),
    result: Empty,
    errors: [],
    example: {
      subscription: {
        endpoint: "https://push.example.org/send/x",
        keys: { p256dh: "BPt5…", auth: "aw5j…" },
      },
    },
  }),
  "user.kiosk.create": command({
    summary: "Creates a user for a screen; `profile.room_id` is the room that it shows",
    payload: Payload({ profile: Profile }),
    result: Type.Object({ user: PublicUser }, { additionalProperties: false }),
    errors: ["protocol.denied"],
    example: { profile: { display_name: "Screen in hall 1", room_id: some.room.room } },
  }),
  "user.kiosk.fetch": command({
    summary: "A screen with a token for it, which is valid for a year",
    payload: UserNamed,
    result: Type.Object(
      { ...PublicUser.properties, client_state: AnyObject, token: Type.String() },
      { additionalProperties: false },
    ),
    errors: [...onUser, "protocol.denied"],
    example: some.user,
  }),
  "user.online_status": command({
    summary: "Whether users have an open connection",
    payload: Payload({ ids }),
    result: Type.Record(Type.String(), Type.Boolean()),
    errors: [],
    example: { ids: [some.user.id] },
  }),
  "user.ban": command({
    summary: "Bans a user and, optionally for some hours, new guests from the same network",
    payload: Payload({
      id: Id,
      network: Type.Optional(
        Type.Unsafe<1 | 24>(
          Type.Union([Type.Literal(1), Type.Literal(24)], {
            description: "The duration in hours.",
            [Expected]: "1 or 24",
          }),
        ),
      ),
    }),
    result: Type.Object(
      {
        network: Type.Optional(
          Type.Boolean({
            description: "With `network`: whether the network was known and is now banned.",
          }),
        ),
      },
      { additionalProperties: false },
    ),
    errors: [...onUser, "user.ban.self"],
    example: some.user,
  }),
  "user.silence": command({
    summary: "Makes a user read-only, permanently or until a given time",
    payload: Payload({ id: Id, until: Type.Optional(TimeOrNull) }),
    result: Empty,
    errors: [...onUser, "user.silence.self"],
    example: some.user,
  }),
  "user.messages.delete": command({
    summary: "Deletes all messages of a user in the rooms",
    payload: UserNamed,
    result: Type.Object({ deleted: Type.Integer() }, { additionalProperties: false }),
    errors: onUser,
    example: some.user,
  }),
  "user.reactivate": command({
    summary: "Lifts a ban or a silence, or admits a waiting guest",
    payload: UserNamed,
    result: Empty,
    errors: [...onUser, "user.reactivate.self"],
    example: some.user,
  }),
  "user.delete": command({
    summary: "Erases what identifies a user",
    payload: UserNamed,
    result: Empty,
    errors: [...onUser, "user.delete.self"],
    example: some.user,
  }),
  "user.block": command({
    summary: "Blocks direct messages with a user",
    payload: UserNamed,
    result: Empty,
    errors: [...onUser, "user.block.self", "user.block.limit"],
    example: some.user,
  }),
  "user.unblock": command({
    summary: "Ends a block",
    payload: UserNamed,
    result: Empty,
    errors: [...onUser, "user.unblock.self"],
    example: some.user,
  }),
  "user.list.blocked": command({
    summary: "The users whom the caller blocks",
    payload: Nothing,
    result: Type.Object({ users: Type.Array(PublicUser) }),
    errors: [],
    example: null,
  }),
  "exhibition.get.staffed_by_user": command({
    summary: "Always nothing: there are no exhibitions. Profiles ask for it",
    payload: Type.Unknown(),
    result: Type.Object({ exhibitors: Type.Array(Type.Unknown()) }),
    errors: [],
    example: { user_id: some.user.id },
  }),
} as const;

/** Commands for guests who wait for approval, in events with `config.guest_approval`. */
export const guestCommands = {
  "guest.list": command({
    summary: "The guests who wait for approval, longest waiting first",
    payload: Nothing,
    result: Type.Object(
      {
        count: Type.Integer(),
        guests: Type.Array(
          Type.Object(
            {
              id: Text({ format: "uuid" }),
              profile: AnyObject,
              since: Text({ format: "date-time" }),
            },
            { additionalProperties: false },
          ),
          { description: "At most 200." },
        ),
      },
      { additionalProperties: false },
    ),
    errors: [],
    example: null,
  }),
  "guest.approve": command({
    summary: "Admits a waiting guest",
    payload: UserNamed,
    result: Type.Object(
      { state: OneOf("", "silenced", "banned") },
      { additionalProperties: false },
    ),
    errors: onUser,
    example: some.user,
  }),
  "guest.reject": command({
    summary: "Bans a waiting guest; the first decision counts",
    payload: UserNamed,
    result: Type.Object(
      { state: OneOf("", "silenced", "banned") },
      { additionalProperties: false },
    ),
    errors: onUser,
    example: some.user,
  }),
} as const;

export const userPushes = {
  "guest.waiting": {
    summary:
      "The number of guests who wait for approval; sent to managers of users who requested changes",
    data: Type.Object({ count: Type.Integer() }, { additionalProperties: false }),
  },
  "user.updated": {
    summary: "The user's own record was changed over another connection or by an administrator",
    data: Type.Union([OwnUser, PublicUser]),
  },
} as const;
