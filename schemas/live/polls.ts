import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { MAX_OPTIONS } from "../plain/limits.js";
import {
  MAX_LABEL,
  POLL_KINDS,
  type PollResults,
  type PollSummary,
  type SentSettings,
} from "../plain/polls.js";
import { Expected, uuid, visible } from "../plain/texts.js";
import { List, OneOf, Text } from "../values.js";
import { onRoom } from "./errors.js";
import { PublicUser } from "./users.js";
import { command, Empty, Id, Payload, RoomName, roomName, some, Whole } from "./values.js";

// The client's types name them.
export type {
  CountedWord,
  PollResults,
  PollSettings,
  PollSummary,
  PollType,
  RankResults,
  ScaleResults,
  SentSettings,
  TextResults,
  WordResults,
  WrittenAnswer,
} from "../plain/polls.js";

const State = OneOf("draft", "open", "closed", "archived");
const PollType = OneOf(...POLL_KINDS);

const Count = Type.Integer({ minimum: 0 });
const people = Type.Integer({ minimum: 0, description: "The number of participants." });
const more = Type.Optional(Type.Boolean({ description: "Whether there are others." }));
const hidden = Type.Optional(
  Type.Boolean({ description: "Whether a manager hid it; sent to managers only." }),
);

/** The results of words, texts, scales and rankings. */
export const Summary = Type.Unsafe<PollSummary>(
  Type.Union(
    [
      Type.Object(
        {
          people,
          words: Type.Array(
            Type.Object(
              { text: Type.String(), count: Count, hidden },
              { additionalProperties: false },
            ),
            { description: "The 100 most frequent words, compared ignoring case and accents." },
          ),
          more,
        },
        { additionalProperties: false },
      ),
      Type.Object(
        {
          people,
          answers: Type.Array(
            Type.Object(
              {
                id: Text({ format: "uuid" }),
                text: Type.String(),
                user: Type.Optional(
                  Type.String({
                    description: "The author; sent to managers only, unless polls are anonymous.",
                  }),
                ),
                at: Text({ format: "date-time" }),
                hidden,
                held: Type.Optional(
                  Type.Boolean({
                    description: "Whether it waits for a manager; sent to managers only.",
                  }),
                ),
              },
              { additionalProperties: false },
            ),
            { description: "The newest 200." },
          ),
          more,
        },
        { additionalProperties: false },
      ),
      Type.Object(
        {
          people,
          counts: Type.Record(Type.String(), Count, { description: "By value." }),
          average: Type.Unsafe<number | null>({ type: ["number", "null"] }),
        },
        { additionalProperties: false },
      ),
      Type.Object(
        {
          people,
          scores: Type.Record(Type.String(), Count, {
            description: "The points by option id.",
          }),
        },
        { additionalProperties: false },
      ),
    ],
    { description: "The results of words, texts, scales and rankings." },
  ),
);

/** The settings of a poll's kind. */
const settings = {
  answers: Type.Optional(
    Type.Integer({ description: "How many words (1 to 5) or texts (1 to 5) a person may send." }),
  ),
  length: Type.Optional(
    Type.Integer({ description: "The most characters of a word (1 to 40) or text (1 to 500)." }),
  ),
  hold: Type.Optional(
    Type.Boolean({ description: "Whether a manager must approve each text before it is shown." }),
  ),
  min: Type.Optional(Type.Integer({ description: "The lowest value of a scale: 0 or 1." })),
  max: Type.Optional(Type.Integer({ description: "The highest value of a scale: 2 to 10." })),
  min_label: Type.Optional(Text({ maxLength: MAX_LABEL })),
  max_label: Type.Optional(Text({ maxLength: MAX_LABEL })),
  seconds: Type.Optional(
    Type.Integer({ description: "How long a quiz stays open: 5 to 300, or null for no limit." }),
  ),
};

const orNull = (schema: TSchema): TSchema =>
  Type.Optional(
    Type.Union([schema, Type.Null()], { [Expected]: "of the setting's type, or null" }),
  );

const Settings = Type.Unsafe<SentSettings>(
  Payload(Object.fromEntries(Object.entries(settings).map(([name, it]) => [name, orNull(it)])), {
    description: "The settings of the kind of poll. Null means the default.",
  }),
);

const fields = {
  id: Text({ format: "uuid" }),
  content: Type.String(),
  state: State,
  timestamp: Text({ format: "date-time" }),
  room_id: Text({ format: "uuid" }),
  /** Sent only to clients that logged in with `changes: true` or with `poll_kinds`. */
  poll_type: Type.Optional(PollType),
  settings: Type.Optional(
    Type.Object(settings, {
      additionalProperties: false,
      description: "Sent to clients that logged in with `poll_kinds`.",
    }),
  ),
  ends_at: Type.Optional(Text({ format: "date-time", description: "When an open quiz ends." })),
  is_pinned: Type.Boolean({ description: "At most one per room is pinned." }),
  options: Type.Array(
    Type.Object(
      {
        id: Text({ format: "uuid" }),
        content: Type.String(),
        order: Type.Integer(),
        correct: Type.Optional(
          Type.Boolean({
            description:
              "Only in a quiz: sent to managers, and to everybody once the poll is closed.",
          }),
        ),
      },
      { additionalProperties: false },
    ),
    { description: "By order." },
  ),
  results: Type.Optional(
    Type.Unsafe<PollResults>(
      Type.Union(
        [Summary, Type.Record(Type.String(), Count), Type.Array(Type.Never(), { maxItems: 0 })],
        {
          description:
            "The votes by option id, an empty list if there are no options, or a summary of words, texts, values or ranks. Omitted for users who may not see them.",
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
      Type.Array(Type.String(), {
        description:
          "The ids of the options that the caller chose, or the caller's words or texts.",
      }),
    ),
    value: Type.Optional(Type.Integer({ description: "The caller's value on the scale." })),
  },
  { additionalProperties: false },
);
export type ListedPoll = Static<typeof ListedPoll>;

const content = Text(visible);
const order = Type.Optional(Whole({ minimum: -(2 ** 31), maximum: 2 ** 31 - 1 }));

const correct = Type.Optional(Type.Boolean({ description: "Only for the options of a quiz." }));

const Result = Type.Object({ poll: SentPoll }, { additionalProperties: false });

export const pollCommands = {
  "poll.create": command({
    summary: "Creates a poll",
    payload: Payload({
      ...roomName,
      content,
      options: Type.Optional(List(Payload({ content, order, correct }), MAX_OPTIONS)),
      state: Type.Optional(State),
      poll_type: Type.Optional(PollType),
      settings: Type.Optional(Settings),
    }),
    result: Result,
    errors: [...onRoom, "poll.inactive", "chat.blocked_word"],
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
            correct,
          }),
          MAX_OPTIONS,
          {
            description:
              "The complete new list of options; missing options are deleted along with their votes. An empty list changes nothing.",
          },
        ),
      ),
      is_pinned: Type.Optional(Type.Boolean()),
      poll_type: Type.Optional(PollType),
      settings: Type.Optional(Settings),
    }),
    result: Result,
    errors: [...onRoom, "poll.inactive", "poll.unknown", "poll.closed", "chat.blocked_word"],
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
    summary: "Votes in an open poll, replacing any earlier vote; in a quiz, only once",
    payload: Payload({
      ...roomName,
      id: Id,
      options: Type.Optional(
        List(Text(uuid), 1000, {
          description:
            "The ids of options, in order for a ranking; choice and multi ignore unknown ids. Only an empty list withdraws the vote.",
        }),
      ),
      value: Type.Optional(
        Type.Unsafe<number | null>(
          Type.Union([Type.Number(), Type.Null()], {
            description: "A value of the scale; null withdraws the vote.",
            [Expected]: "a number or null",
          }),
        ),
      ),
      answers: Type.Optional(
        List(Text(), 1000, {
          description: "The words or texts; an empty list withdraws the vote.",
        }),
      ),
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
        "Oldest first; at most 1,000, with up to 1 MiB of text, where each poll and option counts as 100 additional characters. Their results contain at most 1 MiB of words and texts, with priority for the newest polls.",
    }),
    errors: [...onRoom, "poll.inactive"],
    example: some.room,
  }),
  "poll.pin": command({
    summary: "Pins a poll, and unpins any other",
    payload: Payload({ ...roomName, id: Id }),
    result: Type.Object({ id: Type.String() }, { additionalProperties: false }),
    errors: [...onRoom, "poll.unknown"],
    example: { ...some.room, id: some.poll },
  }),
  "poll.answers.hide": command({
    summary: "Hides a word or a text from results, or shows it",
    payload: Payload({
      ...roomName,
      id: Id,
      answer: Text({ description: "The id of a text, or a word in any spelling." }),
      hidden: Type.Boolean(),
    }),
    result: Empty,
    errors: [...onRoom, "poll.inactive", "poll.unknown"],
    example: { ...some.room, id: some.poll, answer: "coffee", hidden: true },
  }),
  "poll.leaderboard": command({
    summary: "The best players of the room's closed quizzes",
    payload: RoomName,
    result: Type.Object(
      {
        players: Type.Array(
          Type.Object(
            {
              user: Type.Unsafe<Static<typeof PublicUser> | { name: string }>(
                Type.Union([
                  PublicUser,
                  Type.Object(
                    { name: Type.String({ description: "Such as Guest 12." }) },
                    { additionalProperties: false },
                  ),
                ]),
              ),
              points: Type.Integer({ minimum: 0, description: "How many answers were correct." }),
              seconds: Type.Number({ minimum: 0, description: "The total time of these answers." }),
            },
            { additionalProperties: false },
          ),
          { description: "The best 20." },
        ),
        me: Type.Optional(
          Type.Object(
            { place: Type.Integer({ minimum: 1 }), points: Type.Integer({ minimum: 0 }) },
            {
              additionalProperties: false,
              description: "Players with equal results share a rank.",
            },
          ),
        ),
      },
      { additionalProperties: false },
    ),
    errors: [...onRoom, "poll.inactive"],
    example: some.room,
  }),
  "poll.unpin": command({
    summary: "Unpins the pinned poll",
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
    summary: "A poll was created, or a poll or its results changed",
    data: Result,
  },
  "poll.deleted": { summary: "A poll was deleted", data: ofPoll },
  "poll.pinned": { summary: "This poll is now the room's pinned poll", data: ofPoll },
  "poll.unpinned": {
    summary: "The room has no pinned poll",
    data: Type.Object({ room }, { additionalProperties: false }),
  },
} as const;
