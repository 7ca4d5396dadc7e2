import t from "tap";
import type { ListedPoll } from "../../client/index.js";
import { until } from "../helper.js";
import { hurry, nextOf, poll, sent, startRoom } from "./fake-room.js";
import { HALL, rejection } from "./fake-server.js";

// How pushes and answers change a list of polls.

const MANAGER = ["room:poll.manage", "room:poll.early_results"];
const plain = poll(1);
const voted = poll(2, { results: { a: 1, b: 0 }, answers: ["a"] });
const closed = poll(3, { state: "closed", results: { a: 0, b: 0 } });
const draft = poll(4, { state: "draft", results: { a: 0, b: 0 } });

const saved = (item: ListedPoll): [string, object] => [
  "poll.created_or_updated",
  { poll: sent(item) },
];
const named = (name: string, { id }: { id: string }): [string, object] => [
  `poll.${name}`,
  { room: HALL, id },
];

void t.test("pushes", async (t) => {
  const cases: [
    name: string,
    permissions: string[],
    before: ListedPoll[],
    push: [string, object],
    after: ListedPoll[],
  ][] = [
    ["a new one", [], [voted], saved(plain), [plain, voted]],
    [
      "the answers stay",
      [],
      [plain, voted],
      saved({ ...voted, results: { a: 1, b: 1 } }),
      [plain, { ...voted, results: { a: 1, b: 1 } }],
    ],
    [
      "the answers stay when it closes",
      [],
      [voted],
      saved({ ...voted, state: "closed" }),
      [{ ...voted, state: "closed" }],
    ],
    [
      "results come when it closes",
      [],
      [plain],
      saved({ ...plain, state: "closed", results: { a: 1, b: 2 } }),
      [{ ...plain, state: "closed", results: { a: 1, b: 2 } }],
    ],
    [
      "results go when it opens again",
      [],
      [closed],
      saved(sentWithout(closed)),
      [sentWithout(closed)],
    ],
    [
      "an option that is gone was not chosen",
      [],
      [{ ...voted, state: "closed" }],
      saved({
        ...voted,
        state: "closed",
        options: voted.options.slice(1),
        results: { b: 0 },
      }),
      [
        {
          ...sent(voted),
          state: "closed",
          options: voted.options.slice(1),
          results: { b: 0 },
        },
      ],
    ],
    [
      "one that becomes a draft goes",
      [],
      [plain, voted],
      saved({ ...plain, state: "draft" }),
      [voted],
    ],
    [
      "an archived one goes",
      [],
      [plain, closed],
      saved({ ...closed, state: "archived" }),
      [plain],
    ],
    [
      "for managers, drafts come",
      MANAGER,
      [closed],
      saved(draft),
      [closed, draft],
    ],
    [
      "for managers, an archived one stays",
      MANAGER,
      [closed],
      saved({ ...closed, state: "archived" }),
      [{ ...closed, state: "archived" }],
    ],
    ["a deleted one", [], [plain, voted], named("deleted", plain), [voted]],
    [
      "a pin ends others",
      [],
      [plain, { ...closed, is_pinned: true }],
      named("pinned", plain),
      [{ ...plain, is_pinned: true }, closed],
    ],
    [
      "no pin any more",
      [],
      [{ ...plain, is_pinned: true }],
      ["poll.unpinned", { room: HALL }],
      [plain],
    ],
  ]; // prettier-ignore
  for (const [name, permissions, before, push, after] of cases) {
    const { room, live } = await startRoom(t, permissions);
    room.polls = before;
    const lists = live.polls(HALL)[Symbol.asyncIterator]();
    t.same(await nextOf(lists), before, name);
    room.push(...push);
    t.same(await nextOf(lists), after, name);
    room.push(...push);
    room.push("poll.of_tomorrow", { room: HALL });
    room.push(...saved(poll(59)));
    t.same(await nextOf(lists), [...after, poll(59)], name);
    live.close();
  }
});

function sentWithout(item: ListedPoll): ListedPoll {
  const open: ListedPoll = { ...sent(item), state: "open" };
  delete open.results;
  return open;
}

void t.test("what the server does not tell is asked for", async (t) => {
  hurry(t);
  const withdrawn = sentWithout(voted);
  const cases: [
    name: string,
    permissions: string[],
    before: ListedPoll[],
    push: [string, object],
    now: ListedPoll[],
  ][] = [
    ["a vote on another connection", [], [withdrawn], saved(voted), [voted]],
    [
      "another vote there",
      [],
      [voted],
      saved({ ...voted, results: { a: 0, b: 1 } }),
      [{ ...voted, results: { a: 0, b: 1 }, answers: ["b"] }],
    ],
    [
      "a withdrawn vote there",
      [],
      [voted],
      saved(withdrawn),
      [withdrawn],
    ],
    [
      "a manager's vote there",
      MANAGER,
      [{ ...voted, answers: ["b"] }],
      saved({ ...voted, results: { a: 2, b: 0 } }),
      [{ ...voted, results: { a: 2, b: 0 } }],
    ],
    [
      "one that was hidden",
      [],
      [],
      saved({ ...voted, state: "closed" }),
      [{ ...voted, state: "closed" }],
    ],
    [
      "a pin of one that was not listed",
      [],
      [],
      named("pinned", plain),
      [{ ...plain, is_pinned: true }],
    ],
  ]; // prettier-ignore
  for (const [name, permissions, before, push, now] of cases) {
    const { room, live } = await startRoom(t, permissions);
    room.polls = before;
    const polls = live.polls(HALL);
    await nextOf(polls[Symbol.asyncIterator]());
    room.polls = now;
    room.push(...push);
    await until(() => JSON.stringify(polls.current) === JSON.stringify(now));
    t.equal(room.count("room.enter"), 1, name);
    live.close();
  }
});

void t.test("commands", async (t) => {
  const { room, live } = await startRoom(t, MANAGER);
  room.polls = [closed];
  const polls = live.polls(HALL);
  t.equal(live.polls(HALL), polls);
  const opened = { ...draft, state: "open" as const };
  const chosen = { ...opened, results: { a: 0, b: 1 }, answers: ["b"] };
  const archived = { ...opened, state: "archived" as const };
  const options = ["a", "b"].map((content) => ({ content }));
  const { id } = draft;
  const steps: [
    command: () => Promise<unknown>,
    sent: [string, object],
    answer: ListedPoll | undefined,
    list: ListedPoll[],
  ][] = [
    [
      () => polls.create({ content: "Poll 4?", options }),
      ["poll.create", { content: "Poll 4?", options }],
      draft,
      [closed, draft],
    ],
    [
      () => polls.open(id),
      ["poll.update", { id, state: "open" }],
      opened,
      [closed, opened],
    ],
    [
      () => polls.vote(id, "b"),
      ["poll.vote", { id, options: ["b"] }],
      chosen,
      [closed, chosen],
    ],
    [
      () => polls.vote(id, ["unknown", "b", "a", "b"]),
      ["poll.vote", { id, options: ["unknown", "b", "a", "b"] }],
      { ...opened, results: { a: 1, b: 1 } },
      [closed, { ...opened, results: { a: 1, b: 1 }, answers: ["a", "b"] }],
    ],
    [
      () => polls.withdraw(id),
      ["poll.vote", { id, options: [] }],
      opened,
      [closed, opened],
    ],
    [
      () => polls.update(id, { is_pinned: true }),
      ["poll.update", { id, is_pinned: true }],
      { ...opened, is_pinned: true },
      [closed, { ...opened, is_pinned: true }],
    ],
    [() => polls.unpin(), ["poll.unpin", {}], undefined, [closed, opened]],
    [
      () => polls.pin(id),
      ["poll.pin", { id }],
      undefined,
      [closed, { ...opened, is_pinned: true }],
    ],
    [
      () => polls.close(id),
      ["poll.update", { id, state: "closed" }],
      { ...opened, state: "closed" },
      [closed, { ...opened, state: "closed" }],
    ],
    [
      () => polls.archive(id),
      ["poll.update", { id, state: "archived" }],
      archived,
      [closed, archived],
    ],
    [() => polls.delete(id), ["poll.delete", { id }], undefined, [closed]],
  ]; // prettier-ignore
  const lists = polls[Symbol.asyncIterator]();
  await nextOf(lists);
  for (const [command, [name, payload], answer, list] of steps) {
    const poll = answer && sent(answer);
    room.answers[name] = () => (poll ? { poll } : {});
    const result = await command();
    t.same(room.commands.at(-1), [name, { room: HALL, ...payload }]);
    t.same(await nextOf(lists), list, name);
    if (poll) t.same(result, poll);
  }
});

void t.test("new options are added once", async (t) => {
  for (const code of ["client.disconnected", "server.doubtful"]) {
    const { room, live } = await startRoom(t, MANAGER);
    room.intercept = (peer, name, id) => {
      const isFirst = name === "poll.update" && room.count(name) === 1;
      if (isFirst && code === "client.disconnected") peer.drop();
      else if (isFirst) peer.send(["error", id, { code }]);
      return isFirst;
    };
    const options = [{ id: "a" }, { content: "c" }];
    const update = live.polls(HALL).update(plain.id, { options });
    t.match(await rejection(update), {
      code,
      message: /^poll\.update may have been executed: /,
      cause: { code },
    });
    t.equal(room.count("poll.update"), 1);
  }
});
