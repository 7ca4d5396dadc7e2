import t from "tap";
import type { ListedQuestion } from "../../client/index.js";
import { until } from "../helper.js";
import { hurry, nextOf, question, sent, startRoom } from "./fake-room.js";
import { HALL } from "./fake-server.js";

// How pushes and answers change a list of questions.

const first = question(1);
const second = question(2, { score: 3, voted: true });
const queued = question(3, { state: "mod_queue" });
const pinned = question(4, { is_pinned: true });

const saved = (item: ListedQuestion): [string, object] => [
  "question.created_or_updated",
  { question: sent(item) },
];
const named = (name: string, { id }: { id: string }): [string, object] => [
  `question.${name}`,
  { room: HALL, id },
];

void t.test("what the server does not tell is asked for", async (t) => {
  hurry(t);
  const voted = { ...first, score: 1, voted: true };
  const cases: [
    name: string,
    before: ListedQuestion[],
    push: [string, object],
    now: ListedQuestion[],
  ][] = [
    ["a vote on another connection", [first], saved(voted), [voted]],
    ["one that comes with votes", [], saved(voted), [voted]],
    [
      "an own one of another connection",
      [first],
      saved({ ...first, state: "archived" }),
      [{ ...first, state: "archived" }],
    ],
    [
      "a pin of one that was not listed",
      [second],
      named("pinned", pinned),
      [second, pinned],
    ],
  ];
  for (const [name, before, push, now] of cases) {
    const { room, live } = await startRoom(t);
    room.questions = before;
    const questions = live.questions(HALL);
    const lists = questions[Symbol.asyncIterator]();
    await nextOf(lists);
    room.questions = now;
    room.push(...push);
    await until(
      () => JSON.stringify(questions.current) === JSON.stringify(now),
    );
    t.equal(room.count("room.enter"), 1, name);
    live.close();
  }
});

void t.test("an answer that counts more votes is doubted, too", async (t) => {
  hurry(t);
  const { room, live } = await startRoom(t);
  room.questions = [first];
  const questions = live.questions(HALL);
  await nextOf(questions[Symbol.asyncIterator]());
  // A vote whose outcome was unknown, or on another connection.
  const voted = { ...first, score: 1, voted: true };
  room.questions = [voted];
  room.answers["question.update"] = () => ({ question: sent(voted) });
  await questions.update(first.id, { answered: false });
  await until(() => questions.current?.[0]?.voted === true);
  t.same(questions.current, [voted]);
  live.close();
});

void t.test("doubts do not flood the server", async (t) => {
  t.intercept(Math, "random", { value: () => 1 });
  const { room, live } = await startRoom(t);
  room.questions = [first];
  const lists = live.questions(HALL)[Symbol.asyncIterator]();
  await nextOf(lists);
  for (let score = 1; score <= 100; score++) room.save({ ...first, score });
  while ((await nextOf(lists))[0]!.score < 100);
  t.equal(room.count("question.list"), 1);
});

void t.test("commands", async (t) => {
  const { room, live } = await startRoom(t);
  room.questions = [first];
  const questions = live.questions(HALL);
  t.equal(live.questions(HALL), questions);
  t.equal(questions.room, HALL);
  const answer = (name: string, item: ListedQuestion) => {
    room.answers[name] = () => ({ question: sent(item) });
  };
  const steps: [
    command: () => Promise<unknown>,
    sent: [string, object],
    answer: ListedQuestion | undefined,
    list: ListedQuestion[],
  ][] = [
    [
      () => questions.ask("Question 3?"),
      ["question.ask", { content: "Question 3?" }],
      queued,
      [first, queued],
    ],
    [
      () => questions.vote(first.id),
      ["question.vote", { id: first.id, vote: true }],
      { ...first, score: 1 },
      [{ ...first, score: 1, voted: true }, queued],
    ],
    [
      () => live.call("question.vote", { room: HALL, id: queued.id }),
      ["question.vote", { id: queued.id }],
      { ...queued, score: 1 },
      [
        { ...first, score: 1, voted: true },
        { ...queued, score: 1, voted: true },
      ],
    ],
    [
      () => questions.vote(first.id, false),
      ["question.vote", { id: first.id, vote: false }],
      first,
      [first, { ...queued, score: 1, voted: true }],
    ],
    [
      () => questions.update(queued.id, { state: "visible", content: "B?" }),
      ["question.update", { id: queued.id, state: "visible", content: "B?" }],
      { ...queued, score: 1, state: "visible", content: "B?" },
      [
        first,
        { ...queued, score: 1, voted: true, state: "visible", content: "B?" },
      ],
    ],
    [
      () => questions.delete(queued.id),
      ["question.delete", { id: queued.id }],
      undefined,
      [first],
    ],
    [
      () => questions.pin(first.id),
      ["question.pin", { id: first.id }],
      undefined,
      [{ ...first, is_pinned: true }],
    ],
    [
      () => questions.unpin(),
      ["question.unpin", {}],
      undefined,
      [first],
    ],
  ]; // prettier-ignore
  const lists = questions[Symbol.asyncIterator]();
  await nextOf(lists);
  for (const [command, [name, payload], question, list] of steps) {
    if (question) answer(name, question);
    const result = await command();
    t.same(room.commands.at(-1), [name, { room: HALL, ...payload }]);
    t.same(questions.current, list, name);
    t.same(await nextOf(lists), list, name);
    const isCall = name === "question.vote" && !("vote" in payload);
    if (question && !isCall) t.same(result, sent(question));
  }
  await lists.return!();
  t.equal(questions.current, undefined, "there is no iteration");
  answer("question.ask", queued);
  t.same(await questions.ask("Without a list?"), sent(queued));
});

void t.test("a long list", async (t) => {
  const { room, live } = await startRoom(t);
  room.questions = Array.from({ length: 1000 }, (_, i) => question(i));
  room.questions[0]!.is_pinned = true;
  const lists = live.questions(HALL)[Symbol.asyncIterator]();
  t.equal((await nextOf(lists)).length, 1000);
  room.save(question(2000));
  const list = await nextOf(lists);
  t.equal(list.length, 1000);
  t.same(
    [list[0], list[1], list.at(-1)].map((it) => it?.id),
    ["question-0", "question-2", "question-2000"],
    "a pinned one stays",
  );
});
