import t, { type Test } from "tap";
import { Foyer, type ListedPoll } from "../../client/index.js";
import { startTestServer } from "../../testing.js";
import { until } from "../helper.js";
import { hurry } from "./fake-room.js";
import { liveOf, next, rejection } from "./fake-server.js";

// Questions and polls of the client, and the real server.

/** A room with questions and polls, a moderator, and two connections of one attendee. */
async function start(t: Test) {
  hurry(t);
  const server = await startTestServer();
  t.teardown(() => server.close());
  await server.createWorld({ id: "demo" });
  const { baseUrl } = server;
  const tokenOf = (uid: string, ...traits: string[]) =>
    server.token("demo", { uid, traits });
  const token = await tokenOf("root", "admin", "api");
  const http = new Foyer({ baseUrl, world: "demo", token });
  const { id: room } = await http.createRoom({
    name: "Stage",
    module_config: [
      {
        type: "question",
        config: { active: true, requires_moderation: false },
      },
      { type: "poll", config: { active: true } },
    ],
  });
  const clientOf = async (uid: string, ...traits: string[]) =>
    liveOf(t, server, { token: await tokenOf(uid, ...traits) });
  const moderator = await clientOf("moderator", "admin");
  const [phone, laptop] = [await clientOf("ada"), await clientOf("ada")];
  /** Waits until a list is as expected. */
  const see = async <T>(
    lists: AsyncIterable<readonly T[]>,
    fits: (list: readonly T[]) => unknown,
  ) => {
    for await (const list of lists) {
      if (fits(list)) return t.pass(JSON.stringify(list));
    }
    return t.fail("The iteration has ended.");
  };
  return { http, room, moderator, phone, laptop, see };
}

void t.test("one user with two connections", async (t) => {
  const { room, moderator, phone, laptop, see } = await start(t);
  const questions = laptop.questions(room);
  const polls = laptop.polls(room);
  const { id } = await moderator.questions(room).ask("Why?");
  await phone.questions(room).vote(id);
  const voting = see(questions, ([first]) => first?.voted === false);
  const voted = see(questions, ([first]) => first?.voted);
  await voted;
  await phone.questions(room).vote(id, false);
  await voting;

  const { id: pollId, options } = await moderator.polls(room).create({
    content: "Which?",
    options: [{ content: "A" }, { content: "B" }],
    state: "open",
  });
  const [a, b] = options.map((option) => option.id) as [string, string];
  const chose = (option: string | undefined) =>
    see(
      polls,
      ([poll]: readonly ListedPoll[]) =>
        poll &&
        poll.answers?.[0] === option &&
        Boolean(poll.results) === Boolean(option),
    );
  // The iterations overlap, so that the laptop stays in the room.
  const all = [chose(undefined), chose(a), chose(b)];
  await all[0];
  await phone.polls(room).vote(pollId, a);
  await all[1];
  const withdrawn = see(
    polls,
    ([poll]) => poll?.state === "open" && !poll.answers && !poll.results,
  );
  await phone.polls(room).vote(pollId, b);
  await all[2];
  await phone.polls(room).withdraw(pollId);
  await withdrawn;
  t.equal(polls.current, undefined);
});

void t.test("what ends the iterations", async (t) => {
  const { http, room, moderator, phone, laptop, see } = await start(t);
  await see(laptop.questions(room), () => true);
  const questions = phone.questions(room)[Symbol.asyncIterator]();
  const polls = phone.polls(room)[Symbol.asyncIterator]();
  await questions.next();
  await polls.next();

  // The room takes no polls any more.
  const closed = rejection(polls.next());
  await http.updateRoom(room, {
    module_config: [
      { type: "question", config: { active: true } },
      { type: "poll", config: { active: false } },
    ],
  });
  t.match(await closed, { code: "poll.inactive" });

  // A question is the last thing that is seen before the right goes.
  const asked = questions.next();
  const question = await moderator.questions(room).ask("Queued?");
  t.equal(question.state, "mod_queue");
  await moderator.questions(room).update(question.id, { state: "visible" });
  t.match(await asked, { value: [{ id: question.id }] });
  const denied = rejection(questions.next());
  await http.updateRoom(room, {
    permission_config: { "question.read": ["admin"] },
  });
  t.match(await denied, { code: "protocol.denied" });

  const deleted = rejection(
    (async () => {
      for await (const list of moderator.questions(room)) t.ok(list);
    })(),
  );
  await until(() => moderator.questions(room).current !== undefined);
  const pushed = next(moderator, "room.delete");
  await http.deleteRoom(room);
  await pushed;
  t.match(await deleted, { code: "room.unknown" });
});
