import t from "tap";
import { type Client, type Json } from "./client.js";
import { byTrait, startVotes } from "../votes/kit.js";

// Each command that names a thing, by someone who may not read it, in every state.

const SECRET = "the secret";

void t.test("a known id shows nothing", async (t) => {
  const votes = await startVotes(t);
  const { live } = votes;
  const host = await votes.host();
  const eve = await votes.person("eve");
  await eve.do("user.update", { profile: { display_name: "Eve" } });
  const profile = { display_name: SECRET };
  await host.do("user.update", { profile });

  type Row = [action: string, payload: Json, expected: string];

  /** Gives all commands, and looks for the secret in every frame that eve gets. */
  const refused = async (name: string, rows: Row[]) => {
    await votes.calm(eve);
    for (const [action, payload, expected] of rows) {
      const [kind, , answer] = await eve.call(action, payload);
      const said = kind === "error" ? (answer as Json).code : "ok";
      t.equal(said, expected, `${name}: ${action}`);
      t.notMatch(JSON.stringify(answer), SECRET, `${name}: ${action} shows it`);
    }
    await live.settled();
    t.notMatch(
      JSON.stringify(await eve.all()),
      SECRET,
      `${name}: no push does`,
    );
  };

  const makeQuestion = async (room: string, state: string) => {
    const { id } = await votes.question(room, state);
    await host.do("question.update", { room, id, content: SECRET });
    return { room, id };
  };
  const makePoll = async (room: string, state: string) => {
    const { id, options } = await votes.poll(room, {
      state,
      options: [SECRET, "other"],
    });
    return { room, id, options: [options[0].id] };
  };
  const questionRows = (payload: Json, vote: string, other: string): Row[] => [
    ["question.vote", payload, vote],
    ["question.vote", { ...payload, vote: false }, vote],
    ["question.update", { ...payload, answered: true }, other],
    ["question.pin", payload, other],
    ["question.delete", payload, other],
  ];
  const pollRows = (payload: Json, vote: string, other: string): Row[] => [
    ["poll.vote", payload, vote],
    ["poll.vote", { ...payload, options: [] }, vote],
    ["poll.update", { ...payload, options: [] }, other],
    ["poll.pin", payload, other],
    ["poll.delete", payload, other],
  ];
  const untouched = async ({ room, id }: Json, name: string) => {
    const question = await votes.questionNow(room, id);
    if (question) t.match(question, { score: 0 }, name);
    else t.match(await votes.pollNow(room, id), { results: {} }, name);
  };

  const denied = "protocol.denied";
  const room = await votes.room();
  await eve.do("room.enter", { room });
  for (const state of ["mod_queue", "archived"]) {
    const question = await makeQuestion(room, state);
    const rows = questionRows(question, "question.unknown", denied);
    await refused(`a question, ${state}`, rows);
    await untouched(question, state);
  }
  for (const state of ["draft", "archived"]) {
    const poll = await makePoll(room, state);
    await refused(`a poll, ${state}`, pollRows(poll, "poll.vote", denied));
    t.same((await votes.pollNow(room, poll.id)).results[poll.options[0]], 0);
  }
  for (const state of ["draft", "archived"]) {
    const fields = { text: SECRET, state };
    const { announcement } = await host.do("announcement.create", fields);
    await refused(`an announcement, ${state}`, [
      ["announcement.update", announcement, "auth.denied"],
      ["announcement.list", null, "auth.denied"],
    ]);
  }

  const chatRows = (channel: string, event: number, code: string): Row[] => [
    ["chat.fetch", { channel, count: 9, before_id: 2 ** 53 }, code],
    ["chat.subscribe", { channel, after: 0 }, code],
    ["chat.react", { channel, event, reaction: "👍" }, code],
  ];
  const message = {
    event_type: "channel.message",
    content: { type: "text", body: SECRET },
  };
  const friend = await votes.person("friend");
  const direct = { users: [friend.id], hide: false };
  const { id: channel } = await host.do("chat.direct.create", direct);
  const sent = await host.do("chat.send", { channel, ...message });
  await refused("a direct channel of others", [
    ...chatRows(channel, sent.event.event_id, "chat.denied"),
    ["chat.send", { channel, ...message }, "chat.denied"],
    ["chat.leave", { channel }, "chat.denied"],
    ["chat.join", { channel }, "room.unknown"],
  ]);

  const rules = {
    ...byTrait,
    "question.vote": [],
    "poll.vote": [],
    "chat.read": ["admin"],
  };
  const blind = await votes.room({ chat: true, rules });
  await eve.do("room.enter", { room: blind });
  await host.do("chat.join", { channel: blind });
  const said = await host.do("chat.send", { channel: blind, ...message });
  const question = await makeQuestion(blind, "visible");
  const poll = await makePoll(blind, "open");
  await refused("a room where eve may vote, join and send, but not read", [
    ["question.list", { room: blind }, denied],
    ["poll.list", { room: blind }, denied],
    ...questionRows(question, "question.unknown", denied),
    ...pollRows(poll, "poll.unknown", denied),
    ...chatRows(blind, said.event.event_id, denied),
    ["chat.join", { channel: blind }, "ok"],
    ...chatRows(blind, said.event.event_id, denied),
  ]);
  await host.do("chat.send", { channel: blind, ...message });
  await host.do("question.vote", question);
  await host.do("poll.vote", poll);
  await refused("what happens there later", [
    ["chat.leave", { channel: blind }, "ok"],
  ]);
  t.match(await votes.questionNow(blind, question.id), { score: 1 });
});

void t.test("an archived announcement shows its visible text", async (t) => {
  const votes = await startVotes(t);
  const { live } = votes;
  const host = await votes.host();
  const eve = await votes.person("eve");
  const push = "announcement.created_or_updated";
  const { announcements } = live.app.store;
  const update = (changes: object) => host.do("announcement.update", changes);
  for (const [name, changes] of [
    ["with", [{ state: "archived", text: SECRET }]],
    ["after", [{ text: "edited" }, { state: "archived" }, { text: SECRET }]],
    ["by its end", [{ show_until: "2020-01-01", text: SECRET }]],
  ] as const) {
    const draft = { text: "public", state: "active" };
    const { announcement } = await host.do("announcement.create", draft);
    await eve.next(push);
    await votes.calm(host);
    // The process is late: it reads when all is written.
    const list = announcements.list.bind(announcements);
    let go = () => {};
    const held = new Promise<void>((resolve) => (go = resolve));
    announcements.list = async (...args) => {
      await held;
      return list(...args);
    };
    for (const change of changes)
      await update({ id: announcement.id, ...change });
    go();
    announcements.list = list;
    const hidden = { id: announcement.id, is_visible: false };
    t.match(await eve.next(push), { ...hidden, text: /public|edited/ }, name);
    t.match(await host.next(push), { ...hidden, text: SECRET }, name);
    await live.settled();
    t.notMatch(JSON.stringify(await eve.all()), SECRET, name);
    await votes.calm(host);
  }
});

void t.test("users learn their rights after moderation", async (t) => {
  const votes = await startVotes(t);
  const host = await votes.host();
  const room = await votes.room({ chat: true });
  const first = await votes.person("eve");
  const rightsIn = ({ rooms }: Json): string[] =>
    rooms.find(({ id }: Json) => id === room).permissions;
  // A push about the new room, or about the rights so far, may come first.
  const next = async (client: Client, isSilenced: boolean) =>
    rightsIn(
      await client.next(
        "world.updated",
        (data) => rightsIn(data).includes("room:chat.send") !== isSilenced,
      ),
    );
  const before = rightsIn(first.hello["world.config"]);
  await votes.calm(first);
  await host.do("user.silence", { id: first.id });
  t.ok(before.includes("room:chat.send"));
  const silenced = await next(first, true);
  await first.next("connection.reload");
  const second = await votes.person("eve");
  t.same(rightsIn(second.hello["world.config"]), silenced);
  await host.do("user.reactivate", { id: first.id });
  t.same(await next(second, false), before);
});
