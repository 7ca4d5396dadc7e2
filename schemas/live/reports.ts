import { type Static, Type } from "@sinclair/typebox";
import {
  reportActions,
  reportKinds,
  reportReasons,
  reportStates,
} from "../plain/moderation/reports.js";
import { visible } from "../plain/texts.js";
import { OneOf, Text } from "../values.js";
import { onChannel, onRoom } from "./errors.js";
import { PublicUser } from "./users.js";
import { AnyObject, command, Empty, Id, Payload, roomName, some } from "./values.js";

const time = Text({ format: "date-time" });

/** What a person writes in a report. */
const complaint = {
  reason: OneOf(...reportReasons),
  text: Type.Optional(Text({ ...visible, maxLength: 500 })),
};

/** The public form of a user who may be unknown. */
const UserOrNull = Type.Unsafe<Static<typeof PublicUser> | null>(
  Type.Union([PublicUser, Type.Null()]),
);

/** A reported thing, with all reports of it. */
export const SentReport = Type.Object(
  {
    id: Text({ format: "uuid" }),
    kind: OneOf(...reportKinds),
    room: Type.Optional(Text({ format: "uuid", description: "Omitted for direct messages." })),
    channel: Type.Optional(Type.String({ description: "Of a message." })),
    event: Type.Optional(Type.Integer({ minimum: 1, description: "The id of a message." })),
    content: Type.Unsafe<Record<string, unknown>>({
      ...AnyObject,
      description:
        "As it was at the time of the first report: the content of a message, a question as `{type: 'text', body}`, or a person as `{type: 'profile', body, profile}` with the name in `body`.",
    }),
    user: Type.Unsafe<Static<typeof PublicUser> | null>({
      ...UserOrNull,
      description: "The author, or the reported person. Null for a question that shows no author.",
    }),
    reports: Type.Array(
      Type.Object(
        {
          user: Type.Unsafe<Static<typeof PublicUser> | null>({
            ...UserOrNull,
            description: "Null if the person has been erased.",
          }),
          reason: OneOf(...reportReasons),
          text: Type.String({ description: "Empty if there is no text." }),
          at: time,
        },
        { additionalProperties: false },
      ),
      { description: "Oldest first; at most 100." },
    ),
    count: Type.Integer({ minimum: 1, description: "How many people reported it." }),
    state: OneOf(...reportStates),
    deleted: Type.Optional(
      Type.Boolean({ description: "Whether it was deleted since, or the person erased." }),
    ),
    at: Type.Unsafe<string>({ ...time, description: "When it was first reported." }),
    resolved_at: Type.Optional(time),
    resolved_by: Type.Optional(
      Type.Unsafe<Static<typeof PublicUser> | null>({
        ...UserOrNull,
        description: "Null if the person was erased, or if a call without a user resolved it.",
      }),
    ),
  },
  { additionalProperties: false },
);
export type SentReport = Static<typeof SentReport>;

export const reportCommands = {
  "chat.report": command({
    summary: "Reports a message to the moderators",
    payload: Payload({ channel: Type.Optional(Id), event: Id, ...complaint }),
    result: Empty,
    errors: [...onChannel, "protocol.denied", "report.unknown"],
    example: { ...some.channel, event: 1204, reason: "spam" },
  }),
  "question.report": command({
    summary: "Reports a question to the moderators",
    payload: Payload({ ...roomName, id: Id, ...complaint }),
    result: Empty,
    errors: [...onRoom, "report.unknown"],
    example: { ...some.room, id: some.question, reason: "harassment" },
  }),
  "user.report": command({
    summary: "Reports a person to the moderators",
    payload: Payload({
      user: Id,
      room: Type.Optional(Id),
      ...complaint,
    }),
    result: Empty,
    errors: [...onRoom, "report.unknown"],
    example: { user: some.user.id, reason: "privacy", text: "The picture shows somebody else." },
  }),
  "report.list": command({
    summary: "The reported items that the caller may handle, most recently reported first",
    payload: Payload({
      room: Type.Optional(Id),
      state: Type.Optional(OneOf(...reportStates)),
      before: Type.Optional(
        Text({ description: "Returns reports from before the one with this id." }),
      ),
    }),
    result: Type.Object(
      {
        reports: Type.Array(SentReport, { maxItems: 50 }),
        more: Type.Boolean({ description: "Whether there are more before the last one listed." }),
        open: Type.Integer({
          minimum: 0,
          description: "The number of open reports in all rooms, as in `report.changed`.",
        }),
      },
      { additionalProperties: false },
    ),
    errors: [...onRoom, "report.unknown"],
    example: { state: "open" },
  }),
  "report.resolve": command({
    summary: "Resolves a reported item, and closes all reports of it",
    payload: Payload({ id: Id, action: OneOf(...reportActions) }),
    result: Empty,
    errors: ["protocol.denied", "report.unknown", "user.not_found"],
    example: { id: "9a0f5c1e-6f0a-4f49-9d55-1f0e6d2c7b32", action: "dismissed" },
  }),
} as const;

export const reportPushes = {
  "report.changed": {
    summary: "The number of reported items that wait for this moderator's decision",
    data: Type.Object({ open: Type.Integer({ minimum: 0 }) }, { additionalProperties: false }),
  },
} as const;
