import { type Static, Type } from "@sinclair/typebox";
import { MAX_OPTIONS } from "../plain/limits.js";
import { uuid, visible } from "../plain/texts.js";
import { List, OneOf, Text } from "../values.js";
import { onRoom } from "./errors.js";
import { command, Empty, Id, Payload, RoomName, roomName, some, Whole } from "./values.js";

const State = OneOf("draft", "open", "closed", "archived");
const PollType = OneOf("choice", "multi");

const fields = {
  id: Text({ format: "uuid" }),
  content: Type.String(),
  state: State,
  timestamp: Text({ format: "date-time" }),
  room_id: Text({ format: "uuid" }),
  /** Only clients that logged in with `changes: true` get it. */
  poll_type: Type.Optional(PollType),
  is_pinned: Type.Boolean({ description: "At most one of a room is." }),
  options: Type.Array(
    Type.Object(
      { id: Text({ format: "uuid" }), content: Type.String(), order: Type.Integer() },
      { additionalProperties: false },
    ),
    { description: "By order." },
  ),
  results: Type.Optional(
    Type.Unsafe<Record<string, number> | never[]>(
      Type.Union(
        [
          Type.Record(Type.String(), Type.Integer({ minimum: 0 })),
          Type.Array(Type.Never(), { maxItems: 0 }),
        ],
        {
          description:
            "The votes by the id of the option; an empty list without options. Left out for users who may not see them.",
        },
      ),
    ),
  ),
};

/** A poll in a room. */
export const SentPoll = Type.Object(fields, { additionalProperties: false });
export type SentPoll = Static<typeof SentPoll>;

/** A poll in a list. */
export const ListedPoll = Type.Object(
  {
    ...fields,
    answers: Type.Optional(
      Type.Array(Type.String(), { description: "The ids of the options that the caller chose." }),
    ),
  },
  { additionalProperties: false },
);
export type ListedPoll = Static<typeof ListedPoll>;

const content = Text(visible);
const order = Type.Optional(Whole({ minimum: -(2 ** 31), maximum: 2 ** 31 - 1 }));

const Result = Type.Object({ poll: SentPoll }, { additionalProperties: false });

export const pollCommands = {
  "poll.create": command({
    summary: "Creates a poll",
    payload: Payload({
      ...roomName,
      content,
      options: Type.Optional(List(Payload({ content, order }), MAX_OPTIONS)),
      state: Type.Optional(State),
      poll_type: Type.Optional(PollType),
    }),
    result: Result,
    errors: [...onRoom, "poll.inactive"],
    example: {
      ...some.room,
      content: "Tea or coffee?",
      options: [
        { content: "Tea", order: 1 },
        { content: "Coffee", order: 2 },
      ],
    },
  }),
  "poll.update": command({
    summary: "Changes a poll, or opens or closes it",
    payload: Payload({
      ...roomName,
      id: Id,
      content: Type.Optional(content),
      state: Type.Optional(State),
      options: Type.Optional(
        List(
          Payload({
            id: Type.Optional(
              Type.Unknown({ description: "The id of an option; null or none for a new one." }),
            ),
            content: Type.Optional(content),
            order,
          }),
          MAX_OPTIONS,
          {
            description:
              "All options from now on; those that are missing are deleted with their votes. An empty list changes none.",
          },
        ),
      ),
      is_pinned: Type.Optional(Type.Boolean()),
      poll_type: Type.Optional(PollType),
    }),
    result: Result,
    errors: [...onRoom, "poll.inactive", "poll.unknown"],
    example: { ...some.room, id: some.poll, state: "open" },
  }),
  "poll.delete": command({
    summary: "Deletes a poll and its votes",
    payload: Payload({ ...roomName, id: Id }),
    result: Type.Object(
      { poll: Type.String({ description: "Its id." }) },
      { additionalProperties: false },
    ),
    errors: [...onRoom, "poll.inactive", "poll.unknown"],
    example: { ...some.room, id: some.poll },
  }),
  "poll.vote": command({
    summary: "Votes in an open poll instead of an earlier vote",
    payload: Payload({
      ...roomName,
      id: Id,
      options: List(Text(uuid), 1000, {
        description:
          "The ids of options; ids of other options are skipped. Only an empty list withdraws the vote.",
      }),
    }),
    result: Result,
    errors: [...onRoom, "poll.inactive", "poll.unknown", "poll.vote"],
    example: { ...some.room, id: some.poll, options: [some.option] },
  }),
  "poll.list": command({
    summary: "The newest polls: open and closed ones, or all for managers",
    payload: RoomName,
    result: Type.Array(ListedPoll, {
      description:
        "The oldest first; at most 1,000, with 1 MiB of text, where each poll and option counts 100 characters more.",
    }),
    errors: [...onRoom, "poll.inactive"],
    example: some.room,
  }),
  "poll.pin": command({
    summary: "Pins a poll instead of another one",
    payload: Payload({ ...roomName, id: Id }),
    result: Type.Object({ id: Type.String() }, { additionalProperties: false }),
    errors: [...onRoom, "poll.unknown"],
    example: { ...some.room, id: some.poll },
  }),
  "poll.unpin": command({
    summary: "Pins no poll any more",
    payload: RoomName,
    result: Empty,
    errors: onRoom,
    example: some.room,
  }),
} as const;

const room = Text({ format: "uuid" });
const ofPoll = Type.Object({ room, id: Type.String() }, { additionalProperties: false });

export const pollPushes = {
  "poll.created_or_updated": {
    summary: "There is a new poll, or one changed, or its results did",
    data: Result,
  },
  "poll.deleted": { summary: "A poll was deleted", data: ofPoll },
  "poll.pinned": { summary: "This poll is pinned now, and no other of the room", data: ofPoll },
  "poll.unpinned": {
    summary: "No poll of the room is pinned",
    data: Type.Object({ room }, { additionalProperties: false }),
  },
} as const;
