import { type TObject, Type } from "@sinclair/typebox";
import { Summary } from "./live/polls.js";
import type { FeedType } from "./plain/feed.js";
import { reportActions, reportKinds } from "./plain/moderation/reports.js";
import { idName, ofRecords } from "./plain/records.js";
import { OneOf, Text } from "./values.js";

// The `data` of change feed entries, in the feed and in webhooks, by type.

const id = Text({ format: "uuid" });
const idOrNull = Type.Unsafe<string | null>({ type: ["string", "null"], format: "uuid" });
const fields = Type.Array(Type.String(), { description: "The fields that changed." });

/** Returns the schema for the data of one type. Later versions may add fields. */
const data = (properties: TObject["properties"]) => Type.Object(properties);

/** The data of the lifecycle entries for an object with an id. */
const life = (name: string) => ({
  created: data({ [name]: id }),
  updated: data({ [name]: id, fields }),
  deleted: data({ [name]: id }),
});

const room = life("room_id");
const user = life("user_id");
const announcement = life("announcement_id");
const file = life("file_id");

const chat = {
  room_id: id,
  channel_id: id,
  event_id: Type.Integer({
    description: "For an edit or a deletion, the message that was changed.",
  }),
  user_id: idOrNull,
};
const message = data({ ...chat, content: Type.Object({}, { additionalProperties: true }) });

const question = { room_id: id, question_id: id };
const poll = { room_id: id, poll_id: id };
const report = {
  report_id: id,
  kind: OneOf(...reportKinds),
  room_id: { ...idOrNull, description: "Null for direct messages, and for people outside rooms." },
};
const call = { room_id: id, call_id: id };
const person = { room_id: id, user_id: id };
const pinless = "Null when the pin of the room ended.";

const byType: Readonly<Record<FeedType, TObject>> = {
  "world.updated": data({ fields }),
  "room.created": room.created,
  "room.updated": room.updated,
  "room.deleted": room.deleted,
  "rooms.reordered": data({}),
  "user.created": user.created,
  "user.updated": user.updated,
  "user.moderated": data({ user_id: id, state: OneOf("none", "silenced", "banned") }),
  "user.erased": user.deleted,
  "announcement.created": announcement.created,
  "announcement.updated": announcement.updated,
  "file.added": file.created,
  "file.deleted": file.deleted,
  ...ofRecords((record, event) => life(idName(record))[event]),
  "chat.message": message,
  "chat.edited": message,
  "chat.deleted": data(chat),
  "chat.joined": data(chat),
  "chat.left": data(chat),
  "report.created": data(report),
  "report.resolved": data({ ...report, action: OneOf(...reportActions) }),
  "question.created": data(question),
  "question.updated": data({
    ...question,
    question_id: { ...idOrNull, description: pinless },
    fields,
  }),
  "question.deleted": data(question),
  "question.votes": data({ ...question, score: Type.Integer() }),
  "poll.created": data(poll),
  "poll.updated": data({ ...poll, poll_id: { ...idOrNull, description: pinless }, fields }),
  "poll.deleted": data(poll),
  "poll.votes": data({
    ...poll,
    results: Type.Record(Type.String(), Type.Integer(), {
      description: "How many users chose each option, by its id; empty for kinds with a summary.",
    }),
    summary: Type.Optional(Summary),
  }),
  "call.started": data(call),
  "call.ended": data(call),
  "call.joined": data(person),
  "call.left": data(person),
  "call.staged": data({
    ...person,
    on_stage: Type.Boolean({ description: "Whether the person was invited or sent back." }),
  }),
  "hand.raised": data(person),
  "hand.lowered": data(person),
  "caption.added": data({
    room_id: id,
    session_id: idOrNull,
    lang: Type.String(),
    text: Type.String(),
    spoken_at: Text({ format: "date-time" }),
  }),
};

/** Converts `room.updated` to `RoomUpdated`, and `room_id` to `RoomId`. */
export const pascalCase = (type: string): string =>
  type.replace(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The schema for the data of each type, with names such as `RoomUpdatedData`. */
export const feedData = Object.fromEntries(
  Object.entries(byType).map(([type, schema]) => [
    type,
    {
      ...schema,
      $id: `${pascalCase(type)}Data`,
      description: `What ${type} is about.`,
    },
  ]),
) as Readonly<Record<FeedType, TObject>>;
