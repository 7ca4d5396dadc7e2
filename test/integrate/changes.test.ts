import type { Socket } from "node:net";
import t from "tap";
import { WorldFeed } from "../../plugins/feed/world-feed.js";
import { StoreError } from "../../db/contract/store.js";
import type { Entry } from "../../db/log/entries.js";
import { sampleOf } from "../db/sample-entries.js";
import { typeFilter } from "../../schemas/plain/feed.js";
import { until } from "../helper.js";
import { type Json, makeRoom, startLive } from "../live/client.js";
import { openStream } from "./stream.js";

const CHAT = { module_config: [{ type: "chat.native" }] };

/** The administrator, whose user exists after a login. */
const ADMIN = {
  ...{ uid: "ada", traits: ["admin", "api"] },
  profile: { display_name: "Ada" },
};

// feed.test.ts has every type of change, and the questions that are refused.
void t.test("pages and streams of what happened", async (t) => {
  const live = await startLive(t);
  const token = live.tokenOf(ADMIN);
  const get = async (query: string): Promise<Json> =>
    (await live.rest("GET", `demo/changes/${query}`)).body;
  const { cursor: start, ...empty } = await get("");
  t.match(empty, { results: [], more: false });
  const feed = `${live.baseUrl}/api/v1/worlds/demo/changes/`;
  const streamed = await openStream(t, `${feed}?after=${start}`, token);
  const ada = await live.person(ADMIN);
  const room = await makeRoom(live, CHAT);
  await ada.do("chat.join", { channel: room });
  const message = { channel: room, event_type: "channel.message" };
  const content = { type: "text", body: "first" };
  const { event } = await ada.do("chat.send", { ...message, content });
  const replaces = event.event_id as number;
  const gone = { content: { type: "deleted" }, replaces };
  await ada.do("chat.send", { ...message, ...gone });
  await live.rest("PATCH", "demo/", {});
  await live.rest("DELETE", `demo/rooms/${room}/`);

  const types = [
    ...["user.created", "room.created", "chat.joined", "chat.message"],
    ...["chat.deleted", "room.deleted"],
  ];
  const typesOf = (changes: Json[]) =>
    changes.map(({ type }) => type as string);
  await streamed.has(types.length);
  t.same(typesOf(streamed.events), types, "and nothing else");
  t.match(streamed.events[3]!.data.content, { body: "first" });

  const all = await get(`?after=${start}`);
  const kept = types.filter((type) => !type.startsWith("chat."));
  t.same(typesOf(all.results), kept, "what is read later is erased");
  t.equal(all.more, false);
  const pages: Json[] = [];
  for (let page: Json = { cursor: start, more: true }; page.more;) {
    page = await get(`?after=${page.cursor}&limit=2`);
    t.ok(page.results.length <= 2);
    pages.push(...page.results);
  }
  t.same(pages, all.results, "by pages");
  const chosen = await get(`?after=${start}&types=room.*,nonsense`);
  t.same(typesOf(chosen.results), ["room.created", "room.deleted"]);
  t.same((await get(`?after=${start}&types=nonsense`)).results, []);

  const resumed = await openStream(t, `${feed}?after=0&types=room.*`, token, {
    "last-event-id": String(streamed.events[1]!.seq),
  });
  await resumed.has(1);
  t.same(typesOf(resumed.events), ["room.deleted"]);
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

void t.test("a client goes before its stream begins", async (t) => {
  const live = await startLive(t);
  const { log } = live.app.store;
  const heads = log.heads.bind(log);
  const abort = new AbortController();
  let isAsked = false;
  let goOn = () => {};
  const gone = new Promise<void>((resolve) => (goOn = resolve));
  log.heads = async (worlds) => {
    isAsked = true;
    await gone;
    return heads(worlds);
  };
  const sockets = new Set<Socket>();
  live.app.server.on("connection", (socket) => sockets.add(socket));
  const asked = fetch(`${live.baseUrl}/api/v1/worlds/demo/changes/`, {
    signal: abort.signal,
    headers: {
      ...{ accept: "text/event-stream" },
      authorization: `Bearer ${live.tokenOf(ADMIN)}`,
    },
  });
  await until(() => isAsked);
  abort.abort();
  await t.rejects(asked);
  await until(() => [...sockets].every(({ destroyed }) => destroyed));
  log.heads = heads;
  goOn();
  const { status } = await live.rest("GET", "demo/changes/");
  t.equal(status, 200, "it goes on");
  t.equal(live.app.feeds.count, 0, "and nothing waits for the client");
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
  const feed = new WorldFeed(live.app.store, "demo", (error) => {
    throw error;
  });
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

void t.test(
  "what cannot be read is tried again, unless it is a bug",
  async (t) => {
    const entry = { ...sampleOf("room.created"), seq: 1 } as unknown as Entry;
    const cases: [name: string, error: Error, isSent: boolean][] = [
      ["a store that is away", new StoreError("busy", "x"), true],
      ["a bug", new TypeError("x"), false],
    ];
    for (const [name, error, isSent] of cases) {
      let reads = 0;
      const users = {
        getMany: async () => {
          if (++reads === 1) throw error;
          return [];
        },
      };
      const audit = { callers: async () => [] };
      const faults: unknown[] = [];
      let [sent, ended] = [0, 0];
      const feed = new WorldFeed({ users, audit } as never, "demo", (fault) =>
        faults.push(fault),
      );
      feed.add({
        filter: typeFilter(["*"]),
        take: () => void sent++,
        end: () => void ended++,
      } as never);
      feed.take(entry);
      await until(() => sent + ended > 0);
      t.equal(sent, Number(isSent), name);
      t.strictSame(faults, isSent ? [] : [error], name);
    }
  },
);
