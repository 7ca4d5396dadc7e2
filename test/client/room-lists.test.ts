import t from "tap";
import type { Live, LiveError } from "../../client/index.js";
import { until } from "../helper.js";
import {
  type FakeRoom,
  hurry,
  nextOf,
  poll,
  question,
  sent,
  startRoom,
} from "./fake-room.js";
import { HALL, next, rejection } from "./fake-server.js";

// Who keeps a room entered, and what happens to lists and commands when connections break.

const names = (room: FakeRoom) => room.commands.map(([name]) => name);

/** Waits until all that was sent is answered. */
const settle = (live: Live) => live.call("user.list.blocked");

void t.test("a room is entered once and left at the end", async (t) => {
  const { room, live } = await startRoom(t);
  t.equal(live.questions(HALL).current, undefined);
  t.same(names(room), [], "it is unused");
  const questions = live.questions(HALL)[Symbol.asyncIterator]();
  const polls = live.polls(HALL)[Symbol.asyncIterator]();
  const others = live.questions(HALL)[Symbol.asyncIterator]();
  t.same(await nextOf(questions), []);
  t.same(await nextOf(polls), []);
  t.same(await nextOf(others), [], "the present list at once");
  t.same(names(room), ["room.enter", "question.list", "poll.list"]);
  await questions.return!();
  await others.return!();
  await others.return!();
  t.same(await questions.next(), { done: true, value: undefined });
  await settle(live);
  t.equal(room.count("room.leave"), 0, "the polls need it");
  for await (const list of live.questions(HALL)) {
    t.same(list, []);
    break;
  }
  t.equal(room.count("room.enter"), 1);
  await polls.return!();
  await settle(live);
  t.equal(room.count("room.leave"), 1);
  for await (const list of live.polls(HALL)) {
    t.same(list, [], "it starts over");
    break;
  }
  t.equal(room.count("room.enter"), 2);
});

void t.test("the program needs the room too", async (t) => {
  const { room, live, reconnect } = await startRoom(t);
  const payload = { room: HALL };
  const use = () => live.questions(HALL)[Symbol.asyncIterator]();

  await live.call("room.enter", payload);
  let lists = use();
  await nextOf(lists);
  t.equal(room.count("room.enter"), 1);
  await lists.return!();
  await settle(live);
  t.equal(room.count("room.leave"), 0, "the program is there");

  lists = use();
  await nextOf(lists);
  t.same(await live.call("room.leave", payload), {});
  t.equal(room.count("room.leave"), 0, "the list needs it");
  const lost: unknown[] = [];
  live.on("client.room_restored", (data) => lost.push(data));
  await reconnect();
  await settle(live);
  t.same(lost, [], "it is not the program's");
  t.equal(room.count("room.enter"), 2);
  await lists.return!();
  await settle(live);
  t.equal(room.count("room.leave"), 1);

  // All at once, in their order.
  const entered = live.call("room.enter", payload);
  lists = use();
  const left = live.call("room.leave", payload);
  await Promise.all([entered, left, nextOf(lists)]);
  await lists.return!();
  await settle(live);
  t.equal(room.visitors, 0);

  // The program enters while the last list ends.
  lists = use();
  await nextOf(lists);
  const entering = live.call("room.enter", payload);
  await lists.return!();
  await entering;
  await settle(live);
  t.equal(room.visitors, 1);
  await reconnect();
  await settle(live);
  t.equal(room.visitors, 1);

  await live.call("room.leave", payload);
  await settle(live);
  t.equal(room.visitors, 0);

  // It cannot enter while the last list ends.
  lists = use();
  await nextOf(lists);
  room.intercept = (peer, name, id) => {
    if (name !== "room.enter") return false;
    peer.send(["error", id, { code: "protocol.rate_limited" }]);
    return true;
  };
  const refused = rejection(live.call("room.enter", payload));
  await lists.return!();
  t.match(await refused, { code: "protocol.rate_limited" });
  await settle(live);
  t.equal(room.visitors, 0);
});

void t.test("a room that the program left without a connection", async (t) => {
  const { room, live, server, peer } = await startRoom(t);
  await live.call("room.enter", { room: HALL });
  server.isFull = true;
  const gone = next(live, "client.disconnected");
  peer().drop();
  await gone;
  const left = live.call("room.leave", { room: HALL });
  const lists = live.questions(HALL)[Symbol.asyncIterator]();
  server.isFull = false;
  await left;
  await nextOf(lists);
  room.save(question(1));
  t.same(await nextOf(lists), [question(1)], "the list has it");
});

void t.test("each connection starts over", async (t) => {
  const { room, live, reconnect } = await startRoom(t);
  const questions = live.questions(HALL);
  const lists = questions[Symbol.asyncIterator]();
  room.questions = [question(1)];
  await nextOf(lists);
  room.questions = [question(1), question(2)];
  await reconnect();
  t.same(await nextOf(lists), room.questions);
  await reconnect();
  await settle(live);
  room.save(question(3));
  t.same(
    (await nextOf(lists)).map(({ id }) => id),
    ["question-1", "question-2", "question-3"],
    "an equal list is not told again",
  );
});

void t.test("a break at each moment", async (t) => {
  for (const moment of ["room.enter", "question.list"]) {
    for (const isExecuted of [false, true]) {
      const { room, live } = await startRoom(t);
      room.questions = [question(1)];
      room.intercept = (peer, name) => {
        const isFirst = name === moment && room.count(name) === 1;
        if (!isFirst) return false;
        if (isExecuted) room.inside.add(peer);
        peer.drop();
        return true;
      };
      const lists = live.questions(HALL)[Symbol.asyncIterator]();
      t.same(await nextOf(lists), room.questions, moment);
      room.save(question(2));
      t.equal((await nextOf(lists)).length, 2, moment);
      live.close();
    }
  }
});

void t.test("pushes around the list", async (t) => {
  const { room, live } = await startRoom(t);
  const list = [question(1, { score: 2 }), question(2), question(3)];
  room.intercept = (peer, name, id) => {
    if (name !== "question.list") return false;
    peer.send(
      // Older than the list, whose state is pushed behind it.
      pushOf(question(1, { score: 1 })),
      // Newer than the list.
      pushOf(question(2, { answered: true })),
      ["question.deleted", { room: HALL, id: "question-3" }],
      ["success", id, list],
      pushOf(question(1, { score: 2 })),
    );
    return true;
  };
  const now = [question(1, { score: 2 }), question(2, { answered: true })];
  const isNow = () =>
    JSON.stringify(live.questions(HALL).current) === JSON.stringify(now);
  for await (const questions of live.questions(HALL)) {
    t.notOk(
      questions.some(({ id }) => id === "question-3"),
      "it was deleted",
    );
    if (isNow()) break;
  }
});

const pushOf = (item: ReturnType<typeof question>) => [
  "question.created_or_updated",
  { question: sent(item) },
];

void t.test("a slow consumer gets the last list", async (t) => {
  const { room, live } = await startRoom(t);
  const lists = live.questions(HALL)[Symbol.asyncIterator]();
  await nextOf(lists);
  for (let minute = 1; minute <= 30; minute++) room.save(question(minute));
  await until(() => live.questions(HALL).current?.length === 30);
  const waiting = [lists.next(), lists.next()];
  t.equal((await waiting[0]!).value?.length, 30);
  room.save(question(31));
  t.equal((await waiting[1]!).value?.length, 31);
});

void t.test("rights and settings that change", async (t) => {
  const { room, live } = await startRoom(t, ["room:poll.vote"]);
  room.polls = [poll(1)];
  const polls = live.polls(HALL)[Symbol.asyncIterator]();
  const questions = live.questions(HALL)[Symbol.asyncIterator]();
  await nextOf(polls);
  await nextOf(questions);
  const update = async (...permissions: string[]) => {
    room.permissions = permissions;
    const updated = next(live, "world.updated");
    for (const peer of room.inside) peer.send(["world.updated", room.world]);
    await updated;
    await settle(live);
  };
  await update("room:poll.vote", "room:chat.send");
  t.equal(room.count("poll.list"), 1, "nothing that matters");
  room.polls = [poll(1), poll(2, { state: "draft" })];
  await update("room:poll.manage");
  t.same(await nextOf(polls), room.polls);
  t.equal(room.count("question.list"), 1);
  room.intercept = (peer, name, id) => {
    if (name !== "poll.list") return false;
    peer.send(["error", id, { code: "poll.inactive" }]);
    return true;
  };
  await update();
  t.match(await rejection(polls.next()), { code: "poll.inactive" });
  t.same(await polls.next(), { done: true, value: undefined });
  const again = live.polls(HALL)[Symbol.asyncIterator]();
  t.match(await rejection(again.next()), { code: "poll.inactive" });
  t.equal(room.count("room.leave"), 0);

  const ended = rejection(questions.next());
  for (const peer of room.inside) peer.send(["room.delete", { id: HALL }]);
  t.match(await ended, { code: "room.unknown" });
  await settle(live);
  t.equal(room.count("room.leave"), 0, "there is nothing to leave");
});

void t.test("a list by a right that ended before its push", async (t) => {
  hurry(t);
  const { room, live, peer } = await startRoom(t);
  room.readable = [];
  const updated = next(live, "world.updated");
  peer().send(["world.updated", room.world]);
  await updated;
  const lists = live.questions(HALL)[Symbol.asyncIterator]();
  room.intercept = (peer, name, id) => {
    if (name !== "question.list" || room.count(name) === 1) return false;
    peer.send(["error", id, { code: "protocol.denied" }]);
    return true;
  };
  t.same(await nextOf(lists), [], "the right was there for a moment");
  t.match(await rejection(lists.next()), { code: "protocol.denied" });
});

void t.test("the end of the client", async (t) => {
  const { live } = await startRoom(t);
  const lists = live.questions(HALL)[Symbol.asyncIterator]();
  await nextOf(lists);
  const waiting = lists.next();
  live.close();
  t.same(await waiting, { done: true, value: undefined });
  for (const list of [live.questions(HALL), live.polls(HALL)]) {
    for await (const items of list) t.fail(`after the end: ${items.length}`);
  }
  t.match(await rejection(live.questions(HALL).ask("?")), {
    code: "client.closed",
  });

  const other = await startRoom(t);
  const turnedAway = other.live.polls(HALL)[Symbol.asyncIterator]();
  await nextOf(turnedAway);
  other.peer().send(["error", { code: "connection.replaced" }]);
  t.match(await rejection(turnedAway.next()), { code: "connection.replaced" });
});

void t.test("a room that cannot be entered", async (t) => {
  hurry(t);
  const { room, live } = await startRoom(t);
  room.intercept = (peer, name, id) => {
    if (name !== "room.enter") return false;
    peer.send(["error", id, { code: "protocol.denied", message: "No." }]);
    return true;
  };
  const lists = live.questions(HALL)[Symbol.asyncIterator]();
  t.match(await rejection(lists.next()), { code: "protocol.denied" });
  t.equal(room.count("question.list"), 0);
  t.equal(room.count("room.leave"), 0);
});

void t.test("commands over broken connections", async (t) => {
  const cases: [
    name: string,
    command: (live: Live) => Promise<unknown>,
    refusal: string | undefined,
    times: number,
  ][] = [
    ["question.vote", (live) => live.questions(HALL).vote("a"), undefined, 2],
    ["question.pin", (live) => live.questions(HALL).pin("a"), undefined, 2],
    ["question.unpin", (live) => live.questions(HALL).unpin(), undefined, 2],
    [
      "question.update",
      (live) => live.questions(HALL).update("a", { answered: true }),
      undefined,
      2,
    ],
    ["poll.vote", (live) => live.polls(HALL).withdraw("a"), undefined, 2],
    ["poll.update", (live) => live.polls(HALL).open("a"), undefined, 2],
    ["question.delete", (live) => live.questions(HALL).delete("a"), "question.unknown", 2],
    ["poll.delete", (live) => live.polls(HALL).delete("a"), "poll.unknown", 2],
    ["question.ask", (live) => live.questions(HALL).ask("a"), undefined, 1],
    [
      "poll.create",
      (live) => live.polls(HALL).create({ content: "a", options: [] }),
      undefined,
      1,
    ],
  ]; // prettier-ignore
  for (const [command, run, refusal, times] of cases) {
    const { room, live } = await startRoom(t);
    room.intercept = (peer, name, id) => {
      if (name !== command) return false;
      if (room.count(name) === 1) peer.drop();
      else if (refusal) peer.send(["error", id, { code: refusal }]);
      else
        peer.send([
          "success",
          id,
          { question: question(1), poll: poll(1), id: "a" },
        ]);
      return true;
    };
    const outcome = await run(live).catch((error: LiveError) => error);
    t.equal(room.count(command), times, command);
    if (times === 1) {
      t.match(outcome, {
        code: "client.disconnected",
        message: `${command} may have been executed: `,
      });
    } else t.notMatch(outcome, { code: String }, command);
    live.close();
  }
  const { room, live } = await startRoom(t);
  room.intercept = (peer, name, id) => {
    if (name !== "question.delete") return false;
    peer.send(["error", id, { code: "question.unknown" }]);
    return true;
  };
  const unknown = live.questions(HALL).delete("a");
  t.match(await rejection(unknown), { code: "question.unknown" });
});

void t.test("commands run in their order and in time", async (t) => {
  const { room, live, server, peer } = await startRoom(t);
  const questions = live.questions(HALL);
  server.isFull = true;
  const gone = next(live, "client.disconnected");
  peer().drop();
  await gone;
  const late = rejection(questions.pin("late", { timeout: 5 }));
  const second = questions.vote("a");
  const third = questions.vote("a", false);
  const fourth = questions.ask("?", { timeout: 10_000 });
  const never = rejection(questions.pin("never", { timeout: 1 }));
  t.match(await late, { code: "client.timeout" });
  t.match(await never, {
    code: "client.timeout",
    message: "It was not confirmed within 1 ms.",
  });
  room.answers["question.vote"] = room.answers["question.ask"] = () => ({
    question: sent(question(1)),
  });
  server.isFull = false;
  await Promise.all([second, third, fourth]);
  t.same(
    room.commands.map(([name, { vote }]) => [name, vote]),
    [
      ["question.vote", true],
      ["question.vote", false],
      ["question.ask", undefined],
    ],
  );

  room.intercept = (_, name) => name === "question.pin";
  const many = Array.from({ length: 201 }, () => rejection(questions.pin("a")));
  t.match(await many.at(-1), { code: "client.overloaded" });
  live.close();
  for (const error of await Promise.all(many.slice(0, -1))) {
    t.match(error, { code: "client.closed" });
  }
});
