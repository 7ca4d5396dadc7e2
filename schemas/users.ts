import { type Static, Type } from "@sinclair/typebox";
import { OneOf, PageOf, PageQuery, Text } from "./values.js";
import { WorldParams } from "./worlds.js";

/** Names the user to erase, by its internal id or by the `uid` of its tokens. */
export const UserName = Type.Partial(
  Type.Object({
    user_id: Text({ description: "The service's internal user ID." }),
    token_id: Text({ description: "The uid of its tokens." }),
  }),
  {
    $id: "UserName",
    description: "A user, by exactly one of its names.",
    additionalProperties: false,
    minProperties: 1,
    maxProperties: 1,
    examples: [{ token_id: "42" }],
  },
);
export type UserName = Static<typeof UserName>;

const orNull = <T>(type: "string" | "object", more: object = {}) =>
  Type.Unsafe<T | null>({ ...more, type: [type, "null"] });

/** A user of a world. */
export const User = Type.Object(
  {
    id: Text({ format: "uuid", description: "The service's internal user ID." }),
    token_id: orNull<string>("string", { description: "The uid of its tokens; null for a guest." }),
    profile: orNull<Record<string, unknown>>("object", {
      additionalProperties: true,
      description: "As in its first token, or as changed since.",
    }),
    traits: Type.Array(Type.String(), { description: "As in its last token." }),
    last_seen: Type.String({
      format: "date-time",
      description: "When it last logged in or uploaded.",
    }),
  },
  { $id: "User", description: "A person who logged in or uploaded." },
);
export type User = Static<typeof User>;

const moderation_state = OneOf("none", "silenced", "banned");

/** What a moderator decides about a user. */
export const UserChanges = Type.Object(
  { moderation_state },
  {
    $id: "UserChanges",
    description:
      "What a moderator decides about a user: `none` reactivates. Unknown fields are refused.",
    additionalProperties: false,
    examples: [{ moderation_state: "silenced" }],
  },
);
export type UserChanges = Static<typeof UserChanges>;

/** What a moderator decides about a person who may not have come yet. */
export const NamedUserChanges = Type.Object(
  {
    token_id: Text({
      minLength: 1,
      maxLength: 200,
      description: "The `uid` of the person's tokens.",
    }),
    moderation_state,
  },
  {
    $id: "NamedUserChanges",
    description:
      "What a moderator decides about the person with a `uid`. Unknown fields are refused.",
    additionalProperties: false,
    examples: [{ token_id: "order-2000", moderation_state: "banned" }],
  },
);

/** A user, with the decision of moderators. */
export const ModeratedUser = Type.Object(
  { ...User.properties, moderation_state },
  {
    $id: "ModeratedUser",
    description:
      "A user, with the decision of moderators. A banned user who is silenced stays banned.",
  },
);

export const UserParams = Type.Object({
  ...WorldParams.properties,
  user_id: Type.String({ format: "uuid" }),
});

const orderings = ["created", "-created", "last_seen", "-last_seen"] as const;
export type UserOrdering = (typeof orderings)[number];

/** Query parameters of the list of users. */
export const UsersQuery = Type.Object({
  ...PageQuery.properties,
  ordering: Type.Optional(OneOf(...orderings)),
  token_id: Type.Optional(Text({ description: "Only the user with this `uid` in its tokens." })),
  client_id: Type.Optional(
    Text({
      description:
        "Only the guest with this client ID. It is a credential, so no answer contains it.",
    }),
  ),
});

export type UsersQuery = Static<typeof UsersQuery>;

/** A page of the users of a world. */
export const UserList = PageOf(User, {
  $id: "UserList",
  description: "A page of the users of a world.",
  example: {
    id: "7c9e6679-7425-40de-944b-e07fc1f90ae7",
    token_id: "42",
    profile: { display_name: "Ada" },
    traits: ["attendee"],
    last_seen: "2027-01-31T09:30:00.000Z",
  },
});
