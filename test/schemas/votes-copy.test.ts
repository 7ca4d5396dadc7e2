import t from "tap";
import { readWorldDocument } from "../../schemas/documents/world-document.js";
import { ada, bob, documentOf, faultsOf, id } from "./refusals.js";
import { refuses, timestamp } from "./refusals.js";

const [room, other, nobody] = [id(3), id(4), id(9)];
const [red, blue, gone] = [id(21), id(22), id(23)];

const question = {
  ...{ id: id(11), room, content: "Why?", state: "visible", timestamp },
};
const asked = {
  ...{ ...question, id: id(12), sender: ada, moderator: bob, answered: true },
  ...{ is_pinned: true, votes: [ada, bob, null, null] },
};
const poll = {
  ...{ id: id(15), room, content: "Which?", state: "closed", timestamp },
  poll_type: "choice",
  options: [
    { id: red, content: "red", order: -1 },
    { id: blue, content: "blue", order: 2 ** 31 - 1 },
  ],
  ballots: [
    { user: ada, options: [red] },
    // The type of the poll has changed since.
    { user: bob, options: [blue, red] },
    { options: [red] },
    { options: [red] },
  ],
};
const frozen = { [red]: 4, [gone]: 7 };

const documentWith = (parts: object) => documentOf([room, other], parts);

void t.test("questions and polls are read", async (t) => {
  const parts = {
    questions: [question, asked],
    polls: [
      { ...poll, is_pinned: true, results: frozen },
      { ...poll, id: id(16), room: other, options: [], ballots: undefined },
    ],
  };
  const { questions, polls } = readWorldDocument(documentWith(parts));
  t.strictSame(
    { questions, polls: JSON.parse(JSON.stringify(polls)) as unknown },
    JSON.parse(JSON.stringify(parts)),
  );
  const pinned = { ...question, is_pinned: true };
  for (const good of [
    { questions: [], polls: [] },
    { questions: [pinned, { ...pinned, id: id(12), room: other }] },
    { questions: [{ ...question, content: "👏".repeat(2 ** 20) }] },
    { questions: [question], users: undefined },
    { polls: [{ ...poll, state: "archived", results: {} }] },
  ]) {
    t.doesNotThrow(() => readWorldDocument(documentWith(good)));
  }
});

const unknownUser = ["Must be the id of a user of this document."];
const unknownRoom = ["Must be the id of a room of this document."];
const unknownOption = ["Must be the id of an option of the poll."];
const onlyOnce = ["May occur only once."];
const pinnedTwice = ["May be true of only one in a room."];
const notFrozen = ["Only a closed or archived poll may have it."];
const noIds = ["The names in it must be ids of options."];

type Case = [name: string, entries: unknown, faults: object];

const questionCases: Case[] = [
  ["no list", {}, { questions: ["Must be a list."] }],
  ["null", [null], { "questions.0": ["Must be an object."] }],
  [
    "no question",
    [{ ...question, content: undefined, state: "open", score: 1 }],
    {
      "questions.0.content": ["This field is required."],
      "questions.0.state": ["Must be one of mod_queue, visible, archived."],
      "questions.0.score": ["Unknown field."],
    },
  ],
  [
    "an empty text",
    [{ ...question, content: "" }],
    { "questions.0.content": ["May not be empty."] },
  ],
  [
    "a text that is too long",
    [{ ...question, content: "x".repeat(2 ** 20 + 1) }],
    { "questions.0.content": ["Must be at most 1048576 characters."] },
  ],
  [
    "an unknown room",
    [{ ...question, room: nobody }],
    { "questions.0.room": unknownRoom },
  ],
  ["an id twice", [question, question], { "questions.1.id": onlyOnce }],
  [
    "two that are pinned",
    [asked, { ...question, is_pinned: true }],
    { "questions.1.is_pinned": pinnedTwice },
  ],
  ...["sender", "moderator"].map((field): Case => [
    `an unknown ${field}`,
    [{ ...question, [field]: nobody }],
    { [`questions.0.${field}`]: unknownUser },
  ]),
  [
    "a vote of an unknown user",
    [{ ...question, votes: [null, nobody] }],
    { "questions.0.votes.1": unknownUser },
  ],
  [
    "a vote that is no id",
    [{ ...question, votes: [1] }],
    { "questions.0.votes.0": ["Must be a string or null."] },
  ],
  [
    "a user who votes twice",
    [{ ...question, votes: [ada, null, bob, ada] }],
    { "questions.0.votes.3": onlyOnce },
  ],
];

const ballots = (...ballots: object[]) => [{ ...poll, ballots }];

const pollCases: Case[] = [
  ["no list", "", { polls: ["Must be a list."] }],
  [
    "no poll",
    [{ ...poll, poll_type: undefined, state: "visible", changed: 1 }],
    {
      "polls.0.poll_type": ["This field is required."],
      "polls.0.state": ["Must be one of draft, open, closed, archived."],
      "polls.0.changed": ["Unknown field."],
    },
  ],
  [
    "an order that clients cannot send",
    [{ ...poll, options: [{ id: id(20), content: "x", order: 2 ** 31 }] }],
    {
      "polls.0.options.0.order": ["Must be at most 2147483647."],
    },
  ],
  [
    "an unknown room",
    [{ ...poll, room: nobody }],
    { "polls.0.room": unknownRoom },
  ],
  [
    "an id twice",
    [poll, { ...poll, options: [], ballots: [] }],
    { "polls.1.id": onlyOnce },
  ],
  [
    "two that are pinned",
    [14, 15].map((n) => ({
      ...{ ...poll, id: id(n), is_pinned: true, options: [], ballots: [] },
    })),
    { "polls.1.is_pinned": pinnedTwice },
  ],
  [
    "an option twice",
    [{ ...poll, options: [...poll.options, poll.options[0]] }],
    { "polls.0.options.2.id": onlyOnce },
  ],
  [
    "an option of two polls",
    [poll, { ...poll, id: id(16) }],
    { "polls.1.options.0.id": onlyOnce },
  ],
  [
    "too many options",
    [
      {
        ...poll,
        options: Array.from({ length: 101 }, (_, i) => ({
          ...{ id: id(100 + i), content: "x", order: i },
        })),
      },
    ],
    { "polls.0.options": ["May hold at most 100 entries."] },
  ],
  [
    "results of an open poll",
    [{ ...poll, state: "open", results: frozen }],
    { "polls.0.results": notFrozen },
  ],
  [
    "results of a draft",
    [{ ...poll, state: "draft", results: {} }],
    { "polls.0.results": notFrozen },
  ],
  [
    "a list as results",
    [{ ...poll, results: [] }],
    { "polls.0.results": ["Must be an object."] },
  ],
  [
    "negative and broken results",
    [{ ...poll, results: { [red]: -1, [blue]: 0.5 } }],
    {
      [`polls.0.results.${red}`]: ["Must be at least 0."],
      [`polls.0.results.${blue}`]: ["Must be a whole number."],
    },
  ],
  [
    "results of no options",
    [{ ...poll, results: { red: 1 } }],
    { "polls.0.results": noIds },
  ],
  [
    "too many results",
    [
      {
        ...poll,
        results: Object.fromEntries(
          Array.from({ length: 101 }, (_, i) => [id(100 + i), 1]),
        ),
      },
    ],
    { "polls.0.results": ["May hold at most 100 entries."] },
  ],
  [
    "a ballot of an unknown user",
    ballots({ options: [red] }, { user: nobody, options: [red] }),
    { "polls.0.ballots.1.user": unknownUser },
  ],
  [
    "two ballots of a user",
    ballots({ user: ada, options: [red] }, { user: ada, options: [blue] }),
    { "polls.0.ballots.1.user": onlyOnce },
  ],
  [
    "an empty ballot",
    ballots({ user: ada, options: [] }),
    { "polls.0.ballots.0.options": ["May not be empty."] },
  ],
  [
    "a ballot for another option",
    ballots({ options: [red, gone] }),
    { "polls.0.ballots.0.options.1": unknownOption },
  ],
  [
    "a ballot with an option twice",
    ballots({ options: [red, red] }),
    { "polls.0.ballots.0.options": ["May name each option only once."] },
  ],
];

for (const [part, cases] of Object.entries({
  questions: questionCases,
  polls: pollCases,
})) {
  void t.test(`${part} that contradict themselves are refused`, async (t) => {
    refuses(
      t,
      cases.map(([name, entries, faults]) => [
        name,
        documentWith({ [part]: entries }),
        faults,
      ]),
    );
  });
}

void t.test("of many faults, the first are named", async (t) => {
  const questions = Array.from({ length: 1000 }, () => ({}));
  const polls = ballots(
    ...questions.map(() => ({ user: nobody, options: [red] })),
  );
  const faults = faultsOf(documentWith({ questions, polls }));
  t.equal(Object.keys(faults).length, 20);
});
