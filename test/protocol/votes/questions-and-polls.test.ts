import { randomUUID } from "node:crypto";
import t, { type Test } from "tap";
import {
  byTrait,
  type Client,
  countsOf,
  entered,
  type Frame,
  holdRates,
  hostOf,
  invalid,
  type Json,
  keys,
  limited,
  makePoll,
  makeQuestion,
  modulesOf,
  namesOf,
  openWorld,
  type OpenWorld,
  vote,
  voteRoom,
} from "../../support/open-world.js";
import { startServer } from "../../support/server.js";

// Sections 9 and 10: questions and polls. The conformance tests have rows for each command.

const server = await startServer(t);

const denied = "protocol.denied";
const saved = "poll.created_or_updated";

/** The keys of a question (4.6), of a poll (4.7) without results, and of one with them. */
const QUESTION = ["content", "id", "is_pinned", "room_id", "state", "timestamp"]
  .concat("answered", "score")
  .sort();
const POLL = ["content", "id", "is_pinned", "options", "room_id", "state", "timestamp"];
const COUNTED_POLL = [...POLL, "results"].sort();

const isOfVotes = ([name]: Frame) => /^(question|poll)\./.test(name);

/** Opens a world with a host. */
async function opened() {
  const world = await openWorld(server);
  return { world, host: await hostOf(world) };
}

/**
 * Checks who receives one push during an action, and that nobody receives other frames about
 * questions or polls.
 * @param expected the names of the recipients.
 * @returns the data that each of them received.
 */
async function audience(
  t: Test,
  world: OpenWorld,
  people: Record<string, Client>,
  expected: readonly string[],
  push: string,
  act: () => Promise<unknown>,
  name = push,
): Promise<Record<string, Json>> {
  await world.calm(undefined, ...Object.values(people));
  await act();
  // Some pushes are delayed by rate limits.
  await Promise.all(expected.map((one) => people[one]!.sees(push, () => true)));
  await world.settled();
  const received: Record<string, Json> = {};
  for (const [one, client] of Object.entries(people)) {
    const frames = (await client.all()).filter(isOfVotes);
    t.same(namesOf(frames), expected.includes(one) ? [push] : [], `${name}, ${one}`);
    if (frames[0]) received[one] = frames[0][1];
  }
  return received;
}

/** A command of the question or poll module. */
interface Command {
  action: string;
  kind: string;
  needsModule: boolean;
  payload: Json;
  /** The answer when everything is valid but the id is unknown. */
  passes: string;
}

const command = (action: string, payload: Json, needsModule = true): Command => {
  const kind = action.split(".", 1)[0]!;
  return { action, kind, needsModule, payload, passes: payload.id ? `${kind}.unknown` : "ok" };
};

const id = randomUUID();

/** The commands listed in sections 9 and 10. */
const commands: Command[] = [
  command("question.ask", { content: "Why?" }),
  command("question.update", { id, answered: true }),
  command("question.delete", { id }),
  command("question.vote", { id }),
  command("question.list", {}, false),
  command("question.pin", { id }, false),
  command("question.unpin", {}, false),
  command("poll.create", { content: "Which?" }),
  command("poll.update", { id, content: "Which?" }),
  command("poll.delete", { id }),
  command("poll.vote", { id, options: [] }),
  command("poll.list", {}),
  command("poll.pin", { id }, false),
  command("poll.unpin", {}, false),
];

void t.test("the module, and what is checked first", async (t) => {
  const { world, host } = await opened();
  const nobody = await world.person("nobody");

  /** Checks the answer codes of all commands. */
  const codes = async (
    client: Client,
    room: string,
    expected: (command: Command) => string,
    name: string,
    more: object = {},
  ) => {
    const found: Record<string, string> = {};
    for (const { action, payload } of commands) {
      found[action] = await client.code(action, { room, ...payload, ...more });
    }
    t.same(found, Object.fromEntries(commands.map((it) => [it.action, expected(it)])), name);
  };
  const broken = { content: 5, options: "x", id: 5, state: 5, answered: 5 };

  await t.test("9, 10 a missing module comes before the right", async (t) => {
    const room = await voteRoom(world, { question: null, poll: null, chat: true, rules: byTrait });
    const unknown = (otherwise: (command: Command) => string) => (it: Command) =>
      it.needsModule ? "room.unknown" : otherwise(it);
    await codes(
      host,
      room,
      unknown(({ passes }) => passes),
      "with the right",
    );
    await codes(
      nobody,
      room,
      unknown(() => denied),
      "without the right",
    );
    for (const { action, payload } of commands.filter(({ needsModule }) => needsModule)) {
      const [, , answer] = await host.call(action, { room, ...payload });
      const message = "Room does not contain a matching module.";
      t.same(answer, { code: "room.unknown", message }, action);
    }
  });

  await t.test("9, 10 inactive comes after the right", async () => {
    const odd = ["none", {}, { active: false }, { active: null }];
    for (const config of [...odd, { active: "true" }, { active: 1 }, { active: [] }]) {
      const room = await voteRoom(world, { question: config, poll: config, rules: byTrait });
      const name = JSON.stringify(config);
      const inactive = ({ needsModule, kind, passes }: Command) =>
        needsModule ? `${kind}.inactive` : passes;
      await codes(host, room, inactive, `${name}, with the right`);
      await codes(nobody, room, () => denied, `${name}, without`);
    }
  });

  await t.test("3.1 payloads come last", async (t) => {
    const right = await voteRoom(world, { rules: byTrait });
    const off = await voteRoom(world, { question: {}, poll: {}, rules: byTrait });
    await codes(nobody, right, () => denied, "right", broken);
    await codes(nobody, off, () => denied, "right before inactive", broken);
    await codes(host, randomUUID(), () => "room.unknown", "room", broken);
    for (const { action, kind } of commands.filter(({ needsModule }) => needsModule)) {
      t.equal(await host.code(action, { room: off, ...broken }), `${kind}.inactive`, action);
    }
  });

  await t.test("A13 unknown keys are ignored", async (t) => {
    const room = await voteRoom(world);
    const more = { foo: 1, sender: nobody.id, score: 5, results: {} };
    await codes(host, room, ({ passes }) => passes, "unknown keys", more);
    const [question] = await host.do("question.list", { room });
    t.equal(question.score, 0, "F3 only named fields are set");
    t.notOk("sender" in question);
  });

  await t.test("F9 what is asked for is the present module", async (t) => {
    const room = await voteRoom(world);
    const ask = () => nobody.code("question.ask", { room, content: "x" });
    const alter = (question: Json) => world.alter(room, { module_config: modulesOf({ question }) });
    t.equal(await ask(), "ok");
    await alter({ active: false });
    t.equal(await ask(), "question.inactive");
    t.equal((await nobody.do("question.list", { room })).length, 1);
    await alter(null);
    t.equal(await ask(), "room.unknown");
    await alter({ active: true });
    t.equal(await ask(), "ok");
    t.same(server.log, [], "nothing was worth a warning");
  });
});

void t.test("what a command causes comes before the next answer", async (t) => {
  const { world } = await opened();
  const room = await voteRoom(world);
  const ann = await entered(world, room, "ann", "admin", ...Object.keys(byTrait));
  await ann.all();
  for (const [action, pushed] of [
    ["question.ask", "question.created_or_updated"],
    ["poll.create", saved],
  ] as const) {
    for (let i = 0; i < 10; i++) ann.sendFrame(action, i, { room, content: "Why?" });
    const names: string[] = [];
    while (names.length < 20) {
      const [name] = await ann.frame();
      // Pushes about the creation of the room and its users may still arrive.
      if (!name.startsWith("world.")) names.push(name);
    }
    t.same(names, Array(10).fill(["success", pushed]).flat(), action);
  }
});

void t.test("A3 payloads", async (t) => {
  const { world, host } = await opened();

  /** Checks that payloads are refused because of a field, and change nothing. */
  const refused = async (
    room: string,
    list: string,
    rows: (readonly [action: string, payload: object, field: RegExp])[],
  ) => {
    const before = await host.do(list, { room });
    for (const [action, payload, field] of rows) {
      const name = `${action} ${JSON.stringify(payload).slice(0, 80)}`;
      const [, , answer] = await host.call(action, { room, ...payload });
      t.match(answer, { code: invalid }, name);
      t.match(keys((answer as Json).details ?? {}).join(), field, name);
    }
    t.same(await host.do(list, { room }), before, "nothing changed");
  };

  await t.test("9 questions", async () => {
    const room = await voteRoom(world);
    const { id } = await makeQuestion(host, room);
    const updates: Record<string, unknown[]> = {
      content: ["", null],
      state: ["open", "", null, ["visible"]],
      answered: ["true", 1, null],
      is_pinned: ["yes", null],
    };
    await refused(room, "question.list", [
      ...[undefined, "", null, 5, ["x"], { body: "x" }].map(
        (content) => ["question.ask", { content }, /^content$/] as const,
      ),
      ...Object.entries(updates).flatMap(([field, values]) =>
        values.map(
          (value) => ["question.update", { id, [field]: value }, new RegExp(`^${field}$`)] as const,
        ),
      ),
    ]);
  });

  await t.test("10 polls", async () => {
    const room = await voteRoom(world);
    const { id, options } = await makePoll(host, room);
    const [{ id: option }] = options;
    const many = Array.from({ length: 101 }, () => ({ content: "x" }));
    const orders = ["one", 1.5, [], 1e12, "1e3"].map((order) => [{ content: "x", order }]);
    const contents = [[{ content: 5 }], [{ content: "" }], [{ order: 1 }]];
    const bad: Record<string, unknown[]> = {
      content: ["", null, 5, {}],
      state: ["visible", null, 1],
      poll_type: ["single", null],
      options: [{}, "x", null, ["x"], [null], ...contents, ...orders, many],
    };
    const rows = Object.entries(bad).flatMap(([field, values]) =>
      values.map((value) => [{ [field]: value }, new RegExp(`^${field}`)] as const),
    );
    const votes = [null, option, { [option]: true }].map(
      (options) => [{ options }, /^options/] as const,
    );
    const places = ["x", "", null, 5, {}, [], true].map(
      (other) => [{ options: [option, other] }, /^options\.1/] as const,
    );
    await refused(room, "poll.list", [
      ...rows.map(([it, field]) => ["poll.create", { content: "Which?", ...it }, field] as const),
      ...rows.map(([it, field]) => ["poll.update", { id, ...it }, field] as const),
      ...[...votes, ...places].map(([it, field]) => ["poll.vote", { id, ...it }, field] as const),
      ["poll.update", { id, is_pinned: "yes" }, /^is_pinned$/],
    ]);
  });

  await t.test("10 orders may be texts", async (t) => {
    const room = await voteRoom(world);
    const orders = ["10", 9, "-3", "007", undefined];
    const { options } = await makePoll(host, room, {
      options: orders.map((order, i) => ({ content: "abcde"[i], order })),
    });
    const got = options.map(({ content, order }: Json) => `${order} ${content}`);
    t.same(got, ["-3 c", "7 d", "9 b", "10 a", "11 e"]);
  });
});

void t.test("9 questions", async (t) => {
  const { world, host } = await opened();

  await t.test("9 question.ask: requires_moderation", async (t) => {
    const guest = await world.guest();
    const others = [true, null, 0, "false", ""].map((value) => ({ requires_moderation: value }));
    for (const config of [{}, { requires_moderation: false }, ...others]) {
      const isFree = "requires_moderation" in config && config.requires_moderation === false;
      const room = await voteRoom(world, { question: { active: true, ...config } });
      const content = " Why? 😀 ";
      const answer = await guest.do("question.ask", { room, content });
      t.same(keys(answer), ["question"]);
      const { id, timestamp, ...rest } = answer.question;
      t.match(id, /^[0-9a-f-]{36}$/);
      t.ok(Math.abs(Date.parse(timestamp) - Date.now()) < 60_000, timestamp);
      const state = isFree ? "visible" : "mod_queue";
      const more = { answered: false, room_id: room, score: 0, is_pinned: false };
      t.same(rest, { content, state, ...more }, JSON.stringify(config));
    }
  });

  await t.test("a question says who asked if the room did so then", async (t) => {
    const settings = { active: true, requires_moderation: false };
    const room = await voteRoom(world, { question: settings });
    const config = (show_authors: unknown) =>
      world.alter(room, { module_config: modulesOf({ question: { ...settings, show_authors } }) });
    const reader = await entered(world, room, "reader of authors");
    const asker = await entered(world, room, "asker of authors");
    const ask = async (content: string, more = {}) =>
      (await asker.do("question.ask", { room, content, ...more })).question.sender as unknown;
    t.equal(await ask("before"), undefined);
    for (const value of ["true", 1, null]) {
      await config(value);
      t.equal(await ask(String(value)), undefined, "true alone shows them");
    }
    await config(true);
    const me = await ask("shown");
    const isShown = ({ question }: Json) => question?.sender === me;
    t.ok(await reader.sees("question.created_or_updated", isShown));
    const unnamed = { room, content: "unnamed", named: false };
    t.equal(await asker.code("question.ask", unnamed), "question.named");
    await config(false);
    t.equal(await ask("after"), undefined);
    t.equal(await ask("unnamed", { named: false }), undefined);
    await ask("unnamed", { named: true });
    const list: Json[] = await reader.do("question.list", { room });
    const shown = list.map(({ content, sender }) => [content, sender === me]);
    const said = ["before", "true", "1", "null", "shown", "after", "unnamed", "unnamed"];
    t.same(
      shown,
      said.map((it) => [it, it === "shown"]),
      "a change of the room changes none",
    );
    await world.store.users.erase(world.id, { user_id: me as string });
    const after: Json[] = await reader.do("question.list", { room });
    t.ok(
      after.every((it) => !("sender" in it)),
      "nor an erased user",
    );
  });

  await t.test("9 question.update through all states", async (t) => {
    const [read, moderate] = ["question.read", "question.moderate"];
    const room = await voteRoom(world, { rules: byTrait });
    const enter = (uid: string, ...traits: string[]) => entered(world, room, uid, ...traits);
    const left = await enter("left", read, moderate);
    await left.do("room.leave", { room });
    const people: Record<string, Client> = {
      reader: await enter("reader", read),
      asker: await enter("asker", read, "question.ask"),
      moderator: await enter("moderator", read, moderate),
      moderator2: await enter("moderator", read, moderate),
      blind: await enter("blind", moderate),
      voter: await enter("voter", "question.vote"),
      nobody: await enter("nobody"),
      outside: await world.person("outside", read, moderate),
      elsewhere: await entered(world, await voteRoom(world), "elsewhere", read, moderate),
      left,
    };
    const states = ["mod_queue", "visible", "archived"];
    for (const [before, after] of states.flatMap((one) => states.map((it) => [one, it] as const))) {
      const { id } = await makeQuestion(host, room, before);
      const isSeen = before === "visible" || after === "visible";
      const update = async () => {
        const answer = await host.do("question.update", { room, id, state: after });
        t.same(keys(answer), ["question"]);
        t.same([keys(answer.question), answer.question.state], [QUESTION, after]);
      };
      const heard = await audience(
        t,
        world,
        people,
        [...(isSeen ? ["reader", "asker"] : ["blind"]), "moderator", "moderator2"],
        "question.created_or_updated",
        update,
        `${before} to ${after}`,
      );
      for (const { question } of Object.values(heard)) {
        t.same(keys(question), QUESTION);
        t.match(question, { id, state: after });
      }
    }
  });

  await t.test("9 question.vote withdraws by any other value than true", async (t) => {
    const room = await voteRoom(world);
    const { id } = await makeQuestion(host, room);
    const ann = await world.person("ann");
    for (const [vote, score] of [
      [{ vote: false }, 0],
      ...[null, "true", 1, {}, 0, [], ""].flatMap((vote) => [
        [{}, 1] as const,
        [{ vote }, 0] as const,
      ]),
    ] as const) {
      const name = JSON.stringify(vote);
      const answer = await ann.do("question.vote", { room, id, ...vote });
      t.same([keys(answer), keys(answer.question)], [["question"], QUESTION], name);
      const [listed] = await ann.do("question.list", { room });
      t.match(listed, { id, score, voted: score === 1 }, name);
    }
  });
});

void t.test("10 polls", async (t) => {
  const { world, host } = await opened();
  const [read, manage, voting] = ["poll.read", "poll.manage", "poll.vote"];
  const pollStates = ["draft", "open", "closed", "archived"];

  /** Returns a poll as its managers currently see it. */
  const pollNow = async ({ room_id: room, id }: Json) =>
    ((await host.do("poll.list", { room })) as Json[]).find((it) => it.id === id);
  /** Votes in a poll, and waits until a manager in the room has received the result. */
  const cast = async (observer: Client, client: Client, poll: Json, ...positions: number[]) => {
    await vote(client, poll, ...positions);
    const wanted = countsOf(await pollNow(poll))!.join();
    await observer.next(
      saved,
      (it) => it.poll.id === poll.id && countsOf(it.poll)?.join() === wanted,
    );
  };
  /** Creates a room of users with different rights. */
  const crowd = async () => {
    const room = await voteRoom(world, { rules: byTrait });
    const enter = (uid: string, ...traits: string[]) => entered(world, room, uid, ...traits);
    const left = await enter("left", read, manage);
    await left.do("room.leave", { room });
    const people: Record<string, Client> = {
      reader: await enter("reader", read, voting),
      voter: await enter("voter", read, voting),
      voter2: await enter("voter", read, voting),
      voterOutside: await world.person("voter", read, voting),
      me: await enter("me", read, voting),
      me2: await enter("me", read, voting),
      me3: await world.person("me", read, voting),
      withdrawn: await enter("withdrawn", read, voting),
      other: await enter("in another poll", read, voting),
      manager: await enter("manager", read, manage),
      votingManager: await enter("voting manager", read, voting, manage, "poll.results"),
      blind: await enter("blind", manage),
      early: await enter("early", read, "poll.results"),
      blindEarly: await enter("blind early", "poll.results"),
      nobody: await enter("nobody"),
      outside: await world.person("outside", read, voting, manage),
      elsewhere: await entered(world, await voteRoom(world), "elsewhere", read, manage),
      left,
    };
    return { room, people };
  };
  const voters = ["voter", "voter2"];
  const managers = ["manager", "votingManager", "blind"];
  const readers = ["reader", "me", "me2", "withdrawn", "other", "early", ...voters];

  await t.test("10, F14 poll.update through all states", async (t) => {
    const { room, people } = await crowd();
    const pairs = pollStates.flatMap((one) => pollStates.map((it) => [one, it] as const));
    const polls = await Promise.all(pairs.map(() => makePoll(host, room)));
    await Promise.all(polls.map((poll) => cast(people.manager!, people.voter!, poll, 1)));
    for (const [before, after] of pairs) {
      const { id } = polls.pop();
      await host.do("poll.update", { room, id, state: before });
      const isHidden = [before, after].every((it) => ["draft", "archived"].includes(it));
      const name = `${before} to ${after}`;
      const update = async () => {
        const answer = await host.do("poll.update", { room, id, state: after });
        t.same([keys(answer), keys(answer.poll)], [["poll"], COUNTED_POLL]);
        t.same([answer.poll.state, countsOf(answer.poll)], [after, [0, 1, 0]]);
      };
      const expected = isHidden ? managers : [...readers, "manager", "votingManager"];
      const heard = await audience(t, world, people, expected, saved, update, name);
      const isOver = ["closed", "archived"].includes(after);
      for (const [one, data] of Object.entries(heard)) {
        t.same(keys(data), ["poll"]);
        t.match(data.poll, { id, state: after, room_id: room });
        const sees = isOver || [...voters, ...managers, "early"].includes(one);
        t.same(keys(data.poll), sees ? COUNTED_POLL : POLL, `${name}, to ${one}`);
        if (sees) t.same(countsOf(data.poll), [0, 1, 0], `${name}, ${one}`);
      }
    }
  });

  await t.test("10 poll.list: who sees which", async (t) => {
    const { room, people } = await crowd();
    const ids: Record<string, string> = {};
    for (const state of pollStates) {
      const poll = await makePoll(host, room);
      await vote(people.voter!, poll, 2);
      await host.do("poll.update", { room, id: poll.id, state });
      ids[state] = poll.id;
    }
    const list = (name: string): Promise<Json[]> => people[name]!.do("poll.list", { room });
    const seen = async (name: string) =>
      (await list(name)).map((it) => [it.id, countsOf(it), it.answers?.length]);
    const counts = [0, 0, 1];
    t.same(
      await seen("manager"),
      pollStates.map((it) => [ids[it], counts, undefined]),
    );
    const table: [name: string, open: Json, answers: Json][] = [
      ["reader", undefined, undefined],
      ["early", counts, undefined],
      ["voter", counts, 1],
      ["voter2", counts, 1],
    ];
    for (const [name, open, answers] of table) {
      const expected = [
        [ids.open, open, answers],
        [ids.closed, counts, answers],
      ];
      t.same(await seen(name), expected, name);
    }
    const [[poll], [voted]] = [await list("reader"), await list("voter")];
    t.same(keys(poll), POLL, "no answers, no results");
    t.same(keys(voted), [...COUNTED_POLL, "answers"].sort());
    t.same(voted.answers, [voted.options[2].id]);
  });

  await t.test("10 who hears of a vote", async (t) => {
    const { room, people } = await crowd();
    await vote(people.other!, await makePoll(host, room), 0);
    const poll = await makePoll(host, room);
    const pushed = (counts: string) =>
      people.manager!.next(
        saved,
        (it) => it.poll.id === poll.id && countsOf(it.poll)!.join() === counts,
      );
    await vote(people.withdrawn!, poll, 2);
    await pushed("0,0,1");
    // Rates are held so that all votes go out in one push. Otherwise a push between the last vote
    // and its notification would cause another push with the same counts.
    const go = holdRates(t);
    await vote(people.withdrawn!, poll);
    await vote(people.voter!, poll, 1);
    await vote(people.votingManager!, poll, 1);
    go();
    await pushed("0,2,0");
    const always = [...voters, ...managers, "early", "blindEarly"];
    type Step = [name: string, by: string, at: number[], more: string[], counts: number[]];
    const steps: Step[] = [
      ["a first vote", "me", [0], ["me", "me2"], [1, 2, 0]],
      ["from a connection that did not enter", "me3", [2], ["me", "me2", "me3"], [0, 2, 1]],
      ["a withdrawn vote", "me", [], ["me", "me2"], [0, 2, 0]],
      ["after withdrawing, nothing more", "reader", [0], ["reader"], [1, 2, 0]],
    ];
    for (const [name, by, at, more, counts] of steps) {
      const act = () => vote(people[by]!, poll, ...at);
      const heard = await audience(t, world, people, [...always, ...more], saved, act, name);
      for (const [one, data] of Object.entries(heard)) {
        t.same(keys(data), ["poll"], name);
        const isBlind = at.length === 0 && more.includes(one);
        t.same(keys(data.poll), isBlind ? POLL : COUNTED_POLL, `without answers, to ${one}`);
        t.same(countsOf(data.poll), isBlind ? undefined : counts, `${name}, to ${one}`);
      }
    }
  });

  await t.test("10 people who voted before they entered get it, too", async (t) => {
    const room = await voteRoom(world);
    const poll = await makePoll(host, room);
    const late = await world.person("late");
    await vote(late, poll, 0);
    await late.next(saved);
    await late.do("room.enter", { room });
    const before = await world.person("reconnected");
    await vote(before, poll, 0);
    before.close();
    const after = await entered(world, room, "reconnected");
    await vote(await world.guest(), poll, 1);
    for (const client of [late, after]) {
      const isFull = (data: Json) => countsOf(data.poll)?.join() === "2,1,0";
      t.equal((await client.next(saved, isFull)).poll.id, poll.id);
    }
  });

  await t.test("4.7 who has just voted, or withdrawn", async (t) => {
    const room = await voteRoom(world);
    const [voter, voter2] = [
      await entered(world, room, "hasty"),
      await entered(world, room, "hasty"),
    ];
    const manager = await entered(world, room, "watcher", "admin");
    const guest = await world.guest();
    type Case = [
      name: string,
      counts: string | undefined,
      prepare: (poll: Json) => Promise<unknown>,
    ];
    const cases: Case[] = [
      ["a voter sees results in the next push", "1,0,0", (poll) => vote(voter, poll, 0)],
      [
        // The first vote is pushed immediately, so the push for the second is still pending.
        "even if others vote as well",
        "1,1,0",
        async (poll) => {
          await cast(manager, guest, poll, 1);
          await vote(voter, poll, 0);
        },
      ],
      [
        "who withdrew sees none",
        undefined,
        async (poll) => {
          await cast(manager, voter, poll, 0);
          await vote(voter2, poll);
        },
      ],
      [
        "nor who lost the chosen option",
        undefined,
        async (poll) => {
          await cast(manager, voter, poll, 0);
          await host.do("poll.update", { room, id: poll.id, options: poll.options.slice(1) });
        },
      ],
    ];
    for (const [name, counts, prepare] of cases) {
      for (let i = 0; i < 5; i++) {
        const poll = await makePoll(host, room);
        await prepare(poll);
        await host.do("poll.update", { room, id: poll.id, content: "Edited" });
        const isEdited = (it: Json) => it.poll.id === poll.id && it.poll.content === "Edited";
        for (const client of [voter, voter2]) {
          t.equal(countsOf((await client.next(saved, isEdited)).poll)?.join(), counts, name);
        }
      }
    }
  });

  await t.test("4.7 the answer shows results to who may see them", async (t) => {
    const room = await voteRoom(world, { rules: byTrait });
    const poll = await makePoll(host, room);
    for (const [traits, sees] of [
      [[voting, read], false],
      [[voting, read, "poll.results"], true],
      [[voting, manage], true],
    ] as const) {
      const client = await world.person(traits.join(), ...traits);
      t.same(keys(await vote(client, poll)), sees ? COUNTED_POLL : POLL, traits.join());
      t.same(keys(await vote(client, poll, 0)), COUNTED_POLL, "who voted sees them");
      t.same(keys(await vote(client, poll)), sees ? COUNTED_POLL : POLL, "withdrawn");
    }
  });
});

void t.test("F22 lists are bounded", async (t) => {
  const { world, host } = await opened();
  const { questions } = world.store;
  const [sender, guest] = [await world.user("sender"), await world.guest()];
  const idsIn = async (kind: string, room: string, client = guest): Promise<string[]> =>
    (await client.do(`${kind}.list`, { room })).map(({ id }: Json) => id);
  const ask = async (room: string, count: number, content: string) => {
    const ids: string[] = [];
    for (let i = 0; i < count; i++) {
      const draft = { sender, content, state: "visible" as const };
      ids.push((await questions.create(world.id, room, draft)).id);
    }
    return ids;
  };

  await t.test("9 question.list: the newest thousand", async (t) => {
    const room = await voteRoom(world);
    const ids = await ask(room, 1010, "x");
    t.same(await idsIn("question", room), ids.slice(-1000), "oldest first");
    await host.do("question.pin", { room, id: ids[3] });
    const pinned = await idsIn("question", room);
    t.ok(pinned.length <= 1000);
    t.same(
      [pinned.at(0), pinned.at(-1)],
      [ids[3], ids.at(-1)],
      "a pinned one always, in its place",
    );
  });
});

/** A promise that the test resolves. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

void t.test("what votes cost, and what no timing reveals", async (t) => {
  /** Opens a world with a poll, a manager and a voter in its room, and another voter. */
  const begun = async () => {
    const world = await openWorld(server);
    const room = await voteRoom(world, { rules: { "poll.manage": [["manager"]] } });
    const manager = await entered(world, room, "manager", "manager");
    const ann = await entered(world, room, "ann");
    const poll = await makePoll(manager, room);
    const { polls: store } = world.store;
    const cast = store.vote.bind(store);
    const [tea, coffee]: string[] = poll.options.map(({ id }: Json) => id);
    const voteOf = (user: string, ...options: string[]) =>
      cast(world.id, room, poll.id, user, { options });
    const next = async (client: Client, matches: (poll: Json) => boolean = () => true) =>
      (await client.next(saved, (data) => matches(data.poll))).poll;
    // The push of the poll's creation.
    for (const client of [ann, manager]) await next(client);
    const other = await world.user("other");
    const options = { room, id: poll.id, options: [] };
    return {
      world,
      room,
      manager,
      ann,
      poll,
      store,
      tea: tea!,
      coffee: coffee!,
      voteOf,
      next,
      other,
      withdrawal: options,
    };
  };

  await t.test("a thousand votes at once", async (t) => {
    const { world, room, manager, ann: waits, store, tea, coffee, voteOf, next } = await begun();
    const voters = await world.users(1000, "voter");
    const voted = await entered(world, room, "voter-0");
    for (const client of [manager, voted, waits]) await client.all();
    const read = store.voters.bind(store);
    let reads = 0;
    store.voters = async (...args) => {
      const found = await read(...args);
      if (args[0] === world.id) reads += found!.users.length;
      return found;
    };
    const began = performance.now();
    await Promise.all(voters.map((user, i) => voteOf(user, i % 4 === 0 ? tea : coffee)));
    const isFinal = ({ results }: Json) => results?.[tea] === 250 && results?.[coffee] === 750;
    for (const client of [manager, voted]) {
      let pushes = 1;
      while (!isFinal(await next(client))) pushes++;
      const seconds = (performance.now() - began) / 1000;
      t.ok(pushes <= Math.ceil(4 * seconds) + 1, `${pushes} pushes in ${seconds} s`);
    }
    for (const client of [manager, voted]) t.same(await client.all(), [], "the last one is final");
    t.same((await waits.all()).filter(isOfVotes), [], "who has not voted learns nothing");
    t.ok(reads <= 1000, `${reads} ballots were read`);
    store.voters = read;
  });

  await t.test("a vote does not wait for another poll", async (t) => {
    const { world, room, manager, poll: one, tea, voteOf, other, next } = await begun();
    const second = await makePoll(manager, room);
    await manager.all();
    await voteOf(other, tea);
    await next(manager, ({ id }) => id === one.id);
    // From here on, rate-limited pushes are held.
    const go = holdRates(t);
    await voteOf(other, tea);
    await world.store.polls.vote(world.id, room, second.id, other, {
      options: [second.options[0].id],
    });
    await next(manager, ({ id }) => id === second.id);
    t.same((await manager.all()).filter(isOfVotes), [], "the poll that waits is not pushed yet");
    go();
    await next(manager, ({ id }) => id === one.id);
  });

  await t.test("results that are pushed while a vote is withdrawn", async (t) => {
    const { world, manager, ann, store, tea, voteOf, next, other, withdrawal } = await begun();
    await voteOf(ann.id, tea);
    await next(ann, ({ results }) => results?.[tea] === 1);
    const write = store.vote.bind(store);
    for (const fails of [true, false]) {
      const [begun, goes] = [gate(), gate()];
      store.vote = async (...args) => {
        begun.open();
        await goes.opened;
        return fails
          ? write(world.id, withdrawal.room, "none", ann.id, { options: [] })
          : write(...args);
      };
      const answer = ann.call("poll.vote", withdrawal);
      await begun.opened;
      await voteOf(other, ...(fails ? [tea] : []));
      await next(manager, ({ results }) => results?.[tea] === (fails ? 2 : 1));
      await world.settled();
      goes.open();
      await answer;
      const { results } = await next(ann);
      t.same(results, fails ? { ...results, [tea]: 2 } : undefined);
      t.same(await ann.all(), []);
    }
    store.vote = write;
  });

  await t.test("a vote that is withdrawn while results are pushed", async (t) => {
    const { manager, ann, store, tea, voteOf, next, other, withdrawal } = await begun();
    await voteOf(ann.id, tea);
    await next(ann, ({ results }) => results?.[tea] === 1);
    const voters = store.voters.bind(store);
    const [begunReading, goes] = [gate(), gate()];
    store.voters = async (...args) => {
      store.voters = voters;
      const found = await voters(...args);
      begunReading.open();
      await goes.opened;
      return found;
    };
    await voteOf(other, tea);
    await begunReading.opened;
    await ann.do("poll.vote", withdrawal);
    goes.open();
    for (let i = 0; i < 2; i++) await next(manager, ({ results }) => results?.[tea] === 1);
    const pushed = (await ann.all()).filter(isOfVotes) as [string, Json][];
    t.same(
      pushed.map(([, { poll }]) => "results" in poll),
      [false],
    );
  });
});

void t.test("C question.ask a second", async (t) => {
  const world = await openWorld(await startServer(t, { limits: { messagesPerSecond: 5 } }));
  const [room, host] = [await voteRoom(world, { chat: true }), await hostOf(world)];
  holdRates(t);
  const codes = async (
    client: Client,
    count: number,
    action: string,
    payload: (i: number) => object,
  ) => {
    const found: string[] = [];
    for (let i = 0; i < count; i++) found.push(await client.code(action, { room, ...payload(i) }));
    return found;
  };
  const ask = (client: Client, count: number, content?: string) =>
    codes(client, count, "question.ask", (i) => ({ content: content ?? `${i}` }));
  const ok = (count: number) => Array<string>(count).fill("ok");
  const [one, two] = [await world.person("one"), await world.person("one")];
  const other = await world.person("other");
  t.same(await ask(one, 10), ok(10));
  t.same(await ask(two, 12), [...ok(10), limited, limited], "twenty at once, on all connections");
  t.same(await ask(other, 1), ["ok"], "others have their own");
  const list = await host.do("question.list", { room });
  t.equal(list.length, 21, "a command too many is not executed");
  const { id } = list[0];
  for (const [action, payload] of [
    ["question.vote", { id }],
    ["question.list", {}],
    ["poll.list", {}],
  ] as const) {
    t.equal(await one.code(action, { room, ...payload }), "ok", action);
  }
  const asked = await ask(await world.person("big"), 6, "€".repeat(10_000));
  t.same(asked, [...ok(5), limited], "30 KB count as four");
  const poll = await makePoll(host, room);
  const ballot = { id: poll.id, options: [poll.options[0].id] };
  const voted: string[] = [];
  for (let i = 0; i < 21; i++) {
    const isUp = i % 4 === 0;
    const [vote] =
      i % 2
        ? await codes(one, 1, "poll.vote", () => ballot)
        : await codes(one, 1, "question.vote", () => ({ id, vote: isUp }));
    voted.push(vote!);
  }
  t.same(voted, [...ok(19), limited, limited], "votes count together");
  t.equal(await two.code("poll.vote", { room, ...ballot }), limited);
  t.equal(await other.code("poll.vote", { room, ...ballot }), "ok");
});

void t.test("C how many pushes people get", async (t) => {
  const server = await startServer(t, {
    limits: { maxText: 100_000, messagesPerSecond: 1000, commandsPerSecond: 1000 },
  });
  const world = await openWorld(server);
  const rules = { ...byTrait, "question.ask": [] };
  const asker = await world.person("asker");
  const content = "x".repeat(60_000);
  for (const [requires_moderation, first] of [
    [false, 65],
    [true, -1],
  ] as const) {
    const room = await voteRoom(world, { question: { active: true, requires_moderation }, rules });
    // Guests count toward the cost even though they may not read questions.
    for (let i = 0; i < 50; i++) await (await world.guest(`in-${i}`)).do("room.enter", { room });
    const go = holdRates(t);
    const codes: string[] = [];
    for (let i = 0; i < 70; i++) codes.push(await asker.code("question.ask", { room, content }));
    go();
    // Each question costs 61 for each of 50 people; the bucket holds 200,000.
    t.equal(codes.indexOf(limited), first);
    t.same(new Set(codes), new Set(first > 0 ? ["ok", limited] : ["ok"]));
  }
});

void t.test("C polls that are opened in a chat", async (t) => {
  const world = await openWorld(await startServer(t, { limits: { messagesPerSecond: 1 } }));
  const host = await hostOf(world);
  holdRates(t);
  for (const chat of [true, false]) {
    const room = await voteRoom(world, { chat });
    const { id } = await makePoll(host, room, { state: "draft" });
    const codes: string[] = [];
    for (let i = 0; i < 12; i++) {
      const state = i % 2 ? "draft" : "open";
      codes.push(await host.code("poll.update", { room, id, state }));
    }
    t.equal(codes.indexOf(limited), chat ? 8 : -1, "a burst of four");
  }
});
