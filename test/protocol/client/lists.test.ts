import t, { type Test } from "tap";
import type { ListedQuestion, Live, LiveError } from "../../../client/index.js";
import { type Listed, put } from "../../../client/live/item-kind.js";
import { until } from "../../support/helper.js";
import { type Guest, House, hurry, next, nextOf, rejection } from "./house.js";
import type { Fate } from "./wire.js";

// Lists of questions and polls. They keep a room entered, and follow its pushes and the responses
// to the user's own commands, even if the connection breaks.

const LIST = "question.list";

/** Opens a hall with a guest, and a host who observes it. */
async function start(t: Test) {
  hurry(t);
  const house = await House.open(t);
  const { store, world, hall } = house;
  const guest = await house.visit();
  const host = await house.host();
  const ada = guest.live.state!.user.id;
  const ask = async (content: string) => {
    const draft = { sender: house.ben, content, state: "visible" } as const;
    return (await store.questions.create(world, hall, draft)).id;
  };
  const poll = (content: string) =>
    store.polls.create(world, hall, {
      content,
      state: "open",
      options: [{ content: "a" }, { content: "b" }],
    });
  /** Returns whether the guest is in the hall, after all sent commands have been answered. */
  const isInside = async () => {
    await guest.live.call("user.list.blocked");
    const { viewers } = await host.call("room.enter", { room: hall });
    return viewers!.some(({ id }) => id === ada);
  };
  const { wire } = guest;
  const use = () => guest.live.questions(hall)[Symbol.asyncIterator]();
  const seat = { room: hall };
  return { ...guest, wire, house, hall, host, ada, ask, poll, isInside, use, seat };
}

const contents = (list: readonly ListedQuestion[]) => list.map(({ content }) => content);

/** Waits until a list has this many items, skipping earlier versions. */
async function grown<T>(
  lists: AsyncIterator<readonly T[], undefined>,
  length: number,
): Promise<readonly T[]> {
  for (;;) {
    const list = await nextOf(lists);
    if (list.length === length) return list;
  }
}

void t.test("a room is entered once and left at the end", async (t) => {
  const { live, wire, hall, use, isInside } = await start(t);
  t.equal(live.questions(hall).current, undefined);
  t.equal(live.questions(hall), live.questions(hall));
  t.equal(live.polls(hall), live.polls(hall));
  const before = wire.sent.length;
  const questions = use();
  const polls = live.polls(hall)[Symbol.asyncIterator]();
  const others = use();
  t.same(await nextOf(questions), []);
  t.same(await nextOf(polls), []);
  t.same(await nextOf(others), [], "the present list at once");
  t.same(wire.names.slice(before), ["room.enter", LIST, "poll.list"]);
  await questions.return!();
  await others.return!();
  await others.return!();
  t.same(await questions.next(), { done: true, value: undefined });
  t.ok(await isInside(), "the polls need it");
  for await (const list of live.questions(hall)) {
    t.same(list, []);
    break;
  }
  t.equal(wire.count("room.enter"), 1);
  await polls.return!();
  t.notOk(await isInside());
  for await (const list of live.polls(hall)) {
    t.same(list, [], "it starts over");
    break;
  }
  t.equal(wire.count("room.enter"), 2);
});

void t.test("the program needs the room too", async (t) => {
  const { live, wire, use, isInside, reconnect, seat } = await start(t);
  await live.call("room.enter", seat);
  let lists = use();
  await nextOf(lists);
  t.equal(wire.count("room.enter"), 1);
  await lists.return!();
  t.ok(await isInside(), "the program is there");

  lists = use();
  await nextOf(lists);
  t.same(await live.call("room.leave", seat), {});
  t.ok(await isInside(), "the list needs it");
  const restored: unknown[] = [];
  live.on("client.room_restored", (data) => restored.push(data));
  await reconnect();
  await until(isInside);
  t.same(restored, [], "it is not the program's");
  await lists.return!();
  t.notOk(await isInside());

  const entered = live.call("room.enter", seat);
  lists = use();
  const left = live.call("room.leave", seat);
  await Promise.all([entered, left, nextOf(lists)]);
  await lists.return!();
  t.notOk(await isInside());

  lists = use();
  await nextOf(lists);
  const entering = live.call("room.enter", seat);
  await lists.return!();
  await entering;
  t.ok(await isInside());
  await reconnect();
  await until(isInside);
  await live.call("room.leave", seat);
  t.notOk(await isInside());

  // Entering the room fails while the last list is closing.
  lists = use();
  await nextOf(lists);
  wire.fate = (name) => (name === "room.enter" ? { error: "protocol.rate_limited" } : "arrives");
  const refused = rejection(live.call("room.enter", seat));
  await lists.return!();
  t.match(await refused, { code: "protocol.rate_limited" });
  t.notOk(await isInside());
});

void t.test("a room that the program left without a connection", async (t) => {
  const { live, wire, ask, use, seat } = await start(t);
  await live.call("room.enter", seat);
  wire.cut();
  await until(() => !live.isConnected);
  const left = live.call("room.leave", seat);
  const lists = use();
  wire.restore();
  await left;
  await nextOf(lists);
  await ask("1");
  t.same(contents(await grown(lists, 1)), ["1"], "the list has it");
});

void t.test("a break at each moment", async (t) => {
  for (const moment of ["room.enter", LIST]) {
    for (const fate of ["lost", "unanswered"] as const) {
      const { live, wire, ask, use, reconnect } = await start(t);
      const name = `${moment} is ${fate}`;
      await ask("1");
      wire.fate = (name) => (name === moment && wire.count(name) === 1 ? fate : "arrives");
      const lists = use();
      t.same(contents(await grown(lists, 1)), ["1"], name);
      await ask("2");
      t.equal((await grown(lists, 2)).length, 2, name);
      await reconnect();
      await wire.answers(LIST, wire.count(LIST));
      await ask("3");
      t.equal((await nextOf(lists)).length, 3, "equal lists are not repeated");
      live.close();
    }
  }
});

void t.test("pushes around the list", async (t) => {
  const { live, wire, house, hall, host, ask, ada } = await start(t);
  const ids = [await ask("1"), await ask("2"), await ask("3")];
  const stale = (await host.call(LIST, { room: hall }))[0]!;
  const { questions } = house.store;
  await questions.vote(house.world, hall, ids[0]!, ada, true, false);
  wire.fate = async (name): Promise<Fate> => {
    if (name !== LIST || wire.count(name) > 1) return "arrives";
    // This push is older than the list. So are the next two once the list has been read.
    await wire.deliver(["question.created_or_updated", { question: stale }]);
    await host.questions(hall).update(ids[1]!, { answered: true });
    await host.questions(hall).delete(ids[2]!);
    return "arrives";
  };
  const listed = await live.questions(hall)[Symbol.asyncIterator]().next();
  t.equal(listed.value?.length, 2, "one is deleted");
  const now = () => live.questions(hall).current!;
  await until(() => now()[0]!.score === 1 && now()[0]!.voted);
  t.match(now(), [{ id: ids[0] }, { id: ids[1], answered: true }]);
});

void t.test("a slow consumer gets the last list", async (t) => {
  const { live, hall, ask, use } = await start(t);
  const lists = use();
  await nextOf(lists);
  await Promise.all(Array.from({ length: 30 }, (_, i) => ask(String(i))));
  await until(() => live.questions(hall).current?.length === 30);
  const waiting = [lists.next(), lists.next()];
  t.equal((await waiting[0]!).value?.length, 30);
  await ask("31");
  t.equal((await waiting[1]!).value?.length, 31);
});

void t.test("rights and settings that change", async (t) => {
  const { live, wire, house, hall, host, poll, use } = await start(t);
  const first = await poll("1");
  const polls = live.polls(hall)[Symbol.asyncIterator]();
  const questions = use();
  t.match(await nextOf(polls), [{ id: first.id }]);
  await nextOf(questions);
  const update = async (work: Promise<unknown>) => {
    const updated = next(live, "world.changed");
    await work;
    await updated;
  };
  await update(house.allow(hall, { "room.announce": [] }));
  t.equal(wire.count("poll.list"), 1, "nothing that matters");
  await host.polls(hall).create({ content: "draft", options: [] });
  await update(house.allow(hall, { "poll.manage": [] }));
  t.match(await grown(polls, 2), [{ id: first.id }, { state: "draft" }]);
  t.equal(wire.count(LIST), 1);
  const { rooms } = house.store;
  const ended = rejection(polls.next());
  const module_config = ["question", "poll"].map((type) => ({
    type,
    config: { active: type === "question" },
  }));
  await rooms.update(house.world, hall, { module_config });
  t.match(await ended, { code: "poll.inactive" });
  t.same(await polls.next(), { done: true, value: undefined });
  const again = live.polls(hall)[Symbol.asyncIterator]();
  t.match(await rejection(again.next()), { code: "poll.inactive" });
  t.equal(wire.count("room.leave"), 0);

  const gone = rejection(
    (async () => {
      for (;;) await nextOf(questions);
    })(),
  );
  await rooms.delete(house.world, hall);
  t.match(await gone, { code: "room.unknown" });
  await live.call("user.list.blocked");
  t.equal(wire.count("room.leave"), 0, "there is nothing to leave");

  await house.allow(house.attic, { "room.view": ["staff"] });
  await until(() => live.state!.rooms.length === 0);
  const lists = live.questions(house.attic)[Symbol.asyncIterator]();
  t.match(await rejection(lists.next()), { code: "protocol.denied" });
});

void t.test("a list by a right that ended before its push", async (t) => {
  const { live, wire, house, hall, use } = await start(t);
  const staff = { "question.read": ["staff"] };
  const updated = next(live, "world.changed");
  await house.allow(hall, staff);
  await updated;
  wire.change = (frame) => (frame[0] === "world.changed" ? undefined : frame);
  await house.allow(hall, {});
  const lists = use();
  t.same(await nextOf(lists), [], "the right was there for a moment");
  await house.allow(hall, staff);
  t.match(await rejection(lists.next()), { code: "protocol.denied" });
});

void t.test("the end of the client", async (t) => {
  const { live, wire, house, hall, use } = await start(t);
  const lists = use();
  await nextOf(lists);
  const waiting = lists.next();
  live.close();
  t.same(await waiting, { done: true, value: undefined });
  for (const list of [live.questions(hall), live.polls(hall)]) {
    for await (const items of list) t.fail(`after the end: ${items.length}`);
  }
  const late = live.questions(hall).ask("?");
  t.match(await rejection(late), { code: "client.closed" });
  t.ok(wire);

  const other = await house.visit();
  const turnedAway = other.live.polls(hall)[Symbol.asyncIterator]();
  await nextOf(turnedAway);
  await other.wire.deliver(["error", { code: "connection.replaced" }]);
  t.match(await rejection(turnedAway.next()), { code: "connection.replaced" });
});

type Run = (live: Live, hall: string, id: string) => Promise<unknown>;

void t.test("commands over broken connections", async (t) => {
  const it = await start(t);
  const { house, hall, ask } = it;
  const traits = ["admin"];
  const poll = async () => (await it.poll("?")).id;
  const rows: [name: string, make: () => Promise<string>, run: Run, times: number][] = [
    ["question.vote", ask.bind(0, "?"), (live, hall, id) => live.questions(hall).vote(id), 2],
    ["question.pin", ask.bind(0, "?"), (live, hall, id) => live.questions(hall).pin(id), 2],
    ["question.unpin", ask.bind(0, "?"), (live, hall) => live.questions(hall).unpin(), 2],
    ["question.update", ask.bind(0, "?"), (live, hall, id) => live.questions(hall).update(id, { answered: true }), 2],
    ["question.delete", ask.bind(0, "?"), (live, hall, id) => live.questions(hall).delete(id), 2],
    ["question.ask", ask.bind(0, "?"), (live, hall) => live.questions(hall).ask("!"), 1],
    ["poll.vote", poll, (live, hall, id) => live.polls(hall).withdraw(id), 2],
    ["poll.update", poll, (live, hall, id) => live.polls(hall).open(id), 2],
    ["poll.update", poll, (live, hall, id) => live.polls(hall).update(id, { options: [{ content: "c" }] }), 1],
    ["poll.delete", poll, (live, hall, id) => live.polls(hall).delete(id), 2],
    ["poll.create", poll, (live, hall) => live.polls(hall).create({ content: "!", options: [] }), 1],
  ]; // prettier-ignore
  for (const [command, make, run, times] of rows) {
    const { live, wire } = await house.visit({ uid: "host", traits });
    const id = await make();
    await live.call("room.enter", { room: hall });
    wire.fate = (name) => (name === command && wire.count(name) === 1 ? "unanswered" : "arrives");
    const outcome = await run(live, hall, id).catch((error: LiveError) => error);
    t.equal(wire.count(command), times, command);
    if (times === 2) t.notMatch(outcome, { code: String }, command);
    else {
      t.match(outcome, {
        code: "client.disconnected",
        message: `${command} may have been executed: `,
      });
    }
    live.close();
  }
  const unknown = it.host.questions(hall).delete("none");
  t.match(await rejection(unknown), { code: "question.unknown" });
});

void t.test("commands run in their order and in time", async (t) => {
  const { live, wire, hall, ask, seat } = await start(t);
  const id = await ask("?");
  const questions = live.questions(hall);
  await live.call("room.enter", seat);
  wire.cut();
  await until(() => !live.isConnected);
  const before = wire.sent.length;
  const late = rejection(questions.pin(id, { timeout: 5 }));
  const others = [
    questions.vote(id),
    questions.vote(id, false),
    questions.ask("!", { timeout: 60_000 }),
  ];
  const never = rejection(questions.pin(id, { timeout: 1 }));
  t.match(await late, { code: "client.timeout" });
  t.match(await never, { code: "client.timeout", message: "It was not confirmed within 1 ms." });
  wire.restore();
  await Promise.all(others);
  t.same(
    wire.sent
      .slice(before)
      .filter(([name]) => String(name).startsWith("question."))
      .map(([name, , payload]) => [name, (payload as { vote?: boolean }).vote]),
    [
      ["question.vote", true],
      ["question.vote", false],
      ["question.ask", undefined],
    ],
  );

  wire.fate = (name) => (name === "question.pin" ? "swallowed" : "arrives");
  const many = Array.from({ length: 201 }, () => rejection(questions.pin(id)));
  t.match(await many.at(-1), { code: "client.overloaded" });
  live.close();
  for (const error of await Promise.all(many.slice(0, -1))) {
    t.match(error, { code: "client.closed" });
  }
});

void t.test("the list after each command is the server's", async (t) => {
  const it = await start(t);
  const { house, hall, seat } = it;
  for (const traits of [[], ["admin"]]) {
    const { live } = await house.visit({ uid: `one of ${traits.length}`, traits });
    await live.call("room.enter", seat);
    const questions = live.questions(hall);
    const polls = live.polls(hall);
    const q = await it.ask("asked by another");
    const { id: p, options } = await it.poll("made by another");
    const all = options.map(({ id }) => id);
    const isHost = traits.length > 0;
    const steps: (() => Promise<unknown>)[] = [
      () => questions.ask("B?"),
      () => questions.vote(q),
      () => questions.vote(q, false),
      () => live.call("question.vote", { ...seat, id: q }),
      () => polls.vote(p, all[1]!),
      () => polls.withdraw(p),
      () => polls.vote(p, [all[0]!]),
      ...(isHost
        ? [
            () => questions.update(q, { state: "archived", content: "C?" }),
            () => questions.update(q, { state: "visible" }),
            () => questions.pin(q),
            () => questions.unpin(),
            () => questions.delete(q),
            () => polls.create({ content: "D?", options: [{ content: "d" }] }),
            () => polls.update(p, { is_pinned: true }),
            () => polls.unpin(),
            () => polls.pin(p),
            () => polls.close(p),
            () => polls.archive(p),
            () => polls.open(p),
            () => polls.delete(p),
          ]
        : []),
    ];
    const lists = [questions[Symbol.asyncIterator](), polls[Symbol.asyncIterator]()];
    for (const list of lists) await nextOf<unknown>(list);
    for (const step of steps) {
      await step();
      // Both are as current as the response, because the server runs a connection's commands in
      // order.
      const now = [questions.current, polls.current];
      const name = `${isHost ? "host" : "guest"}: ${String(step)}`;
      t.same(now[0], await live.call(LIST, seat), name);
      t.same(now[1], await live.call("poll.list", seat), name);
    }
    for (const list of lists) await list.return!();
    t.equal(questions.current, undefined, "there is no iteration");
    live.close();
  }
});

void t.test("what the server does not tell is asked for", async (t) => {
  const { live, wire, house, hall, host, ask, poll, use } = await start(t);
  const phone: Guest = await house.visit();
  const id = await ask("1");
  const { id: p, options } = await poll("?");
  const lists = [use(), live.polls(hall)[Symbol.asyncIterator]()];
  for (const list of lists) await nextOf<unknown>(list);
  const questions = live.questions(hall);
  const seesPoll = (fits: (answer: string | undefined, hasResults: boolean) => boolean) =>
    until(() => {
      const [now] = live.polls(hall).current!;
      return fits(now!.answers?.[0], now!.results !== undefined);
    });
  await phone.live.call("room.enter", { room: hall });
  await phone.live.questions(hall).vote(id);
  await until(() => questions.current![0]!.voted);
  await phone.live.questions(hall).vote(id, false);
  await until(() => !questions.current![0]!.voted);
  for (const { id: option } of options) {
    await phone.live.polls(hall).vote(p, option);
    await seesPoll((answer, hasResults) => answer === option && hasResults);
  }
  await phone.live.polls(hall).withdraw(p);
  await seesPoll((answer, hasResults) => answer === undefined && !hasResults);

  const own = await phone.live.questions(hall).ask("mine");
  await until(() => questions.current!.length === 2);
  await host.questions(hall).update(own.id, { state: "archived" });
  await until(() => questions.current![1]?.state === "archived");

  // Simulates a lost push.
  wire.change = (frame) => (frame[0] === "question.created_or_updated" ? undefined : frame);
  const missed = await host.questions(hall).ask("missed");
  wire.change = (frame) => frame;
  await host.questions(hall).pin(missed.id);
  await until(() => questions.current!.some(({ is_pinned }) => is_pinned));
  t.same(contents(questions.current!), ["1", "mine", "missed"]);
});

void t.test("doubts do not flood the server", async (t) => {
  const { live, wire, hall, ask, use } = await start(t);
  await ask("1");
  const lists = use();
  const [question] = await nextOf(lists);
  t.intercept(Math, "random", { value: () => 1 });
  const pushes = Array.from({ length: 100 }, (_, i) => [
    "question.created_or_updated",
    { question: { ...question, score: i + 1 } },
  ]);
  await wire.deliver(...pushes);
  await until(() => live.questions(hall).current?.[0]?.score === 100);
  t.equal(wire.count(LIST), 1);
});

void t.test("a long list", (t) => {
  const item = (i: number, is_pinned = false): Listed => ({
    id: String(i),
    timestamp: new Date(i).toISOString(),
    is_pinned,
  });
  const list = Array.from({ length: 1000 }, (_, i) => item(i, i === 0));
  const now = put(list, item(2000));
  t.equal(now.length, 1000);
  t.same(
    [now[0], now[1], now.at(-1)].map((it) => it?.id),
    ["0", "2", "2000"],
    "a pinned one stays",
  );
  t.end();
});
