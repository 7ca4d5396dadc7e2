import t from "tap";
import type { ListedPoll } from "../../client/index.js";
import { nextOf, poll, sent, startRoom } from "./fake-room.js";
import { HALL, rejection } from "./fake-server.js";

// How pushes and answers change a list of polls.

const MANAGER = ["room:poll.manage", "room:poll.early_results"];
const plain = poll(1);
const closed = poll(3, { state: "closed", results: { a: 0, b: 0 } });
const draft = poll(4, { state: "draft", results: { a: 0, b: 0 } });

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
