import { setTimeout as delay } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import t from "tap";
import { type Change, Foyer } from "../../client/index.js";
import type { Json } from "../../conformance/client.js";
import { receiver } from "./receivers.js";
import { openStream } from "./stream.js";
import { until } from "../helper.js";
import { signed, Site } from "../program/site.js";

// The change feed and webhooks of two processes, as programs read them.

const MODULES = ["chat.native", "question", "poll"].map((type) => ({
  ...{ type, config: { active: true, requires_moderation: false } },
}));

void t.test("every type is shown with its subject and author", async (t) => {
  const site = await Site.start(t);
  const { body: start } = await site.api("changes/");
  t.match(start, { results: [], more: false, cursor: String });
  const token = signed("admin", "admin");
  const [one, two] = [site.addresses[0]!, site.addresses.at(-1)!];
  const feed = (address: string, query: string) =>
    openStream(t, `${address}/api/v1/worlds/demo/changes/?${query}`, token);
  const streams = await Promise.all(
    [one, two].map((address) => feed(address, `after=${start.cursor}`)),
  );
  const moderators = await feed(two, `after=${start.cursor}&types=user.*,odd`);
  const all = streams[0]!.events;
  const shown = new Set<Json>();
  /** Waits for a change with these data, in all streams. */
  const shows = async (type: string, data: object, by?: object | null) => {
    const find = () =>
      all.find((event) => event.type === type && !shown.has(event));
    await until(() => find() !== undefined);
    const found = find()!;
    shown.add(found);
    t.match(found.data, data, type);
    t.notOk(Object.values(found.data).includes(undefined));
    if (by === null) t.equal(found.by, null, type);
    else if (by) t.match(found.by, by, type);
    return found;
  };
  const api = { kind: "api" };
  const room = (
    await site.save("POST", "rooms/", { name: "A", module_config: MODULES })
  ).id as string;
  await shows("room.created", { room_id: room }, { ...api, token_id: "admin" });
  await site.save("PATCH", `rooms/${room}/`, { name: "B" });
  await shows("room.updated", { room_id: room, fields: ["name"] });
  await site.save("PATCH", "", { title: "New" });
  await shows("world.updated", { fields: ["title"] });
  const host = await site.user("admin", "admin", "editor");
  await shows("user.created", { user_id: host.id });
  const ada = await site.user("ada", "reader");
  const user_id = ada.id;
  const byAda = { kind: "user", user_id, token_id: "ada" };
  await shows("user.created", { user_id }, byAda);
  await ada.do("user.update", { profile: { display_name: "Ada" } });
  await shows("user.updated", { user_id, fields: ["profile"] }, byAda);
  const place = { room_id: room, channel_id: room, user_id };
  await ada.do("chat.join", { channel: room });
  await shows("chat.joined", place, byAda);
  const send = async (body: string, more = {}, channel = room) => {
    const message = { channel, event_type: "channel.message" };
    const content = { type: "text", body };
    const sent = await ada.do("chat.send", { ...message, content, ...more });
    return sent.event.event_id as number;
  };
  const event_id = await send("Hello");
  await shows("chat.message", {
    ...place,
    event_id,
    content: { body: "Hello" },
  });
  await send("Hello!", { replaces: event_id });
  await shows("chat.edited", {
    ...place,
    event_id,
    content: { body: "Hello!" },
  });
  await send("", { replaces: event_id, content: { type: "deleted" } });
  await shows("chat.deleted", { ...place, event_id });
  const direct = await ada.do("chat.direct.create", { users: [host.id] });
  await send("a direct message", {}, direct.id);
  await ada.do("chat.leave", { channel: room });
  await shows("chat.left", place, byAda);

  const { question } = await ada.do("question.ask", { room, content: "Why?" });
  const asked = { room_id: room, question_id: question.id };
  await shows("question.created", asked, byAda);
  const vote = { room, id: question.id, vote: true };
  await ada.do("question.vote", vote);
  await shows("question.votes", { ...asked, score: 1 }, null);
  const answered = { room, id: question.id, answered: true };
  await host.do("question.update", answered);
  await shows("question.updated", { ...asked, fields: ["answered"] });
  await host.do("question.delete", { room, id: question.id });
  await shows("question.deleted", asked, { token_id: "admin" });
  const { poll } = await host.do("poll.create", {
    ...{ room, content: "Which?", state: "open", poll_type: "choice" },
    options: ["A", "B"].map((content, order) => ({ content, order })),
  });
  const voted = { room_id: room, poll_id: poll.id };
  await shows("poll.created", voted, { kind: "user" });
  const [option] = poll.options.map(({ id }: Json) => id);
  await ada.do("poll.vote", { room, id: poll.id, options: [option] });
  await shows("poll.votes", { ...voted, results: { [option]: 1 } }, null);
  await host.do("poll.update", { room, id: poll.id, state: "closed" });
  await shows("poll.updated", { ...voted, fields: ["state"] });
  await host.do("poll.delete", { room, id: poll.id });
  await shows("poll.deleted", voted);

  const draft = { text: "Lunch", state: "draft" };
  const { id: announcement_id } = await site.save(
    "POST",
    "announcements/",
    draft,
  );
  await shows("announcement.created", { announcement_id }, api);
  await site.save("PATCH", `announcements/${announcement_id}/`, {
    text: "Tea",
  });
  await shows("announcement.updated", { announcement_id, fields: ["text"] });
  await site.upload();
  const { file_id } = (await shows("file.added", {}, { kind: "user" })).data;
  await site.save("DELETE", `files/${file_id}/`);
  await shows("file.deleted", { file_id }, api);
  const session_id = await site.session("Opening");
  await shows("session.created", { session_id }, api);
  await site.save("PATCH", `sessions/${session_id}/`, { title: "Closing" });
  await shows("session.updated", { session_id, fields: ["title"] });
  const { id: speaker_id } = await site.save("POST", "speakers/", {
    name: "Ada",
  });
  await shows("speaker.created", { speaker_id }, api);
  await site.save("PATCH", `speakers/${speaker_id}/`, { name: "Bo" });
  await shows("speaker.updated", { speaker_id, fields: ["name"] }, api);
  const speaker_ids = [speaker_id];
  await site.save("PATCH", `sessions/${session_id}/`, { speaker_ids });
  await shows("session.updated", { session_id, fields: ["speaker_ids"] });
  await site.save("DELETE", `speakers/${speaker_id}/`);
  await shows("session.updated", { session_id, fields: ["speaker_ids"] }, api);
  await shows("speaker.deleted", { speaker_id }, api);
  await site.save("DELETE", `sessions/${session_id}/`);
  await shows("session.deleted", { session_id });
  for (const [moderation_state, state] of [
    ["silenced", "silenced"],
    ["banned", "banned"],
    ["none", "none"],
  ]) {
    await site.save("PATCH", `users/${user_id}/`, { moderation_state });
    await until(() =>
      all.some(
        ({ type, data }) => type === "user.moderated" && data.state === state,
      ),
    );
  }
  const key = { issuer: "i", audience: "a", secret: "hidden-".repeat(6) };
  const { config } = await site.save("GET", "");
  config.JWT_secrets.push(key);
  await site.save("PATCH", "", { config });
  await shows("world.updated", { fields: ["config"] });
  const second = await site.room("Second");
  await host.do("room.config.reorder", [second, room]);
  await shows("rooms.reordered", {}, { kind: "user" });
  await site.save("DELETE", `rooms/${room}/`);
  await shows("room.deleted", { room_id: room });
  t.equal((await site.command("user", "delete", "demo", user_id)).code, 0);
  await shows("user.erased", { user_id }, { kind: "command" });

  // The first comment comes at once, and the next one within 15 seconds.
  await until(() => streams.every(({ comments }) => comments > 1));

  // What was streamed is in order, the same at both processes, and in the pages.
  const seqs = all.map(({ seq }) => seq as number);
  t.same(
    seqs,
    [...new Set(seqs)].sort((a, b) => a - b),
    "in order, each once",
  );
  await streams[1]!.has(all.length);
  t.same(
    streams[1]!.events.map(({ seq }) => seq),
    seqs,
    "at both",
  );
  const users = all.filter(({ type }) => type.startsWith("user."));
  await moderators.has(users.length);
  const kinds = [moderators.events, users].map((list) =>
    list.map(({ type }) => type as string),
  );
  t.same(kinds[0], kinds[1], "by types");
  const said = JSON.stringify(all);
  t.notMatch(said, /a direct message|hidden-|-secret-/);
  const { body: late } = await site.api("changes/?after=0&limit=1000");
  t.notMatch(
    JSON.stringify(late),
    /Hello|direct message|"ada"/,
    "it is erased",
  );
});

void t.test("which questions the feed refuses", async (t) => {
  const site = await Site.start(t);
  const rows: [query: string, status: number, field?: string][] = [
    ["after=", 400, "after"],
    ["after=-1", 400, "after"],
    ["after=x", 400, "after"],
    ["after=99999999", 400, "after"],
    ["limit=0", 400, "limit"],
    ["limit=1001", 400, "limit"],
    ["limit=1000&types=,odd,room.*", 200],
    ["after=0", 200],
  ];
  for (const [query, status, field] of rows) {
    const answer = await site.api(`changes/?${query}`);
    t.equal(answer.status, status, query);
    if (field) t.match(answer.body, { [field]: [/./] }, query);
    const stream = { accept: "text/event-stream" };
    if (status !== 400) continue;
    const refused = await site.api(`changes/?${query}`, { headers: stream });
    t.equal(refused.status, 400, `${query}, as a stream`);
  }
  const headers = { accept: "text/event-stream", "last-event-id": "x" };
  const bad = await site.api("changes/?after=0", { headers });
  t.equal(bad.status, 400, "Last-Event-ID wins");
  t.equal((await site.api("changes/", { as: "reader" })).status, 403);
  const nobody = await site.fetch("/api/v1/worlds/demo/changes/");
  t.equal(nobody.status, 401);
});

void t.test("streams, pages and webhooks live through kills", async (t) => {
  const site = await Site.start(t, { WEBHOOK_ALLOW: "127.0.0.1" });
  const door = await site.door();
  const { got, url } = await receiver(t, 503, 204);
  const hook = await site.save("POST", "webhooks/", { url, types: ["room.*"] });
  const token = signed("admin", "admin");
  const client = new Foyer({ baseUrl: door, world: "demo", token });
  const { cursor } = (await site.api("changes/")).body;
  const followed: Change[] = [];
  const stop = new AbortController();
  t.teardown(() => stop.abort());
  const following = (async () => {
    const options = { after: cursor, types: ["room.*"], signal: stop.signal };
    for await (const change of client.changes(options)) followed.push(change);
  })();
  let count = 0;
  /** Makes a room, again if the process ended meanwhile. The answer may be lost. */
  const make = async () => {
    const body = JSON.stringify({ name: `Room ${count++}` });
    const path = `${door}/api/v1/worlds/demo/rooms/`;
    const headers = {
      ...{ authorization: `Bearer ${token}`, connection: "close" },
      "content-type": "application/json",
    };
    for (let tries = 0; tries < 50; tries++) {
      const sent = fetch(path, { method: "POST", body, headers });
      const status = await sent.then(
        ({ status }) => status,
        () => 0,
      );
      if (status === 201) return;
      await delay(100);
    }
    throw new Error("no process takes it");
  };
  const writing = async (rooms: number) => {
    for (let i = 0; i < rooms; i++) await make();
  };
  await writing(5);
  for (const index of [0, 1] as const) {
    await Promise.all([writing(20), site.killOne(index)]);
    await writing(5);
  }
  const { body } = await site.api(
    `changes/?after=${cursor}&types=room.*&limit=1000`,
  );
  const expected: number[] = body.results.map(({ seq }: Json) => seq);
  t.ok(expected.length >= 55);
  await until(() => followed.length >= expected.length);
  stop.abort();
  await following;
  t.same(
    followed.map(({ seq }) => seq),
    expected,
    "client.changes() resumes, and shows each once",
  );

  // Another process delivers within 30 seconds, in order, and at least once.
  const last = `demo.${expected.at(-1)}.${hook.id}`;
  await until(() => got.some(({ headers }) => headers["webhook-id"] === last));
  const ids = got.map(({ headers }) => headers["webhook-id"] as string);
  const firsts = [...new Set(ids)].map((id) => Number(id.split(".")[1]));
  t.same(firsts, expected, "a webhook gets all of them in order");
  const verifier = new Webhook(hook.secret);
  for (const { headers, text } of got) {
    verifier.verify(text, headers as Record<string, string>);
  }
  await site.restart();
  const state = await site.save("GET", `webhooks/${hook.id}/`);
  t.match(state, { enabled: true, state: { failing_since: null } });
  const before = got.length;
  await site.room("After a restart");
  await until(() => got.length > before);
  t.match(got.at(-1)!.body, { type: "room.created", timestamp: String });
});
