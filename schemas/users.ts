import { type Static, Type } from "@sinclair/typebox";
import { Expected } from "./plain/texts.js";
import { OneOf, PageOf, PageQuery, Text, TextOrNull } from "./values.js";
import { WorldParams } from "./worlds.js";

/** Identifies the user to erase, by internal id or by the `uid` in the user's tokens. */
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

/** A user in a world. */
export const User = Type.Object(
  {
    id: Text({ format: "uuid", description: "The service's internal user ID." }),
    token_id: orNull<string>("string", { description: "The uid of its tokens; null for a guest." }),
    profile: orNull<Record<string, unknown>>("object", {
      additionalProperties: true,
      description: "As in the user's first token, or as changed since then.",
    }),
    traits: Type.Array(Type.String(), { description: "As in the user's last token." }),
    last_seen: Type.String({
      format: "date-time",
      description: "The time of the last login or upload.",
    }),
    passkeys: Type.Optional(
      Type.Integer({ minimum: 0, description: "The number of passkeys; only in lists." }),
    ),
  },
  { $id: "User", description: "A person who logged in or uploaded." },
);
export type User = Static<typeof User>;

const moderation_state = OneOf("none", "silenced", "banned");

const decision = {
  moderation_state,
  until: Type.Optional(
    TextOrNull({
      format: "date-time",
      description: "When a silence ends by itself. Only with `silenced`.",
    }),
  ),
  network: Type.Optional(
    Type.Unsafe<1 | 24>(
      Type.Union([Type.Literal(1), Type.Literal(24)], {
        description:
          "The number of hours for which a ban also keeps out new guests from the person's last network. Only with `banned`.",
        [Expected]: "1 or 24",
      }),
    ),
  ),
};

/** A moderator's decision about a user. */
export const UserChanges = Type.Object(decision, {
  $id: "UserChanges",
  description:
    "A moderator's decision about a user: `none` reactivates the user, or admits a waiting guest. Unknown fields are refused.",
  additionalProperties: false,
  examples: [{ moderation_state: "silenced" }],
});
export type UserChanges = Static<typeof UserChanges>;

/** A moderator's decision about a person who may not have visited yet. */
export const NamedUserChanges = Type.Object(
  {
    token_id: Text({
      minLength: 1,
      maxLength: 200,
      description: "The `uid` of the person's tokens.",
    }),
    ...decision,
  },
  {
    $id: "NamedUserChanges",
    description:
      "A moderator's decision about the person with a `uid`. Unknown fields are refused.",
    additionalProperties: false,
    examples: [{ token_id: "order-2000", moderation_state: "banned" }],
  },
);

/** A user with their moderation state. */
export const ModeratedUser = Type.Object(
  {
    ...User.properties,
    moderation_state: OneOf("none", "silenced", "banned", "waiting"),
    moderated_until: TextOrNull({
      format: "date-time",
      description: "When the silence ends by itself; null if it does not.",
    }),
  },
  {
    $id: "ModeratedUser",
    description:
      "A user, with the moderators' decision. A banned user who is silenced stays banned.",
  },
);

export const UserParams = Type.Object({
  ...WorldParams.properties,
  user_id: Type.String({ format: "uuid" }),
});

const orderings = ["created", "-created", "last_seen", "-last_seen"] as const;
export type UserOrdering = (typeof orderings)[number];

/** Query parameters for listing users. */
export const UsersQuery = Type.Object({
  ...PageQuery.properties,
  ordering: Type.Optional(OneOf(...orderings)),
  token_id: Type.Optional(Text({ description: "Only the user with this `uid` in its tokens." })),
  client_id: Type.Optional(
    Text({
      description:
        "Only the guest with this client ID. It is a credential, so no response contains it.",
    }),
  ),
});

export type UsersQuery = Static<typeof UsersQuery>;

/** A page of a world's users. */
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
