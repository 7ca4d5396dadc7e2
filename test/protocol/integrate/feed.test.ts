import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import t, { type Test } from "tap";
import { type Change, Foyer } from "../../../client/index.js";
import type { Json } from "../../../conformance/client.js";
import { StoreError } from "../../../db/contract/store.js";
import { type Entry, INDEX } from "../../../db/log/entries.js";
import { published } from "../../../db/log/log-events.js";
import { importDocument } from "../../../db/program-imports.js";
import { WorldFeed } from "../../../plugins/feed/world-feed.js";
import { typeFilter } from "../../../schemas/plain/feed.js";
import { sampleOf } from "../../contract/db/sample-entries.js";
import { documentOf } from "../../contract/db/store-contract/program.js";
import { openStore } from "../../support/database.js";
import { until, worldOf } from "../../support/helper.js";
import { receiver } from "../../support/receiver.js";
import type { Shown, Silent } from "../../support/resource.js";
import { fromAll, resources } from "../../support/resources.js";
import { type Server, startServer } from "../../support/server.js";
import { startBalancer } from "../../support/servers/proxy.js";
import { shared } from "../../support/shared.js";
import { type Site, startSite } from "../../support/site.js";
import { testdir } from "../../support/testdir.js";

/** An event stream from a client's perspective. */
interface Stream {
  readonly status: number;
  readonly events: Json[];
  comments: number;
  ended: boolean;
  has(count: number): Promise<Json[]>;
  close(): void;
}

/** Opens an event stream. It is closed at the end of the test. */
async function openStream(
  t: Test,
  url: string,
  token: string,
  headers: Record<string, string> = {},
): Promise<Stream> {
  const abort = new AbortController();
  t.teardown(() => abort.abort());
  const answer = await fetch(url, {
    signal: abort.signal,
    headers: {
      accept: "text/event-stream",
      authorization: `Bearer ${token}`,
      ...headers,
    },
  });
  const stream: Stream = {
    status: answer.status,
    events: [],
    comments: 0,
    ended: false,
    async has(count) {
      await until(() => stream.events.length >= count || stream.ended);
      return stream.events;
    },
    close: () => abort.abort(),
  };
  const read = async () => {
    let rest = "";
    const decoder = new TextDecoder();
    for await (const chunk of answer.body!) {
      rest += decoder.decode(chunk, { stream: true });
      const blocks = rest.split("\n\n");
      rest = blocks.pop()!;
      for (const block of blocks) {
        if (block.startsWith(":")) {
          stream.comments++;
          continue;
        }
        const fields = Object.fromEntries(
          block.split("\n").map((line) => line.split(/: (.*)/s, 2)),
        ) as Record<string, string>;
        const data = JSON.parse(fields.data!);
        if (fields.id !== data.cursor || fields.event !== data.type) {
          throw new Error(`the fields differ from the data: ${block}`);
        }
        stream.events.push(data);
      }
    }
  };
  if (answer.status === 200) {
    read().then(
      () => (stream.ended = true),
      () => (stream.ended = true),
    );
  }
  return stream;
}

// The change feed and webhooks of two processes, as programs see them.

const MODULES = ["chat.native", "question", "poll"].map((type) => ({
  type,
  config: { active: true, requires_moderation: false },
}));

void t.test("every type is shown with its subject and author", async (t) => {
  const site = await startSite(t);
  const { body: start } = await site.api("changes/");
  t.match(start, { results: [], more: false, cursor: String });
  const token = site.tokenOf({ uid: "admin", traits: ["admin"] });
  const [one, two] = [site.baseUrls[0]!, site.baseUrls.at(-1)!];
  const feed = (address: string, query: string) =>
    openStream(t, `${address}/api/v1/worlds/demo/changes/?${query}`, token);
  const streams = await Promise.all(
    [one, two].map((address) => feed(address, `after=${start.cursor}`)),
  );
  const moderators = await feed(two, `after=${start.cursor}&types=user.*,odd`);
  const all = streams[0]!.events;
  const shown = new Set<Json>();
  /** Waits until all streams have received a change with this data. */
  const shows = async (type: string, data: object, by?: object | null) => {
    const find = () => all.find((event) => event.type === type && !shown.has(event));
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
  const room = (await site.save("POST", "rooms/", { name: "A", module_config: MODULES }))
    .id as string;
  await shows("room.created", { room_id: room }, { ...api, token_id: "admin" });
  await site.save("PATCH", `rooms/${room}/`, { name: "B" });
  await shows("room.updated", { room_id: room, fields: ["name"] });
  await site.save("PATCH", "", { title: "New" });
  await shows("world.updated", { fields: ["title"] });
  const host = await site.person("admin", "admin", "editor");
  await shows("user.created", { user_id: host.id });
  const ada = await site.person("ada", "reader");
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
  await shows("chat.message", { ...place, event_id, content: { body: "Hello" } });
  await send("Hello!", { replaces: event_id });
  await shows("chat.edited", { ...place, event_id, content: { body: "Hello!" } });
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
    room,
    content: "Which?",
    state: "open",
    poll_type: "choice",
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
  const { id: announcement_id } = await site.save("POST", "announcements/", draft);
  await shows("announcement.created", { announcement_id }, api);
  await site.save("PATCH", `announcements/${announcement_id}/`, { text: "Tea" });
  await shows("announcement.updated", { announcement_id, fields: ["text"] });
  await site.upload();
  const { file_id } = (await shows("file.added", {}, { kind: "user" })).data;
  await site.save("DELETE", `files/${file_id}/`);
  await shows("file.deleted", { file_id }, api);
  const session_id = await site.session("Opening");
  await shows("session.created", { session_id }, api);
  await site.save("PATCH", `sessions/${session_id}/`, { title: "Closing" });
  await shows("session.updated", { session_id, fields: ["title"] });
  const { id: speaker_id } = await site.save("POST", "speakers/", { name: "Ada" });
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
      all.some(({ type, data }) => type === "user.moderated" && data.state === state),
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

  // The first comment is sent immediately, and the next one within 15 seconds.
  await until(() => streams.every(({ comments }) => comments > 1));

  // Streamed changes are in order, identical on both processes, and the same as in the pages.
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
  const kinds = [moderators.events, users].map((list) => list.map(({ type }) => type as string));
  t.same(kinds[0], kinds[1], "by types");
  const said = JSON.stringify(all);
  t.notMatch(said, /a direct message|hidden-|-secret-/);
  const { body: late } = await site.api("changes/?after=0&limit=1000");
  t.notMatch(JSON.stringify(late), /Hello|direct message|"ada"/, "it is erased");
});

void t.test("which questions the feed refuses", async (t) => {
  const site = await startSite(t);
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
  const nobody = await site.call({ url: "/api/v1/worlds/demo/changes/" });
  t.equal(nobody.status, 401);
});

/** The process ids of killed workers, on SQLite. */
const killed = new Set<number>();

/** Kills one of the two processes, and waits until it has been replaced. */
async function killOne({ processes, restart }: Site, index: 0 | 1): Promise<void> {
  if (shared) return restart("SIGKILL", index);
  const workers = () =>
    [...processes[0]!.said.stdout.matchAll(/"pid":(\d+).*"Server listening/g)]
      .map(([, pid]) => Number(pid))
      .filter((pid) => !killed.has(pid));
  await until(() => workers().length === 2);
  // Workers are sorted from oldest to newest.
  const pid = workers()[index]!;
  killed.add(pid);
  process.kill(pid, "SIGKILL");
  await until(() => workers().length === 2);
}

void t.test("streams, pages and webhooks live through kills", async (t) => {
  const site = await startSite(t, { WEBHOOK_ALLOW: "127.0.0.1" });
  const ports = site.processes.map(({ port }) => port);
  const door = shared ? `http://127.0.0.1:${await startBalancer(t, ports)}` : site.baseUrl;
  const { got, url } = await receiver(t, 503, 204);
  const hook = await site.save("POST", "webhooks/", { url, types: ["room.*"] });
  const token = site.tokenOf({ uid: "admin", traits: ["admin"] });
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
  /** Creates a room, and retries if the process has ended. The response may be lost. */
  const make = async () => {
    const body = JSON.stringify({ name: `Room ${count++}` });
    const path = `${door}/api/v1/worlds/demo/rooms/`;
    const headers = {
      authorization: `Bearer ${token}`,
      connection: "close",
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
    await Promise.all([writing(20), killOne(site, index)]);
    await writing(5);
  }
  const { body } = await site.api(`changes/?after=${cursor}&types=room.*&limit=1000`);
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

  // Another process takes over the deliveries within 30 seconds, in order and at least once.
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

const makeRoom = async ({ store }: Server, draft: object = {}): Promise<string> =>
  (await store.rooms.create("demo", { name: "Main stage", ...draft })).value.id;

const CHAT = { module_config: [{ type: "chat.native" }] };

/** The administrator, whose user is created by a login. */
const ADMIN = { uid: "ada", traits: ["admin", "api"], profile: { display_name: "Ada" } };

// feed.test.ts covers every type of change, and invalid queries.
void t.test("pages and streams of what happened", async (t) => {
  const live = await startServer(t);
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
    "user.created",
    "room.created",
    "chat.joined",
    "chat.message",
    "chat.deleted",
    "room.deleted",
  ];
  const typesOf = (changes: Json[]) => changes.map(({ type }) => type as string);
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
  const live = await startServer(t);
  await makeRoom(live);
  const { seq } = (await live.store.log.heads(["demo"]))[0]!;
  await live.store.log.prune("demo", Date.now() + 1);
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
  const live = await startServer(t);
  const url = `${live.baseUrl}/api/v1/worlds/demo/changes/`;
  const denied = await openStream(t, url, live.tokenOf({ traits: ["api"] }));
  t.equal(denied.status, 403);
  const short = await openStream(t, url, live.tokenOf({ ...ADMIN, seconds: 3 }));
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
  await live.store.worlds.delete("demo");
  await until(() => others[1]!.ended);
});

void t.test("a client goes before its stream begins", async (t) => {
  const live = await startServer(t);
  const { log } = live.store;
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
      accept: "text/event-stream",
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

void t.test(
  "all streams of a token end when its invitation does, even if the end has changed",
  async (t) => {
    const live = await startServer(t);
    const { body: invitation } = await live.rest("POST", "demo/invitations/", { role: "admin" });
    const token = (invitation.link as string).split("#token=")[1]!;
    const url = `${live.baseUrl}/api/v1/worlds/demo/changes/`;
    const streams = [await openStream(t, url, token), await openStream(t, url, token)];
    const expires_at = new Date(Date.now() + 300).toISOString();
    await live.rest("PATCH", `demo/invitations/${invitation.id}/`, { expires_at });
    await until(() => streams.every(({ ended }) => ended));
    t.ok(Date.now() >= Date.parse(expires_at), "not before");
  },
);

void t.test("a reader that falls behind is dropped", async (t) => {
  const live = await startServer(t);
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
  const { id: sender } = await live.store.users.enter("demo", {
    tokenId: "eve",
    traits: new Set<string>(),
  });
  await live.store.chat.join("demo", room, sender);
  let sent = 0;
  while (live.app.feeds.count === 2 && sent < 20_000) {
    await Promise.all(
      Array.from({ length: 50 }, async () =>
        live.store.chat.send("demo", room, {
          sender,
          content: { type: "text", body: "x".repeat(9000) },
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
  const live = await startServer(t);
  const room = await makeRoom(live, CHAT);
  const { chat, log, users } = live.store;
  const { id: sender } = await users.enter("demo", { tokenId: "eve", traits: new Set<string>() });
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
  const feed = new WorldFeed(live.store, "demo", (error) => {
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

void t.test("what cannot be read is tried again, unless it is a bug", async (t) => {
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
    const feed = new WorldFeed({ users, audit } as never, "demo", (fault) => faults.push(fault));
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
});

// Every write of the store appears in the change feed, or is listed here with the reason why not.

const reads = "reads";
const OF_SERVER = { not: "The feed of a world begins and ends with it." };
const OWN = { not: "Only its user sees it." };
const AUDITED = { not: "It is in the audit, as an act that changes no data." };
const AGED = { not: "Retention ends what is too old for all readers." };
const STATE = { not: "It is what the server keeps for its own work." };

const silent: Readonly<Record<string, Silent>> = {
  "worlds.get": reads,
  "worlds.at": reads,
  "worlds.list": reads,
  "worlds.issuing": reads,
  "worlds.export": reads,
  "worlds.create": OF_SERVER,
  "worlds.clone": OF_SERVER,
  "worlds.import": OF_SERVER,
  "worlds.delete": OF_SERVER,
  "rooms.get": reads,
  "rooms.list": reads,
  "rooms.all": reads,
  "users.get": reads,
  "users.find": reads,
  "users.getMany": reads,
  "users.byPretalx": reads,
  "users.search": reads,
  "users.list": reads,
  "users.blocked": reads,
  "users.waiting": reads,
  "users.nextModerationEnd": reads,
  "users.networkBan": reads,
  "users.lookAlikes": reads,
  "users.block": OWN,
  "users.unblock": OWN,
  "files.has": reads,
  "files.get": reads,
  "files.list": reads,
  "files.keys": reads,
  "files.size": reads,
  "announcements.list": reads,
  "attendance.counts": reads,
  "attendance.visits": reads,
  "attendance.sample": { not: "Attendance has answers of its own." },
  "attendance.note": { not: "Attendance has answers of its own." },
  "attendance.prune": AGED,
  "chat.lastId": reads,
  "chat.channel": reads,
  "chat.events": reads,
  "chat.sent": reads,
  "chat.sentBy": reads,
  "chat.event": reads,
  "chat.search": reads,
  "chat.held": reads,
  "chat.heldMessage": reads,
  "chat.hold": { not: "Only the author and the moderators hear of messages that wait." },
  "chat.reject": { not: "Only the author and the moderators hear of messages that wait." },
  "chat.rejectAll": { not: "Only the author and the moderators hear of messages that wait." },
  "reports.get": reads,
  "reports.list": reads,
  "reports.notes": reads,
  "reports.open": reads,
  "chat.deliveries": reads,
  "chat.isMember": reads,
  "chat.members": reads,
  "chat.memberships": reads,
  "chat.marks": reads,
  "chat.unread": reads,
  "chat.react": { not: "Reactions are not shown to programs." },
  "chat.direct": { not: "Direct channels are never in the feed." },
  "chat.mark": OWN,
  "chat.empty": { not: "`user.erased` says whose messages have no text." },
  "chat.expire": AGED,
  "questions.get": reads,
  "questions.seen": reads,
  "questions.ofUser": reads,
  "questions.list": reads,
  "polls.get": reads,
  "polls.list": reads,
  "polls.ballots": reads,
  "polls.voters": reads,
  "polls.summary": reads,
  "polls.players": reads,
  "polls.ending": reads,
  "program.get": reads,
  "program.rooms": reads,
  "program.references": reads,
  "program.favorites": reads,
  "program.moved": reads,
  "program.edits": reads,
  "program.favor": OWN,
  "ratings.own": reads,
  "ratings.list": reads,
  "ratings.sums": reads,
  "ratings.rate": { not: "Ratings are read without their authors, in the results." },
  "programLinks.user": reads,
  "programLinks.link": OWN,
  "invites.find": reads,
  "invites.of": reads,
  "invites.byCode": reads,
  "invites.link": AUDITED,
  "invites.end": AUDITED,
  "push.key": reads,
  "push.of": reads,
  "push.due": reads,
  "push.moderating": reads,
  "push.moved": reads,
  "captions.get": reads,
  "captions.list": reads,
  "captions.count": reads,
  "captions.kept": reads,
  "captions.now": reads,
  "captions.languages": reads,
  "captions.expire": AGED,
  "screens.get": reads,
  "screens.show": { not: "It is for the screens and the hosts of the room alone." },
  "push.keep": STATE,
  "push.subscribe": OWN,
  "push.forget": OWN,
  "push.claim": STATE,
  "audit.list": reads,
  "audit.callers": reads,
  "audit.record": AUDITED,
  "audit.prune": AGED,
  "log.heads": reads,
  "log.since": reads,
  "log.floor": reads,
  "log.state": reads,
  "log.history": reads,
  "log.prune": AGED,
  ...fromAll(({ silent }) => silent),
};

void t.test("every write is shown, or has a reason", async (t) => {
  const entries: Entry[] = [];
  const store = openStore(t, testdir(t), {
    onAppended: (hints) => {
      entries.push(...hints.map(({ entry }) => entry));
      return undefined;
    },
  });
  const { worlds, rooms, users, files, announcements } = store;
  const { calls, captions, chat, questions, polls, program, reports } = store;
  await worlds.create(worldOf("demo"));
  const visitor = { tokenId: "ada", traits: new Set<string>() };
  const { id: ada } = await users.enter("demo", visitor);
  const { id: bob } = await users.enter("demo", { ...visitor, tokenId: "bob" });
  const key = "pub/demo/0d6f1a3e-8c1b-4a55-9f5e-2f6d4c7a9b10.secret.png";
  const file = { key, size: 1, sha256: "00" };
  await files.add("demo", visitor, file, 1e9);
  const room = (await rooms.create("demo", { name: "R" })).value.id;
  const question = await questions.create("demo", room, {
    sender: ada,
    content: "q",
    state: "visible",
  });
  const poll = await polls.create("demo", room, {
    content: "p",
    state: "open",
    options: [{ content: "o" }],
  });
  const made = await announcements.create("demo", { text: "a", state: "draft", show_until: null });
  const valueOf = <T>(answer: T) => answer as Exclude<T, { faults: unknown }>;
  const speakerWith = async (fields: object) =>
    valueOf(await program.createSpeaker("demo", { name: "x", ...fields }, ["demo.example"])).value
      .id;
  const speaker = await speakerWith({});
  await speakerWith({ user_id: bob });
  await speakerWith({ picture: `https://demo.example/media/${key}` });
  const twin = await speakerWith({ organization: "o" });
  const speaker_ids = [speaker, twin];
  const session = valueOf(
    await program.createSession("demo", { title: "s", speaker_ids, room_id: room }),
  ).session.value.id;
  const sight = { sees: () => true, hosts: [] };
  const message = { sender: ada, content: { type: "text", body: "x" } };
  await chat.join("demo", room, ada);
  const { event } = await chat.send("demo", room, message);

  const { id: dee } = await users.enter("demo", { ...visitor, tokenId: "dee" });
  const complaint = { by: ada, reason: "spam", text: "", at: 1 } as const;
  const report = () => reports.create("demo", { kind: "user", room: null, user: dee }, complaint);
  const visit = { identity: `${ada}:1`, session: "s1" };
  const again = { ...visit, session: "s2", joined: 2, sources: [] };
  const device = { identity: visit.identity, user: ada, hidden: false, access: { traits: [] } };
  await calls.issued("demo", room, { ...device, ends: 9 }, { now: 1 });

  const writes: Record<string, Shown[]> = {
    "worlds.update": [[() => worlds.update("demo", { title: "b" }), "world.updated"]],
    "worlds.configure": [[() => worlds.configure("demo", { title: "c" }), "world.updated"]],
    "rooms.create": [[() => rooms.create("demo", { name: "S" }), "room.created"]],
    "rooms.open": [[() => rooms.open("demo", { name: "T" }), "room.created"]],
    "rooms.update": [[() => rooms.update("demo", room, { name: "U" }), "room.updated"]],
    "rooms.schedule": [[() => rooms.schedule("demo", room, { session: 1 }), "room.updated"]],
    "rooms.reorder": [[() => rooms.reorder("demo", [room]), "rooms.reordered"]],
    "users.enter": [
      [() => users.enter("demo", { ...visitor, tokenId: "cy" }), "user.created"],
      [() => users.enter("demo", { tokenId: "cy", traits: new Set(["x"]) }), "user.updated"],
    ],
    "users.update": [
      [() => users.update("demo", ada, { profile: { display_name: "A" } }), "user.updated"],
    ],
    "users.moderate": [[() => users.moderate("demo", bob, "silenced"), "user.moderated"]],
    "users.moderateNamed": [
      [() => users.moderateNamed("demo", "later", "banned"), "user.created", "user.moderated"],
    ],
    "users.answer": [
      [
        async () => {
          const guest = { waits: true };
          const { id } = await users.enter("demo", { clientId: "w", traits: new Set(), guest });
          await users.answer("demo", id, true);
        },
        "user.created",
        "user.moderated",
      ],
    ],
    "users.endModeration": [
      [
        async () => {
          await users.moderate("demo", bob, { state: "silenced", until: 1 });
          await users.endModeration("demo", 2);
        },
        "user.moderated",
        "user.moderated",
      ],
    ],
    "users.erase": [
      [() => users.erase("demo", { user_id: bob }), "user.erased", "speaker.updated"],
    ],
    "files.add": [
      [() => files.add("demo", visitor, { ...file, key: `${key}.jpeg` }, 1e9), "file.added"],
    ],
    "files.delete": [
      [
        () => files.delete("demo", "0d6f1a3e-8c1b-4a55-9f5e-2f6d4c7a9b10"),
        "file.deleted",
        "speaker.updated",
      ],
    ],
    "announcements.create": [
      [
        () => announcements.create("demo", { text: "b", state: "draft", show_until: null }),
        "announcement.created",
      ],
    ],
    "announcements.update": [
      [() => announcements.update("demo", made.id, { text: "c" }), "announcement.updated"],
    ],
    "chat.join": [
      [
        async () => chat.join("demo", room, (await users.find("demo", { tokenId: "cy" }))!.id),
        "chat.joined",
      ],
    ],
    "chat.send": [
      [() => chat.send("demo", room, message), "chat.message"],
      [() => chat.send("demo", room, { ...message, replaces: event.id }), "chat.edited"],
      [
        () =>
          chat.send("demo", room, {
            sender: ada,
            content: { type: "deleted" },
            replaces: event.id,
          }),
        "chat.deleted",
      ],
    ],
    "chat.approve": [
      [
        async () => {
          const { id } = await chat.hold("demo", room, message, 1);
          await chat.approve("demo", room, id, [], false);
        },
        "chat.message",
      ],
    ],
    "reports.create": [[() => report(), "report.created"]],
    "reports.resolve": [
      [
        async () => {
          const scope = { user: bob, rooms: [], world: true };
          const [found] = await reports.list("demo", scope, { limit: 1 });
          await reports.resolve("demo", found!.id, "dismissed", bob, 1);
        },
        "report.resolved",
      ],
    ],
    "chat.leave": [[() => chat.leave("demo", room, ada, false), "chat.left"]],
    "calls.joined": [
      [() => calls.joined("demo", room, visit, { at: 1, now: 1 }), "call.started", "call.joined"],
    ],
    "captions.add": [
      [
        () => {
          const line = { lang: "en", text: "Hello.", final: true, at: 1 };
          const lines = [line, { ...line, final: false }, line];
          return captions.add("demo", room, lines, ada, 1);
        },
        "caption.added",
        "caption.added",
      ],
    ],
    "calls.raise": [[() => calls.raise("demo", room, ada, 1), "hand.raised"]],
    "calls.stage": [
      [() => calls.stage("demo", room, ada, true, 1), "hand.lowered", "call.staged"],
      [() => calls.stage("demo", room, ada, false, 1), "call.staged"],
    ],
    "calls.lower": [
      [
        async () => {
          await calls.raise("demo", room, ada, 1);
          await calls.lower("demo", room, ada);
        },
        "hand.raised",
        "hand.lowered",
      ],
    ],
    "calls.left": [
      [() => calls.left("demo", room, visit, { at: 2, now: 2 }), "call.left", "call.ended"],
    ],
    "calls.reconciled": [
      [
        () => calls.reconciled("demo", room, [again], { asked: 1e5, now: 1e5 }),
        "call.started",
        "call.joined",
      ],
    ],
    "calls.end": [[() => calls.end("demo", room, { now: 2e5 }), "call.ended"]],
    "questions.create": [
      [
        () => questions.create("demo", room, { sender: ada, content: "r", state: "visible" }),
        "question.created",
      ],
    ],
    "questions.update": [
      [
        () => questions.update("demo", room, question.id, { answered: true }, ada),
        "question.updated",
      ],
    ],
    "questions.vote": [
      [() => questions.vote("demo", room, question.id, ada, true, false), "question.votes"],
    ],
    "questions.pin": [[() => questions.pin("demo", room, question.id, ada), "question.updated"]],
    "questions.delete": [[() => questions.delete("demo", room, question.id), "question.deleted"]],
    "polls.create": [
      [() => polls.create("demo", room, { content: "q", options: [] }), "poll.created"],
    ],
    "polls.update": [
      [() => polls.update("demo", room, poll.id, { content: "r" }, ada), "poll.updated"],
    ],
    "polls.vote": [
      [
        () => polls.vote("demo", room, poll.id, ada, { options: [poll.options[0]!.id] }),
        "poll.votes",
      ],
    ],
    "polls.pin": [[() => polls.pin("demo", room, poll.id, ada), "poll.updated"]],
    "polls.hideAnswer": [
      [
        async () => {
          const draft = { content: "w", options: [], state: "open", poll_type: "words" } as const;
          const { id } = await polls.create("demo", room, draft);
          await polls.vote("demo", room, id, ada, { answers: ["rude"] });
          await polls.hideAnswer("demo", room, id, "rude", true);
        },
        "poll.created",
        "poll.votes",
        "poll.updated",
      ],
    ],
    "polls.end": [
      [
        async () => {
          const { id } = await polls.create("demo", room, {
            content: "q",
            options: [{ content: "a", correct: true }],
            state: "open",
            poll_type: "quiz",
            settings: { seconds: 5 },
            at: 1,
          });
          await polls.end("demo", room, id, 5_001);
        },
        "poll.created",
        "poll.updated",
      ],
    ],
    "polls.delete": [[() => polls.delete("demo", room, poll.id), "poll.deleted"]],
    "program.createSession": [
      [() => program.createSession("demo", { title: "t" }), "session.created"],
    ],
    "program.runSession": [
      [
        async () => {
          const times = { starts_at: "2027-03-01T09:00:00Z", ends_at: "2027-03-01T09:40:00Z" };
          await program.updateSession("demo", session, { room_id: room, ...times });
          const now = Date.parse(times.starts_at);
          const asked = { session, action: "hold" } as const;
          await program.runSession("demo", room, asked, { now, overrun: 0 });
        },
        "session.updated",
        "session.updated",
      ],
    ],
    "program.updateSession": [
      [() => program.updateSession("demo", session, { title: "u" }), "session.updated"],
    ],
    "program.createSpeaker": [
      [() => program.createSpeaker("demo", { name: "y" }, []), "speaker.created"],
    ],
    "program.updateSpeaker": [
      [() => program.updateSpeaker("demo", speaker, { name: "z" }, []), "speaker.updated"],
    ],
    "program.mergeSpeakers": [
      [
        () => program.mergeSpeakers("demo", speaker, twin),
        "session.updated",
        "speaker.updated",
        "speaker.deleted",
      ],
    ],
    "program.deleteSpeaker": [
      [() => program.deleteSpeaker("demo", speaker), "session.updated", "speaker.deleted"],
    ],
    "rooms.delete": [[() => rooms.delete("demo", room), "room.deleted", "session.updated"]],
    "program.deleteSession": [[() => program.deleteSession("demo", session), "session.deleted"]],
    "program.import": [
      [
        () => importDocument(store, "demo", documentOf(["a"]), { createRooms: true }, sight),
        "room.created",
        "speaker.created",
        "session.created",
      ],
      [
        async () => {
          const changed = documentOf(["b"]);
          changed.speakers[0]!.fields.name = "new";
          return importDocument(store, "demo", changed, {}, sight);
        },
        "speaker.updated",
        "session.updated",
      ],
    ],
  };
  for (const { shown } of resources) Object.assign(writes, await shown?.(store));
  for (const [name, all] of Object.entries(writes)) {
    for (const [write, ...types] of all) {
      entries.length = 0;
      await write();
      const shown = entries
        .filter(({ world }) => world !== INDEX)
        .flatMap((entry) => published(entry)?.type ?? []);
      t.strictSame(shown, types, name);
    }
  }
  const methods = Object.entries(store).flatMap(([part, of]) =>
    of instanceof Function || of === undefined
      ? []
      : Object.keys(of).map((method) => `${part}.${method}`),
  );
  const named = [...Object.keys(silent), ...Object.keys(writes)];
  const unnamed = methods.filter((method) => !named.includes(method));
  t.strictSame(unnamed, [], "all methods are named");
});
