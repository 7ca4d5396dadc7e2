import { type Static, Type } from "@sinclair/typebox";
import { visible } from "../plain/texts.js";
import { OneOf, Text } from "../values.js";
import { onRoom } from "./errors.js";
import { command, Empty, Id, Payload, RoomName, roomName, some } from "./values.js";

const State = OneOf("mod_queue", "visible", "archived");

const fields = {
  id: Text({ format: "uuid" }),
  content: Type.String(),
  state: State,
  answered: Type.Boolean(),
  timestamp: Text({ format: "date-time" }),
  room_id: Text({ format: "uuid" }),
  score: Type.Integer({ minimum: 0, description: "How many users vote for it." }),
  is_pinned: Type.Boolean({ description: "At most one per room is pinned." }),
  sender: Type.Optional(
    Text({
      format: "uuid",
      description:
        "The user who asked, if the room had `show_authors: true` at that time. Otherwise omitted.",
    }),
  ),
};

/** A question to a room's speakers. */
export const SentQuestion = Type.Object(fields, { additionalProperties: false });
export type SentQuestion = Static<typeof SentQuestion>;

/** A question in a list. */
export const ListedQuestion = Type.Object(
  { ...fields, voted: Type.Boolean({ description: "Whether the caller votes for it." }) },
  { additionalProperties: false },
);
export type ListedQuestion = Static<typeof ListedQuestion>;

const content = Text(visible);

const Result = Type.Object({ question: SentQuestion }, { additionalProperties: false });

export const questionCommands = {
  "question.ask": command({
    summary: "Asks a question, which may need a moderator's approval",
    payload: Payload({
      ...roomName,
      content,
      named: Type.Optional(
        Type.Boolean({
          description:
            "Whether the user was informed that the question will show their name. If false, it never shows a name.",
        }),
      ),
    }),
    result: Result,
    errors: [...onRoom, "question.inactive", "question.named", "chat.blocked_word"],
    example: { ...some.room, content: "When is lunch?" },
  }),
  "question.update": command({
    summary: "Edits, approves or archives a question",
    payload: Payload({
      ...roomName,
      id: Id,
      content: Type.Optional(content),
      state: Type.Optional(State),
      answered: Type.Optional(Type.Boolean()),
      is_pinned: Type.Optional(Type.Boolean()),
    }),
    result: Result,
    errors: [...onRoom, "question.inactive", "question.unknown"],
    example: { ...some.room, id: some.question, state: "visible" },
  }),
  "question.delete": command({
    summary: "Deletes a question and its votes",
    payload: Payload({ ...roomName, id: Id }),
    result: Type.Object(
      { question: Type.String({ description: "Its id." }) },
      { additionalProperties: false },
    ),
    errors: [...onRoom, "question.inactive", "question.unknown"],
    example: { ...some.room, id: some.question },
  }),
  "question.vote": command({
    summary: "Votes for a question, or withdraws the vote",
    payload: Payload({
      ...roomName,
      id: Id,
      vote: Type.Optional(
        Type.Unknown({
          description: "True, the default, adds the vote; anything else removes it.",
        }),
      ),
    }),
    result: Result,
    errors: [...onRoom, "question.inactive", "question.unknown"],
    example: { ...some.room, id: some.question, vote: true },
  }),
  "question.list": command({
    summary: "The newest questions: the visible ones and the caller's own, or all for moderators",
    payload: RoomName,
    result: Type.Array(ListedQuestion, {
      description: "Oldest first; at most 1,000, with 1 MiB of text.",
    }),
    errors: onRoom,
    example: some.room,
  }),
  "question.pin": command({
    summary: "Pins a question, and unpins any other",
    payload: Payload({ ...roomName, id: Id }),
    result: Type.Object({ id: Type.String() }, { additionalProperties: false }),
    errors: [...onRoom, "question.unknown"],
    example: { ...some.room, id: some.question },
  }),
  "question.unpin": command({
    summary: "Unpins the pinned question",
    payload: RoomName,
    result: Empty,
    errors: onRoom,
    example: some.room,
  }),
} as const;

const room = Text({ format: "uuid" });
const ofQuestion = Type.Object({ room, id: Type.String() }, { additionalProperties: false });

export const questionPushes = {
  "question.created_or_updated": {
    summary: "A question was created, or a question or its votes changed",
    data: Result,
  },
  "question.deleted": { summary: "A question was deleted", data: ofQuestion },
  "question.pinned": {
    summary: "This question is now the room's pinned question",
    data: ofQuestion,
  },
  "question.unpinned": {
    summary: "The room has no pinned question",
    data: Type.Object({ room }, { additionalProperties: false }),
  },
} as const;
