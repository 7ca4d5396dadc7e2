import { type TObject, Type } from "@sinclair/typebox";
import type { FeedType } from "./plain/feed.js";
import { OneOf, Text } from "./values.js";

// What each entry of the change feed says about its subject: `data` in the feed and in webhooks.

const id = Text({ format: "uuid" });
const idOrNull = Type.Unsafe<string | null>({ type: ["string", "null"], format: "uuid" });
const fields = Type.Array(Type.String(), { description: "The fields that changed." });

/** The data of some type. More fields may come. */
const data = (properties: TObject["properties"]) => Type.Object(properties);

/** The life of a thing with an id. */
const life = (name: string) => ({
  created: data({ [name]: id }),
  updated: data({ [name]: id, fields }),
  deleted: data({ [name]: id }),
});

const room = life("room_id");
const user = life("user_id");
const announcement = life("announcement_id");
const file = life("file_id");
const session = life("session_id");
const speaker = life("speaker_id");

const chat = {
  room_id: id,
  channel_id: id,
  event_id: Type.Integer({
    description: "Of an edit or a deletion, the message that was changed.",
  }),
  user_id: idOrNull,
};
const message = data({ ...chat, content: Type.Object({}, { additionalProperties: true }) });

const question = { room_id: id, question_id: id };
const poll = { room_id: id, poll_id: id };
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
  "session.created": session.created,
  "session.updated": session.updated,
  "session.deleted": session.deleted,
  "speaker.created": speaker.created,
  "speaker.updated": speaker.updated,
  "speaker.deleted": speaker.deleted,
  "chat.message": message,
  "chat.edited": message,
  "chat.deleted": data(chat),
  "chat.joined": data(chat),
  "chat.left": data(chat),
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
      description: "How many users chose each option, by its id.",
    }),
  }),
};

/** `room.updated` as `RoomUpdated`, and `room_id` as `RoomId`. */
export const pascalCase = (type: string): string =>
  type.replace(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The data of each type, named as `RoomUpdatedData`. */
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
