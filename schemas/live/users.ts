import { type Static, Type } from "@sinclair/typebox";
import { Expected, visibleOrEmpty } from "../plain/texts.js";
import { List, OneOf, Text } from "../values.js";
import { onUser } from "./errors.js";
import { AnyObject, command, Empty, Id, Nothing, Payload, some, Whole } from "./values.js";

/** A user as others see it. */
const publicFields = {
  id: Text({ format: "uuid" }),
  profile: AnyObject,
  pretalx_id: Type.Unsafe<string | null>({ type: ["string", "null"] }),
  deleted: Type.Boolean(),
  badges: Type.Array(Type.String(), {
    description: "What trait_badges_map says of the user's traits, sorted.",
  }),
  inactive: Type.Boolean({ description: "Whether the last login was more than 36 hours ago." }),
};

/** The additional fields for readers with `user.manage`. */
const adminFields = {
  moderation_state: Type.Optional(OneOf("", "silenced", "banned")),
  token_id: Type.Optional(Type.Unsafe<string | null>({ type: ["string", "null"] })),
};

/** A user as others see it. */
export const PublicUser = Type.Object(
  { ...publicFields, ...adminFields },
  { additionalProperties: false },
);
export type PublicUser = Static<typeof PublicUser>;

/** A user as it sees itself. */
export const OwnUser = Type.Object(
  {
    ...publicFields,
    client_state: AnyObject,
    moderation_state: Type.Optional(
      Type.Literal("silenced", {
        description:
          "Only if a moderator silenced the user, and in answers to logins with `changes`.",
      }),
    ),
  },
  { additionalProperties: false },
);
export type OwnUser = Static<typeof OwnUser>;

const { deleted: _, ...listedFields } = publicFields;

/** A row of a search. */
export const ListedUser = Type.Object(
  { ...listedFields, ...adminFields },
  { additionalProperties: false },
);
export type ListedUser = Static<typeof ListedUser>;

/** A profile. Clients know the named keys; others are kept. At most 16 KiB of JSON, 1,000 values and 20 levels. */
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
    summary: "Changes the own profile or client state, each as a whole",
    payload: Payload({ profile: Type.Optional(Profile), client_state: Type.Optional(AnyObject) }),
    result: Empty,
    errors: onUser,
    example: { profile: { display_name: "Ada", greeted: true } },
  }),
  "user.admin.update": command({
    summary: "Changes the profile or the pretalx_id of a user",
    payload: Payload({
      id: Id,
      profile: Type.Optional(Profile),
      client_state: Type.Optional(
        Type.Unsafe<Record<string, unknown>>({ ...AnyObject, description: "Only of a screen." }),
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
    errors: [...onUser, "protocol.denied"],
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
    summary: "A page of the users whose name or profile holds a text",
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
    summary: "Lets a browser get messages while its page is closed",
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
    summary: "Makes a user that is a screen; `profile.room_id` is the room that it shows",
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
    summary: "Throws a user out",
    payload: UserNamed,
    result: Empty,
    errors: [...onUser, "user.ban.self"],
    example: some.user,
  }),
  "user.silence": command({
    summary: "Lets a user read and nothing else",
    payload: UserNamed,
    result: Empty,
    errors: [...onUser, "user.silence.self"],
    example: some.user,
  }),
  "user.reactivate": command({
    summary: "Ends a ban or a silence",
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
    summary: "Whom the caller blocks",
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

export const userPushes = {
  "user.updated": {
    summary: "The own user changed, by another connection or by an administrator",
    data: Type.Union([OwnUser, PublicUser]),
  },
} as const;
