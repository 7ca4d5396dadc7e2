import { Type } from "@sinclair/typebox";
import { ListedPoll, Summary } from "./live/polls.js";
import { ListedQuestion } from "./live/questions.js";
import { PageOf } from "./values.js";

const item = {
  content: "When is lunch?",
  timestamp: "2027-03-01T09:00:00.000Z",
  room_id: "5f8b1c9e-3a52-4d0e-9f57-1f0a6a3f9f11",
  is_pinned: false,
};

/** A question in a room's list. */
export const Question = Type.Object(ListedQuestion.properties, {
  $id: "Question",
  description: "A question to the speakers in a room.",
});

/** A page of a room's questions. */
export const QuestionList = PageOf(Question, {
  $id: "QuestionList",
  description: "A page of the questions of a room, oldest first: at most the last 1,000.",
  example: {
    id: "3d7a1f9e-58c0-4f0a-9f0f-61f3b2c1d0aa",
    ...item,
    state: "visible",
    answered: false,
    score: 3,
    voted: false,
  },
});

/** A poll in a room's list. */
export const Poll = Type.Object(
  {
    ...ListedPoll.properties,
    results: Type.Optional(
      Type.Record(Type.String(), Type.Integer({ minimum: 0 }), {
        description:
          "The votes by option id; empty for kinds with a summary. Omitted for users who may not see them.",
      }),
    ),
    summary: Type.Optional(Summary),
  },
  { $id: "Poll", description: "A poll in a room." },
);

/** A page of a room's polls. */
export const PollList = PageOf(Poll, {
  $id: "PollList",
  description:
    "A page of the polls of a room, oldest first: at most the last 1,000. Callers with `poll.results` receive all results; others receive the results of closed polls.",
  example: {
    id: "3d7a1f9e-58c0-4f0a-9f0f-61f3b2c1d0ab",
    ...item,
    state: "open",
    options: [{ id: "3d7a1f9e-58c0-4f0a-9f0f-61f3b2c1d0ac", content: "At 12", order: 1 }],
    results: { "3d7a1f9e-58c0-4f0a-9f0f-61f3b2c1d0ac": 12 },
  },
});
