import t, { type Test } from "tap";
import type { Client, Json } from "../live/client.js";
import { byTrait, COUNTED_POLL, keys, POLL, startVotes } from "./kit.js";

// Sections A6 and F12: rights, rooms and people that change while others listen.

const asked = "question.created_or_updated";
const saved = "poll.created_or_updated";

void t.test("A6 what changes meanwhile", async (t) => {
  const votes = await startVotes(t);
  const { live } = votes;
  const host = await votes.host();

  /** Changes the rules of a room by REST. */
  const rule = async (room: string, rules: object) => {
    const permission_config = { ...byTrait, ...rules };
    const path = `demo/rooms/${room}/`;
    const { status } = await live.rest("PATCH", path, { permission_config });
    t.equal(status, 200);
  };

  /** What can only be said at the end. */
  const checks: ((t: Test) => Promise<void>)[] = [];

  await t.test("F12 rights are those of the push", async (t) => {
    const room = await votes.room({ rules: byTrait });
    const people: Record<string, Client> = {
      one: await votes.entered(room, "one", ["question.read", "poll.read"]),
      two: await votes.entered(room, "two", ["two"]),
    };
    const question = await votes.question(room);
    const poll = await votes.poll(room);
    const heard = async (expected: string[], name: string) => {
      const ask = () =>
        host.do("question.update", {
          room,
          id: question.id,
          content: name,
        });
      await votes.audience(t, people, expected, asked, ask, name);
      const edit = () =>
        host.do("poll.update", { room, id: poll.id, content: name });
      await votes.audience(t, people, expected, saved, edit, name);
    };
    await heard(["one"], "at first");
    await rule(room, { "question.read": ["two"], "poll.read": ["two"] });
    await heard(["two"], "by REST, without entering anew");
    const list = (client: Client) => client.code("poll.list", { room });
    t.same(await list(people.one!), "protocol.denied");
    t.same(await list(people.two!), "ok");
    await rule(room, { "room.view": ["admin"] });
    await heard([], "nobody sees the room");
    await rule(room, {});
    await people.one!.do("room.enter", { room });
    await heard(["one"], "and back");
  });

  await t.test("F12 who manages, and who sees results", async (t) => {
    const room = await votes.room({ rules: byTrait });
    const watcher = await votes.entered(room, "watcher", ["poll.read", "w"]);
    const people = { watcher };
    const poll = await votes.poll(room);
    const edit = (content: string) => () =>
      host.do("poll.update", { room, id: poll.id, content });
    const seen = async (content: string) => {
      const expected = ["watcher"];
      const act = edit(content);
      const heard = await votes.audience(t, people, expected, saved, act);
      return keys(heard.watcher.poll);
    };
    t.same(await seen("1"), POLL);
    await rule(room, { "poll.results": ["w"] });
    t.same(await seen("2"), COUNTED_POLL);
    await rule(room, { "poll.manage": [["w", "poll.manage"]] });
    t.same(await seen("3"), COUNTED_POLL);
    await votes.audience(t, people, ["watcher"], saved, () =>
      votes.poll(room, { state: "draft" }),
    );
    await rule(room, {});
    t.same(await seen("4"), POLL);
    await votes.audience(t, people, [], saved, () =>
      votes.poll(room, { state: "draft" }),
    );
  });

  await t.test("F12 the rules of the world", async (t) => {
    const room = await votes.room();
    const people = {
      crew: await votes.entered(room, "crew", ["crew"]),
      reader: await votes.entered(room, "plain"),
    };
    const ask = () => people.reader.do("question.ask", { room, content: "x" });
    await votes.audience(t, people, [], asked, ask);
    const { body } = await live.rest("GET", "demo/");
    const before = body.permission_config;
    const set = (permission_config: Json) =>
      live.rest("PATCH", "demo/", { permission_config });
    await set({ ...before, "chat.moderate": [["crew", "admin"]] });
    await votes.audience(t, people, ["crew"], asked, ask, "else");
    await set({ ...before, "question.moderate": ["crew"] });
    await votes.audience(t, people, ["crew"], asked, ask, "its own");
    await set(before);
    await votes.audience(t, people, [], asked, ask, "and back");
  });

  await t.test("9, 10 room.leave ends it, room.enter begins it", async (t) => {
    const room = await votes.room();
    const client = await votes.person("walker");
    const people = { client };
    const act = () => votes.poll(room);
    await votes.audience(t, people, [], saved, act, "before");
    await client.do("room.enter", { room });
    await votes.audience(t, people, ["client"], saved, act, "entered");
    await client.do("room.enter", { room });
    await votes.audience(t, people, ["client"], saved, act, "twice");
    await client.do("room.enter", { room: await votes.room() });
    await votes.audience(t, people, ["client"], saved, act, "and another");
    await client.do("room.leave", { room });
    await votes.audience(t, people, [], saved, act, "left");
    await votes.audience(
      t,
      people,
      [],
      asked,
      () => votes.question(room),
      "questions, too",
    );
  });

  await t.test("9, 10 a voter who left hears nothing of others", async (t) => {
    const room = await votes.room();
    const poll = await votes.poll(room);
    const people = {
      manager: await votes.entered(room, "manager", ["admin"]),
      gone: await votes.entered(room, "gone"),
    };
    await votes.vote(people.gone, poll, 0);
    await people.manager.next(saved);
    await people.gone.do("room.leave", { room });
    const guest = await live.guest();
    await votes.audience(t, people, ["manager"], saved, () =>
      votes.vote(guest, poll, 1),
    );
  });

  await t.test("B silenced people keep reading only", async (t) => {
    const room = await votes.room();
    const before = await votes.entered(room, "quiet", ["admin"]);
    const { id } = await votes.question(room, "mod_queue");
    const queued = { room, id, content: "new" };
    const told: string[] = [];
    await host.do("user.silence", { id: before.id });
    await before.next("connection.reload");
    before.ws.on("message", (bytes) => told.push((bytes as Buffer).toString()));
    await host.do("question.update", queued);
    const after = await votes.entered(room, "quiet", ["admin"]);
    const people = { after };
    await votes.audience(t, people, [], asked, () =>
      host.do("question.update", { ...queued, content: "newer" }),
    );
    await votes.audience(t, people, ["after"], asked, () =>
      host.do("question.update", { ...queued, state: "visible" }),
    );
    const heard = await votes.audience(t, people, ["after"], saved, () =>
      votes.poll(room),
    );
    t.same(keys(heard.after.poll), POLL, "nor see results");
    const list = await after.do("question.list", { room });
    t.equal(list.length, 1);
    checks.push(async (t) => {
      await before.closed;
      const late = told.filter((text) => text.includes("question."));
      t.same(late, [], "a moderator does not moderate any more");
    });
  });

  await t.test("F9 a deleted room", async (t) => {
    const room = await votes.room();
    const poll = await votes.poll(room);
    const question = await votes.question(room);
    const client = await votes.entered(room, "last", ["admin"]);
    await host.do("room.delete", { room });
    await votes.calm(client);
    for (const [action, payload] of [
      ["question.list", {}],
      ["question.ask", { content: "x" }],
      ["question.vote", { id: question.id }],
      ["question.update", { id: question.id, content: "x" }],
      ["poll.list", {}],
      ["poll.vote", { id: poll.id, options: [] }],
      ["poll.update", { id: poll.id, state: "closed" }],
      ["poll.pin", { id: poll.id }],
    ] as const) {
      const code = await client.code(action, { room, ...payload });
      t.equal(code, "room.unknown", action);
    }
    t.same(await votes.came(client), []);
  });

  await t.test("9, 10 other worlds hear nothing", async (t) => {
    const room = await votes.room();
    const people = {
      here: await votes.entered(room, "here"),
      there: await votes.person("here", ["admin"], "other"),
    };
    t.equal(await people.there.code("room.enter", { room }), "room.unknown");
    await votes.audience(t, people, ["here"], saved, () => votes.poll(room));
    await votes.audience(t, people, ["here"], asked, () =>
      votes.question(room).then(async ({ id }) => {
        await people.here.next(asked);
        await host.do("question.update", { room, id, content: "x" });
      }),
    );
  });

  await t.test("A6 nothing came until the connections ended", async (t) => {
    for (const check of checks) await check(t);
  });
});
