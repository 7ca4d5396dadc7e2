import { type TSchema, Type } from "@sinclair/typebox";
import { feedData } from "./feed-data.js";
import { CURSOR_PATTERN, FEED_TYPES } from "./plain/feed.js";
import { Expected } from "./plain/texts.js";
import { OneOf, ref, Text } from "./values.js";

/** A position in the change feed, as received by a client. */
export const cursor = { pattern: CURSOR_PATTERN, [Expected]: "a cursor of the change feed" };

/** Query parameters for reading the change feed. */
export const FeedQuery = Type.Object({
  after: Type.Optional(
    Text({
      ...cursor,
      description:
        "Returns entries after this cursor. 0 starts with the oldest entry that is kept. Without it, the response is an empty page with the current cursor.",
      examples: ["812"],
    }),
  ),
  types: Type.Optional(
    Text({
      description:
        "Types, separated by commas; room.* for all types of a kind. Unknown ones are ignored.",
      examples: ["room.*,user.created"],
    }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 100 })),
});

const orNull = { type: ["string", "null"] };

/** The author of a change. */
export const FeedAuthor = Type.Unsafe<unknown>({
  $id: "FeedAuthor",
  type: ["object", "null"],
  description:
    "Who acted: a user (a websocket or an upload), a call of this API, a command, or the server. Null for entries that combine several users' actions, such as votes.",
  properties: {
    kind: { type: "string", enum: ["user", "api", "command", "server"] },
    user_id: {
      ...orNull,
      description: "Set for a user, or for a call whose token identifies a user.",
    },
    token_id: {
      ...orNull,
      description: "The uid in that user's tokens; null once the user is erased.",
    },
  },
  required: ["kind"],
});

const entry = (type: TSchema, data: TSchema, title: string) =>
  Type.Object(
    {
      seq: Type.Integer({ description: "Increases within the world, with gaps." }),
      cursor: Type.String({ description: "The cursor to continue after this entry." }),
      at: Type.String({ format: "date-time" }),
      type,
      by: ref(FeedAuthor),
      data,
    },
    { title },
  );

/** The data of entries whose type was added in a later version. */
const anyData = Type.Object({}, { additionalProperties: true });

/** An entry of the change feed. Its `type` determines the shape of its `data`. */
export const FeedEntry = Type.Union(
  [
    ...FEED_TYPES.map((type) => entry(OneOf(type), ref(feedData[type]), type)),
    entry(
      Type.Unsafe<string>({
        ...Type.String({ description: "A type added by a later version. Ignore it." }),
        not: { enum: FEED_TYPES },
      }),
      anyData,
      "another type",
    ),
  ],
  { $id: "FeedEntry", description: "A change in a world." },
);

/** Returns the schema of a webhook message. */
export const webhookMessage = (type: string, data: TSchema) =>
  Type.Object({ type: OneOf(type), timestamp: Type.String({ format: "date-time" }), data });

/** A page of the change feed. */
export const FeedPage = Type.Object(
  {
    results: Type.Array(Type.Ref(FeedEntry.$id!)),
    cursor: Type.String({ description: "To go on after this page." }),
    more: Type.Boolean({ description: "Whether there are later entries now." }),
  },
  {
    $id: "FeedPage",
    description: "Changes in the order in which they happened.",
    examples: [
      {
        results: [
          {
            seq: 812,
            cursor: "812",
            at: "2027-03-01T09:00:00.000Z",
            type: "room.updated",
            by: { kind: "user", user_id: "7c9e6679-7425-40de-944b-e07fc1f90ae7", token_id: "ada" },
            data: { room_id: "018f8f5e-6e2a-7cc0-8000-0123456789ab", fields: ["name"] },
          },
        ],
        cursor: "812",
        more: false,
      },
    ],
  },
);
