import t from "tap";
import { WorldFeed } from "../../plugins/feed/world-feed.js";
import { typeFilter } from "../../schemas/plain/feed.js";
import { until } from "../helper.js";
import { demo, type Json, makeRoom, startLive } from "../live/client.js";
import { openStream } from "./stream.js";

const CHAT = { module_config: [{ type: "chat.native" }] };

/** The administrator, whose user exists after a login. */
const ADMIN = {
  ...{ uid: "ada", traits: ["admin", "api"] },
  profile: { display_name: "Ada" },
};

void t.test("what happened is in the feed, once and in order", async (t) => {
  const live = await startLive(t);
  const token = live.tokenOf(ADMIN);
  const get = async (query: string): Promise<Json> => {
    const url = `${live.baseUrl}/api/v1/worlds/demo/changes/${query}`;
    const answer = await fetch(url, {
      headers: { authorization: `Bearer ${token}` },
    });
    return { status: answer.status, ...((await answer.json()) as object) };
  };
  const { cursor: start, ...empty } = await get("");
  t.match(empty, { status: 200, results: [], more: false });
  const streamed = await openStream(
    t,
    `${live.baseUrl}/api/v1/worlds/demo/changes/?after=${start}`,
    token,
  );
  const ada = await live.person(ADMIN);
  const user_id = ada.id;
  const byAda = { kind: "user", user_id, token_id: "ada" };
  const room = await makeRoom(live, {
    ...{
      module_config: [
        ...CHAT.module_config,
        { type: "question", config: { active: true } },
        { type: "poll" },
      ],
    },
  });
  await ada.do("chat.join", { channel: room });
  const chat = async (channel: string, body: string) =>
    (
      await ada.do("chat.send", {
        ...{ channel, event_type: "channel.message" },
        content: { type: "text", body },
      })
    ).event.event_id as number;
  const first = await chat(room, "first");
  const second = await chat(room, "second");
  await ada.do("chat.send", {
    ...{ channel: room, event_type: "channel.message", replaces: first },
    content: { type: "text", body: "1st" },
  });
  await ada.do("chat.send", {
    ...{ channel: room, event_type: "channel.message", replaces: second },
    content: { type: "deleted" },
  });
  const eve = await live.person({ uid: "eve" });
  const eveId = eve.id;
  const direct = await ada.do("chat.direct.create", {
    users: [eveId],
  });
  await chat(direct.id as string, "secret");
  const asked = await eve.do("question.ask", {
    ...{ room, content: "Why?" },
  });
  const question = asked.question.id as string;
  await eve.do("question.vote", { room, id: question, vote: true });
  const moderated = await ada.do("user.silence", { id: eveId });
  t.ok(moderated);
  await live.rest("PATCH", "demo/", {
    config: { theme: { a: 1 }, JWT_secrets: demo().config!.JWT_secrets },
  });
  await live.rest("PATCH", "demo/", {});
  await live.rest("DELETE", `demo/rooms/${room}/`);

  const place = { room_id: room, channel_id: room };
  const asksFor = { room_id: room, question_id: question };
  const expected = [
    { type: "user.created", by: byAda, data: { user_id } },
    { type: "room.created", by: { kind: "server" }, data: { room_id: room } },
    { type: "chat.joined", by: byAda, data: { ...place, user_id } },
    {
      ...{ type: "chat.message", by: byAda },
      data: { ...place, event_id: first, user_id },
    },
    { type: "chat.message", data: { ...place, event_id: second, user_id } },
    {
      type: "chat.edited",
      data: { ...place, event_id: first, content: { body: "1st" } },
    },
    { type: "chat.deleted", data: { ...place, event_id: second, user_id } },
    { type: "user.created", data: { user_id: eveId } },
    { type: "question.created", data: asksFor },
    { type: "question.votes", by: null, data: { ...asksFor, score: 1 } },
    { type: "user.moderated", data: { user_id: eveId, state: "silenced" } },
    {
      ...{ type: "world.updated", data: { fields: ["config"] } },
      by: { kind: "api", token_id: null },
    },
    { type: "room.deleted", data: { room_id: room } },
  ];
  await streamed.has(expected.length);
  t.match(streamed.events, expected, "streamed");
  t.equal(streamed.events.length, expected.length, "and nothing else");
  const seqs = streamed.events.map(({ seq }) => seq as number);
  t.same(
    seqs,
    [...seqs].sort((a, b) => a - b),
  );
  t.match(streamed.events[3]!.data.content, { body: "first" });
  t.notMatch(JSON.stringify(streamed.events), /secret/);

  const kept = expected.filter(
    ({ type }) => !type.startsWith("chat.") && type !== "question.votes",
  );
  const all = await get(`?after=${start}`);
  t.match(all.results, kept, "what is read later lacks erased messages");
  t.equal(all.more, false);

  const pages: Json[] = [];
  for (let page: Json = { cursor: start, more: true }; page.more;) {
    page = await get(`?after=${page.cursor}&limit=2`);
    t.ok(page.results.length <= 2);
    pages.push(...page.results);
  }
  t.same(pages, all.results, "by pages");
  t.match(
    (await get(`?after=${start}&types=room.*,nonsense,user.moderated`)).results,
    [
      { type: "room.created" },
      { type: "user.moderated" },
      { type: "room.deleted" },
    ],
  );
  t.equal((await get(`?after=${start}&types=nonsense`)).results.length, 0);
  t.match((await get("?after=0")).results[0], { type: "user.created" });

  const resumed = await openStream(
    t,
    `${live.baseUrl}/api/v1/worlds/demo/changes/?after=0&types=user.*`,
    token,
    { "last-event-id": String(seqs[6]) },
  );
  await resumed.has(2);
  t.match(resumed.events, [expected[7], expected[10]]);

  for (const query of [
    "?after=",
    "?after=-1",
    "?after=99999",
    "?after=1.5",
    "?after=x",
  ]) {
    t.match(await get(query), { status: 400, after: [String] }, query);
  }
  for (const query of ["?limit=0", "?limit=1001", "?limit=x"]) {
    t.match(await get(query), { status: 400, limit: [String] }, query);
  }
  const refused = await openStream(
    t,
    `${live.baseUrl}/api/v1/worlds/demo/changes/`,
    token,
    { "last-event-id": "99999" },
  );
  t.equal(refused.status, 400);
});

void t.test("a cursor that the log no longer reaches", async (t) => {
  const live = await startLive(t);
  await makeRoom(live);
  const { seq } = (await live.app.store.log.heads(["demo"]))[0]!;
  await live.app.store.log.prune("demo", Date.now() + 1);
  await makeRoom(live);
  const token = live.tokenOf(ADMIN);
  for (const accept of ["application/json", "text/event-stream"]) {
    const get = (after: number) =>
      fetch(`${live.baseUrl}/api/v1/worlds/demo/changes/?after=${after}`, {
        headers: { authorization: `Bearer ${token}`, accept },
      });
    const expired = await get(seq - 1);
    t.equal(expired.status, 410, accept);
    t.match(await expired.json(), { code: "cursor_expired" });
    const kept = await get(seq);
    t.equal(kept.status, 200);
    await kept.body!.cancel();
  }
  const oldest = await live.rest("GET", "demo/changes/?after=0");
  t.match(oldest.body, { results: [{ seq: seq + 1, type: "room.created" }] });
});

void t.test("a stream ends with the right to it", async (t) => {
  const live = await startLive(t);
  const url = `${live.baseUrl}/api/v1/worlds/demo/changes/`;
  const denied = await openStream(t, url, live.tokenOf({ traits: ["api"] }));
  t.equal(denied.status, 403);
  const short = await openStream(
    t,
    url,
    live.tokenOf({ ...ADMIN, seconds: 3 }),
  );
  const others = await Promise.all(
    ["admin", "lead"].map((trait) =>
      openStream(t, url, live.tokenOf({ traits: ["admin", "api", trait] })),
    ),
  );
  await until(() => short.ended);
  t.notOk(others[0]!.ended || others[1]!.ended);
  const { permission_config } = (await live.rest("GET", "demo/")).body;
  await live.rest("PATCH", "demo/", {
    permission_config: { ...permission_config, "world.feed": ["lead"] },
  });
  await until(() => others[0]!.ended);
  t.same(others[0]!.events, [], "nothing came after the right was lost");
  await others[1]!.has(1);
  t.match(others[1]!.events, [{ type: "world.updated" }]);
  await live.app.store.worlds.delete("demo");
  await until(() => others[1]!.ended);
});

void t.test("a reader that falls behind is dropped", async (t) => {
  const live = await startLive(t);
  const room = await makeRoom(live, CHAT);
  const url = `${live.baseUrl}/api/v1/worlds/demo/changes/`;
  const token = live.tokenOf(ADMIN);
  const { port } = new URL(live.baseUrl);
  const { connect } = await import("node:net");
  const slow = connect(Number(port), "127.0.0.1");
  t.teardown(() => slow.destroy());
  slow.pause();
  slow.write(
    `GET ${new URL(url).pathname} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );
  const fast = await openStream(t, url, token);
  await until(() => live.app.feeds.count === 2);
  const { id: sender } = await live.app.store.users.enter("demo", {
    ...{ tokenId: "eve", traits: new Set<string>() },
  });
  await live.app.store.chat.join("demo", room, sender);
  let sent = 0;
  while (live.app.feeds.count === 2 && sent < 20_000) {
    await Promise.all(
      Array.from({ length: 50 }, async () =>
        live.app.store.chat.send("demo", room, {
          ...{ sender, content: { type: "text", body: "x".repeat(9000) } },
        }),
      ),
    );
    sent += 50;
  }
  t.equal(live.app.feeds.count, 1);
  await fast.has(sent + 2);
  t.notOk(fast.ended, "others are not affected");
});

void t.test("a text that is erased before it is sent", async (t) => {
  const live = await startLive(t);
  const room = await makeRoom(live, CHAT);
  const { chat, log, users } = live.app.store;
  const { id: sender } = await users.enter("demo", {
    ...{ tokenId: "eve", traits: new Set<string>() },
  });
  await chat.join("demo", room, sender);
  const { seq } = (await log.heads(["demo"]))[0]!;
  const send = (content: object, replaces?: number) =>
    chat.send("demo", room, { sender, content, replaces } as never);
  const { event } = await send({ type: "text", body: "my secret" });
  const written = (await log.since("demo", seq, 10)).entries;
  await send({ type: "deleted" }, event.id);
  const all = (await log.since("demo", seq, 10)).entries;
  t.match(JSON.stringify(written), /my secret/);
  const sent: { type: string; json: string }[] = [];
  const feed = new WorldFeed(live.app.store, "demo");
  feed.add({
    filter: typeFilter(["*"]),
    take: (items: typeof sent) => void sent.push(...items),
  } as never);
  for (const entry of [...written, ...all.slice(written.length)]) {
    feed.take(entry);
  }
  await until(() => sent.length === 2);
  t.match(sent, [{ type: "chat.message" }, { type: "chat.deleted" }]);
  t.notMatch(JSON.stringify(sent), /my secret/);
});
