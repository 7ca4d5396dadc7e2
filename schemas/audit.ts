import { Type } from "@sinclair/typebox";
import { time } from "./event-dates.js";
import { FeedAuthor } from "./feed.js";
import { PageOf, PageQuery, ref, Text } from "./values.js";

/** Query parameters for reading the audit. */
export const AuditQuery = Type.Object({
  ...PageQuery.properties,
  user: Type.Optional(Text({ description: "Only actions of the user with this id." })),
  type: Type.Optional(Text({ description: "Types, separated by commas; room.* for a kind." })),
  after: Type.Optional(Text({ ...time, description: "Only later than this time." })),
  before: Type.Optional(Text({ ...time, description: "Only earlier than this time." })),
});

const Change = Type.Object({ field: Type.String(), before: Type.Unknown(), after: Type.Unknown() });

export const AuditEntry = Type.Object(
  {
    id: Type.Integer({ description: "Counts up." }),
    at: Type.String({ format: "date-time" }),
    by: ref(FeedAuthor),
    type: Type.String({ description: "As in the change feed, and more." }),
    subject: Type.Object(
      {},
      { additionalProperties: true, description: "The ids of the records concerned." },
    ),
    changes: Type.Array(Change, {
      description:
        "For objects, only the fields that differ. Secrets are masked, and personal data is omitted.",
    }),
    request_id: Type.Unsafe<string | null>({
      type: ["string", "null"],
      description: "Identifies the request in the server's log.",
    }),
  },
  { $id: "AuditEntry", description: "An action of a person with rights." },
);

export const AuditList = PageOf(AuditEntry, {
  $id: "AuditList",
  description: "A page of the audit of a world, newest first.",
  example: {
    id: 7,
    at: "2027-03-01T09:00:00.000Z",
    type: "room.updated",
    by: { kind: "api", user_id: "7c9e6679-7425-40de-944b-e07fc1f90ae7", token_id: "ada" },
    subject: { room_id: "018f8f5e-6e2a-7cc0-8000-0123456789ab" },
    changes: [{ field: "name", before: "Stage", after: "Main stage" }],
    request_id: "0b6d2a5e-7c1f-4a6e-9d6b-0c5b8a3f2d10",
  },
});
