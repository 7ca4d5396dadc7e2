import t from "tap";
import {
  type Client,
  type Json,
  bodiesOf,
  direct,
  history,
  invalid,
  limited,
  makeQuestion,
  member,
  message,
  named,
  type OpenWorld,
  openWorld,
  say,
  text,
} from "../../support/open-world.js";
import { startServer } from "../../support/server.js";

// Held messages, slow mode, and blocked words. Reports have a separate file.

const server = await startServer(t);

/** Creates a room with a chat. @returns its id. */
const chatWith = (world: OpenWorld, config: object, more: object = {}) =>
  world.room({ module_config: [{ type: "chat.native", config }], ...more });

const moderator = async (world: OpenWorld, channel?: string) => {
  const client = await world.person("mod", "admin");
  if (channel) await client.do("chat.join", { channel });
  return client;
};

/**
 * Sends a message that must be held.
 * @returns the held message.
 */
async function hold(client: Client, channel: string, body: string, more = {}): Promise<Json> {
  const { held, event } = await client.do("chat.send", message(channel, text(body), more));
  if (event) throw new Error("It was sent.");
  return held;
}

void t.test("nobody hears of a message that waits", async (t) => {
  const world = await openWorld(server);
  const channel = await chatWith(world, { hold: true });
  const mod = await moderator(world, channel);
  const [ann, bob] = await Promise.all(["ann", "bob"].map((uid) => member(world, uid, channel)));
  const first = await say(mod, channel, "Welcome, please write");
  const cursor = (await world.rest("GET", "changes/")).body.cursor as string;
  await world.calm(channel, ann!, bob!, mod);

  const body = `Banana @${bob!.id} @${mod.id}`;
  const held = await hold(ann!, channel, body, {
    content: { ...text(body), reply_to: first.event_id },
  });
  t.match(held, { channel, sender: ann!.id, content: text(body), replaces: null });
  await world.settled(channel);
  t.same(await bob!.all(), [], "no push, unread mark, mention or notification");
  for (const client of [ann!, mod]) {
    const frames = await client.all();
    t.same(
      named(frames, "chat.held").map(({ event }) => event.id),
      [held.id],
    );
    t.equal(frames.length, 1);
  }
  for (const client of [ann!, bob!, mod]) {
    t.notMatch(JSON.stringify(await history(client, channel)), /Banana/, "history");
    const found = await client.do("chat.search", { channel, query: "banana" });
    t.same(found.results, [], "search");
  }
  const again = await world.person("bob");
  t.notMatch(JSON.stringify(again.hello), new RegExp(`Banana|${held.id}`));
  t.same(again.hello["chat.notification_counts"], {});
  const { body: changes } = await world.rest("GET", `changes/?after=${cursor}`);
  t.same(changes.results, [], "feed");
  for (const path of ["results/chat/", `rooms/${channel}/messages/`, "audit/"]) {
    t.notMatch(JSON.stringify((await world.rest("GET", path)).body), /Banana/, path);
  }
  const { stdout } = await server.command("world", "export", world.id, "--with-history");
  t.notMatch(stdout, /Banana/, "export");
  t.match(stdout, /Welcome/);
  for (const [action, payload] of [
    ["chat.react", { event: held.id, reaction: "👍" }],
    ["chat.send", message(channel, text("x"), { replaces: held.id })],
    ["chat.report", { event: held.id, reason: "spam" }],
    ["chat.approve", { event: first.event_id }],
  ] as const) {
    const expected = action === "chat.report" ? "report.unknown" : "chat.unknown_event";
    t.equal(await mod.code(action, { channel, ...payload }), expected, action);
  }
  const listed = async (client: Client) => {
    const { count, results, users } = await client.do("chat.held.list", { channel });
    t.equal(count, results.length);
    t.same(Object.keys(users), [...new Set(results.map(({ sender }: Json) => sender))]);
    return bodiesOf(results);
  };
  t.same(await listed(ann!), [body]);
  t.same(await listed(bob!), []);
  t.same(await listed(mod), [body]);
  for (const action of ["chat.approve", "chat.reject"]) {
    t.equal(await ann!.code(action, { channel, event: held.id }), "protocol.denied", action);
  }

  const { id } = await mod.do("chat.approve", { channel, event: held.id });
  t.ok(id > first.event_id, "its place is now");
  await world.settled(channel);
  for (const [name, client] of Object.entries({ ann: ann!, bob: bob!, mod })) {
    const frames = await client.all();
    t.match(named(frames, "chat.event"), [{ event_id: id, sender: ann!.id, content: text(body) }]);
    const gone = { channel, event: held.id, state: "approved", id };
    t.same(named(frames, "chat.held.gone"), name === "bob" ? [] : [gone], name);
    const notices = named(frames, "chat.notification").length;
    t.equal(notices, name === "ann" ? 0 : 1, `${name} is mentioned now`);
  }
  t.same(await listed(mod), []);
  t.equal(
    await mod.code("chat.approve", { channel, event: held.id }),
    "chat.unknown_event",
    "once",
  );
  t.equal(await mod.code("chat.reject", { channel, event: held.id }), "chat.unknown_event");
  const { body: after } = await world.rest("GET", `changes/?after=${cursor}`);
  t.match(after.results, [{ type: "chat.message", data: { event_id: id, user_id: ann!.id } }]);
  t.equal(after.results.length, 1);

  const bad = await hold(ann!, channel, "Cherry");
  await world.calm(channel, ann!, bob!, mod);
  await mod.do("chat.reject", { channel, event: bad.id, reason: "Not here." });
  await world.settled(channel);
  const gone = { channel, event: bad.id, state: "rejected", reason: "Not here." };
  t.same(named(await ann!.all(), "chat.held.gone"), [gone]);
  t.same(named(await mod.all(), "chat.held.gone"), [gone]);
  t.same(await bob!.all(), []);
  const { body: audit } = await world.rest("GET", "audit/");
  t.match(
    audit.results.slice(0, 2).map(({ type, subject }: Json) => [type, subject]),
    [
      ["chat.rejected", { room_id: channel, user_id: ann!.id }],
      ["chat.approved", { room_id: channel, event_id: id, user_id: ann!.id }],
    ],
  );
});

void t.test("edits wait, and the old text stays meanwhile", async (t) => {
  const world = await openWorld(server);
  const channel = await chatWith(world, {});
  const mod = await moderator(world, channel);
  const ann = await member(world, "ann", channel);
  const { event_id: replaces } = await say(ann, channel, "One");
  await world.alter(channel, { module_config: [{ type: "chat.native", config: { hold: true } }] });
  await hold(ann, channel, "Two", { replaces });
  const three = await hold(ann, channel, "Three", { replaces });
  t.equal(three.replaces, replaces);
  const texts = async () => bodiesOf((await history(mod, channel)).filter((e) => e.content.body));
  const queue = async () => bodiesOf((await mod.do("chat.held.list", { channel })).results);
  t.same(await texts(), ["One"]);
  t.same(await queue(), ["Three"], "the last edit takes the place of the one before");
  await mod.do("chat.approve", { channel, event: three.id });
  t.same(await texts(), ["Three", "Three"], "the message and its edit");

  const four = await hold(ann, channel, "Four", { replaces });
  const deletion = message(channel, { type: "deleted" }, { replaces });
  t.match(await ann.do("chat.send", deletion), { event: { content: { type: "deleted" } } });
  t.same(await queue(), [], "a deletion does not wait, and takes the edit with it");
  t.equal(await mod.code("chat.approve", { channel, event: four.id }), "chat.unknown_event");

  await hold(ann, channel, "Five");
  const codes = [];
  for (let i = 0; i < 20; i++) codes.push(await ann.code("chat.send", message(channel, text("x"))));
  t.same(codes.slice(-2), ["ok", limited], "at most 20 of a person wait");
  await mod.do("user.ban", { id: ann.id });
  t.same(await queue(), [], "those of banned people leave the queue");
  const eve = await member(world, "eve", channel);
  await hold(eve, channel, "Six");
  await mod.do("user.delete", { id: eve.id });
  t.same(await queue(), [], "those of erased people, too");
});

void t.test("slow mode", async (t) => {
  const world = await openWorld(server);
  for (const [name, value] of [
    ["slow_mode", -1],
    ["slow_mode", 3601],
    ["slow_mode", 1.5],
    ["slow_mode", "5"],
    ["hold", 1],
  ] as const) {
    const module_config = [{ type: "chat.native", config: { [name]: value } }];
    const { status, body } = await world.rest("POST", "rooms/", { name: "x", module_config });
    t.equal(status, 400);
    t.same(Object.keys(body), [`module_config.0.config.${name}`]);
  }
  const channel = await chatWith(world, { slow_mode: 30 });
  const mod = await moderator(world, channel);
  const tabs = await Promise.all(Array.from({ length: 20 }, () => member(world, "ann", channel)));
  const answers = await Promise.all(
    tabs.map((tab, i) => tab.call("chat.send", message(channel, text(`Tab ${i}`)))),
  );
  const errors = answers.filter(([name]) => name === "error").map(([, , problem]) => problem);
  t.equal(errors.length, 19, "one of 20 tabs sends");
  for (const { code, details, retry_after } of errors as Json[]) {
    t.equal(code, "chat.slow_mode");
    t.ok(retry_after >= 29 && retry_after <= 30);
    t.same(details, { retry_after: [String(retry_after)] });
  }
  t.equal(bodiesOf(await history(mod, channel)).filter((body) => /^Tab/.test(body)).length, 1);
  const [ann] = tabs;
  const { event_id } = (await history(ann!, channel)).find(
    ({ sender, content }) => sender === ann!.id && content.body,
  );
  const edit = message(channel, text("Edited"), { replaces: event_id });
  t.equal(await ann!.code("chat.send", edit), "ok", "edits are free");
  t.equal(await ann!.code("chat.react", { channel, event: event_id, reaction: "👍" }), "ok");
  for (const body of ["One", "Two"]) await say(mod, channel, body);

  const token = world.tokenOf({ uid: "ann", traits: ["api", "admin-less"], profile: {} });
  await world.configure({
    permission_config: { "world.api": [["admin", "api"]], "chat.moderate": ["admin"] },
  });
  const answer = await server.call({
    method: "POST",
    url: `/api/v1/worlds/${world.id}/rooms/${channel}/messages/`,
    as: `Bearer ${token}`,
    body: { content: text("Over HTTP") },
  });
  t.equal(answer.status, 429);
  t.match(answer.headers["retry-after"], /^(29|30)$/);

  await world.alter(channel, {
    module_config: [{ type: "chat.native", config: { slow_mode: 1, hold: true } }],
  });
  const bob = await member(world, "bob", channel);
  await hold(bob, channel, "Held");
  t.equal(
    await bob.code("chat.send", message(channel, text("Again"))),
    "chat.slow_mode",
    "messages that wait start the time",
  );
});

void t.test("blocked words", async (t) => {
  const world = await openWorld(server);
  const block = (action: string, ...words: string[]) =>
    world.configure({ config: { blocked_words: { action, words } } });
  await block("refuse", "badger", "mush*", "*weed", "café", "two words", "馬鹿", "a*z");
  const channel = await chatWith(world, {});
  const mod = await moderator(world, channel);
  const ann = await member(world, "ann", channel);
  const sends = (body: string, client = ann) =>
    client.code("chat.send", message(channel, text(body)));
  for (const [body, isBlocked] of [
    ["A badger!", true],
    ["BADGER", true],
    ["badgers", false],
    ["ba\u200bdg\u00ader", true],
    ["ｂａｄｇｅｒ", true],
    ["𝐛𝐚𝐝𝐠𝐞𝐫", true],
    ["b\u0301adger", true],
    ["mush", true],
    ["mushroom", true],
    ["a mush.room", true],
    ["hush", false],
    ["Seaweed", true],
    ["seaweeds", false],
    ["cafe\u0301", true],
    ["café", true],
    ["CAFE", true],
    ["two, words", true],
    ["two other words", false],
    ["お前は馬鹿だ", true],
    ["馬と鹿", false],
    ["abz az", true],
    ["za", false],
    ["bad**ger**", true],
    ["~~bad~~ger", true],
    ["b`adg`er", true],
    ["bad[ger](https://example.org)", true],
    ["bad[](x)ger", true],
    ["&#98;adge&#x72;", true],
    ["b&aacute;d&shy;g&ZeroWidthSpace;er&afr;", false],
    ["b&aacute;d&shy;g&ZeroWidthSpace;&Escr;r", true],
    ["**two**&nbsp;*words*", true],
    ["bad &amp; ger, bad&gt;ger, bad*x*ger, &#1114112;", false],
  ] as const) {
    t.equal(await sends(body), isBlocked ? "chat.blocked_word" : "ok", JSON.stringify(body));
  }
  t.equal(await sends("badger", mod), "ok", "moderators are exempt");
  const files = { type: "files", files: [{ url: "https://x.test/x", name: "badger.png" }] };
  const card = { ...text("Look"), preview_card: { more: { title: "A badger" } } };
  for (const content of [files, card]) {
    t.equal(await ann.code("chat.send", message(channel, content)), "chat.blocked_word");
  }
  const bob = await world.person("bob");
  const between = await direct(ann, bob);
  t.equal(await ann.code("chat.send", message(between, text("badger"))), "chat.blocked_word");

  const room = await world.room({
    module_config: [{ type: "question", config: { active: true, requires_moderation: false } }],
  });
  const ask = (content: string, client = ann) => client.call("question.ask", { room, content });
  t.match(await ask("Why badgers?"), ["success", Number, { question: { state: "visible" } }]);
  t.match(await ask("A badger?"), ["error", Number, { code: "chat.blocked_word" }]);
  t.match(await ask("A badger?", mod), ["success", Number, { question: { state: "visible" } }]);
  const rename = (display_name: string, client: Client) =>
    client.code("user.update", { profile: { display_name } });
  t.equal(await rename("Badger", ann), "chat.blocked_word");
  t.equal(await rename("Badger", mod), "chat.blocked_word", "names are checked as everybody's");
  const named = await world.person({ uid: "x", profile: { display_name: "The Badger", a: 1 } });
  t.match(named.hello["user.config"].profile, { display_name: "Guest", a: 1 });
  const enter = async (client_id: string) => {
    const guest = await world.connect();
    return (await guest.login({ client_id, profile: { display_name: "badger" } }))[0];
  };
  t.equal(await enter("g"), "error");
  await block("refuse", "cat");
  t.equal(await enter("h"), "authenticated");
  await block("refuse", "badger");
  t.equal(await enter("h"), "authenticated", "everybody may keep their name");
  t.equal(await enter("i"), "error");

  await block("refuse", "big* *cat", "big* b*r bear");
  for (const [body, isBlocked] of [
    ["bigger wildcats", false],
    ["The bigger wildcat", true],
    ["big bar bears, big bar bear", true],
    ["big, bigger cat", true],
  ] as const) {
    t.equal(await sends(body), isBlocked ? "chat.blocked_word" : "ok", body);
  }
  for (const most of [`${"*a".repeat(31)}*`, `${"*a ".repeat(20)}*`]) {
    await block("refuse", ...Array.from({ length: 1000 }, (_, i) => most + "bcde"[i % 4]));
    for (const body of [`${"a ".repeat(4990)}x b`, "](a".repeat(3000), "&#x1".repeat(2000)]) {
      const before = process.cpuUsage();
      t.equal(await sends(body), "ok");
      const { user } = process.cpuUsage(before);
      t.ok(user < 1_500_000, "no list and no text takes long");
    }
  }

  await block("hold", "badger");
  const held = await hold(ann, channel, "A badger");
  t.equal((await say(ann, channel, "A cat")).content.body, "A cat", "all else is sent");
  await mod.do("chat.approve", { channel, event: held.id });
  t.match(await ask("A badger?"), ["success", Number, { question: { state: "mod_queue" } }]);
  t.equal(await ann.code("chat.send", message(between, text("badger"))), "chat.blocked_word");
  t.equal(await rename("Badger", ann), "chat.blocked_word");
});

void t.test("who reads the blocked words", async (t) => {
  const world = await openWorld(server);
  const patch = (blocked_words: unknown) => world.rest("PATCH", "", { config: { blocked_words } });
  const words = ["badger"];
  for (const [value, field] of [
    [{ words: ["x"], action: "refuse" }, "words.0"],
    [{ words: ["x".repeat(65)], action: "refuse" }, "words.0"],
    [{ words: ["**"], action: "refuse" }, "words.0"],
    [{ words: ["-*-"], action: "refuse" }, "words.0"],
    [{ words: Array(1001).fill("xx"), action: "refuse" }, "words"],
    [{ words, action: "burn" }, "action"],
    [{ words }, "action"],
    [{ words, action: "hold", more: 1 }, "more"],
  ] as const) {
    const { status, body } = await patch(value);
    t.equal(status, 400, JSON.stringify(value).slice(0, 60));
    t.same(Object.keys(body), [`config.blocked_words.${field}`]);
  }
  t.equal((await patch({ words, action: "refuse" })).status, 200);
  const rules = { "world.api": ["api"], "world.secrets": ["api"], "world.update": ["admin"] };
  await world.configure({ permission_config: { ...rules, "world.feed": ["api"] } });
  const read = async (path: string, ...traits: string[]) => {
    const as = `Bearer ${world.tokenOf({ traits })}`;
    const url = `/api/v1/worlds/${world.id}/${path}`;
    const { status, body } = await server.call({ method: "GET", url, as });
    t.equal(status, 200);
    return JSON.stringify(body);
  };
  t.match(await read("", "api", "admin"), /badger/);
  for (const path of ["", "audit/", "changes/?after=0"]) {
    t.notMatch(await read(path, "api"), /badger/, path);
  }
  t.match(await read("", "api"), /JWT_secrets/);
  const ann = await world.person("ann");
  t.notMatch(JSON.stringify(ann.hello), /badger|blocked_words/);

  const host = await world.person("host", "admin");
  t.notMatch(JSON.stringify(host.hello), /badger|blocked_words/);
  const { blocked_words } = await host.do("world.config.get", null);
  t.same(blocked_words, { words, action: "refuse" }, "without world.secrets and world.api");
  const change = (blocked_words: unknown) => host.call("world.config.patch", { blocked_words });
  t.match(await change({ words: ["**"], action: "hold" }), [
    "error",
    Number,
    { code: "config.invalid", details: { "blocked_words.words.0": [String] } },
  ]);
  t.match(await change({ words: ["x"], action: "hold" }), [
    "error",
    Number,
    { code: "config.invalid" },
  ]);
  await change({ words: ["otter"], action: "refuse" });
  t.match(await read("", "api", "admin"), /otter/);
  for (const command of ["world.config.get", "world.config.patch"]) {
    const payload = command === "world.config.get" ? null : { blocked_words };
    const keys = await world.person("keys", "api");
    t.equal(await keys.code(command, payload), "auth.denied", command);
  }
});

void t.test("reports", async (t) => {
  const world = await openWorld(server);
  const channel = await chatWith(world, {});
  const secret = await chatWith(world, {}, { permission_config: { "room.view": ["staff"] } });
  const room = await world.room({
    module_config: [{ type: "question", config: { active: true, show_authors: true } }],
  });
  const mod = await moderator(world, channel);
  const ann = await member(world, "ann", channel);
  const bob = await member(world, "bob", channel);
  const staff = await world.person("sue", "staff");
  await staff.do("chat.join", { channel: secret });
  const { event_id: event } = await say(ann, channel, "Buy this");
  const { event_id: deleted } = await say(ann, channel, "Gone");
  await ann.do("chat.send", message(channel, { type: "deleted" }, { replaces: deleted }));
  const { event_id: hidden } = await say(staff, secret, "Hidden");
  const between = await direct(ann, bob);
  const { event_id: private_ } = await say(ann, between, "Nasty");
  const question = await makeQuestion(mod, room);
  const { question: waiting } = await ann.do("question.ask", { room, content: "Waiting?" });

  const report = (client: Client, action: string, payload: object) =>
    client.code(action, { reason: "spam", ...payload });
  for (const [name, action, payload, code] of [
    ["a deleted message", "chat.report", { channel, event: deleted }, "report.unknown"],
    ["no message", "chat.report", { channel, event: 999_999 }, "report.unknown"],
    ["something else", "chat.report", { channel, event: { $gt: 0 } }, "report.unknown"],
    ["one of another room", "chat.report", { channel, event: hidden }, "report.unknown"],
    ["a hidden room", "chat.report", { channel: secret, event: hidden }, "protocol.denied"],
    ["a question that waits", "question.report", { room, id: waiting.id }, "report.unknown"],
    ["no question", "question.report", { room, id: channel }, "report.unknown"],
    ["oneself", "user.report", { user: bob.id }, "report.unknown"],
    ["nobody", "user.report", { user: channel }, "report.unknown"],
    ["in a hidden room", "user.report", { user: ann.id, room: secret }, "protocol.denied"],
    ["in no room", "user.report", { user: ann.id, room: ann.id }, "room.unknown"],
    ["without a reason", "chat.report", { channel, event, reason: "dislike" }, invalid],
    ["a long text", "chat.report", { channel, event, text: "x".repeat(501) }, invalid],
  ] as const) {
    t.equal(await report(bob, action, payload), code, name);
  }
  t.equal(await report(ann, "chat.report", { channel, event }), "report.unknown", "an own one");
  t.equal(
    await report(staff, "chat.report", { channel: between, event: private_ }),
    "report.unknown",
    "of a direct channel of others",
  );
  await world.calm(channel, ann, bob, mod);

  t.equal(await report(bob, "chat.report", { channel, event, text: "Spam!" }), "ok");
  t.same(await mod.next("report.changed"), { open: 1 });
  t.equal(await report(bob, "chat.report", { channel, event, reason: "other" }), "ok", "twice");
  t.equal(await report(staff, "chat.report", { channel, event, reason: "privacy" }), "ok");
  t.equal(await report(bob, "chat.report", { channel: between, event: private_ }), "ok");
  t.equal(await report(bob, "question.report", { room, id: question.id }), "ok");
  t.equal(await report(bob, "user.report", { user: ann.id, room, reason: "harassment" }), "ok");
  await ann.do("chat.send", message(channel, text("Harmless"), { replaces: event }));
  await mod.next("report.changed", ({ open }) => open === 3);
  t.same(
    (await ann.all()).filter(([name]) => name.startsWith("report")),
    [],
    "who was reported learns nothing",
  );

  const list = (client: Client, payload: object = {}) => client.do("report.list", payload);
  const { reports, open, more } = await list(mod);
  t.same([open, more], [3, false], "the moderator's own question does not count");
  t.match(reports, [
    { kind: "user", room, content: { type: "profile", body: "ann" }, user: { id: ann.id } },
    { kind: "message", channel: between, event: private_, content: text("Nasty") },
    {
      kind: "message",
      room: channel,
      content: text("Buy this"),
      count: 2,
      reports: [
        { user: { id: bob.id }, reason: "spam", text: "Spam!" },
        { user: { id: staff.id }, reason: "privacy", text: "" },
      ],
      state: "open",
    },
  ]);
  t.notOk("room" in reports[1], "in direct channels, moderators see the message and nothing else");
  t.equal(await mod.code("chat.fetch", { channel: between, count: 5, after_id: 0 }), "chat.denied");
  for (const client of [ann, bob, staff]) {
    t.equal(await client.code("report.list", {}), "auth.denied");
    const id = reports[0].id as string;
    t.equal(await client.code("report.resolve", { id, action: "dismissed" }), "report.unknown");
  }
  t.same((await list(mod, { room })).reports.length, 1, "of a room");
  t.same((await list(mod, { before: reports[0].id })).reports.length, 2, "those before one");

  const resolve = (index: number, action: string, client = mod) =>
    client.code("report.resolve", { id: reports[index].id, action });
  t.equal(await resolve(0, "deleted"), invalid, "people are not deleted");
  t.equal(await resolve(2, "deleted"), "ok");
  t.equal(await resolve(2, "dismissed"), "report.unknown", "once");
  t.match((await history(bob, channel)).at(-1), { content: { type: "deleted" }, sender: mod.id });
  t.equal(await resolve(1, "deleted"), "ok");
  t.match((await history(bob, between)).at(-1), { content: { type: "deleted" } });
  t.equal(await resolve(0, "silenced"), "ok");
  const silenced = await world.person("ann");
  t.equal(
    await report(silenced, "user.report", { user: bob.id }),
    "auth.denied",
    "silenced people",
  );
  await mod.next("report.changed", ({ open }) => open === 0);
  t.same((await list(mod, { state: "open" })).reports, []);
  t.match((await list(mod, { state: "deleted" })).reports, [
    { state: "deleted", resolved_by: { id: mod.id }, content: text("Nasty") },
    { state: "deleted", resolved_by: { id: mod.id }, content: text("Buy this") },
  ]);

  const { body } = await world.rest("GET", "changes/?after=0&types=report.*");
  t.match(
    body.results.map(({ type, data }: Json) => [type, data.kind, data.action]),
    [
      ["report.created", "message"],
      ["report.created", "message"],
      ["report.created", "question"],
      ["report.created", "user"],
      ["report.resolved", "message", "deleted"],
      ["report.resolved", "message", "deleted"],
      ["report.resolved", "user", "silenced"],
    ],
  );
  t.notMatch(JSON.stringify(body), /Spam|Nasty|Buy/);

  for (let i = 4; i < 10; i++) {
    const { event_id } = await say(mod, channel, `Message ${i}`);
    t.equal(await report(bob, "chat.report", { channel, event: event_id }), "ok");
  }
  const { event_id: last } = await say(mod, channel, "Last");
  t.equal(await report(bob, "chat.report", { channel, event: last }), limited, "the eleventh");
  t.equal(await report(bob, "chat.report", { channel, event }), "report.unknown", "is deleted");
  t.same((await list(mod, { state: "open" })).open, 0, "moderators see none about themselves");

  await mod.do("user.delete", { id: bob.id });
  const after = (await list(mod)).reports as Json[];
  t.notMatch(JSON.stringify(after), /Spam!/, "erased people's texts are gone");
  t.equal(after.find(({ content }) => content.body === "Buy this").count, 2, "and still count");
  await mod.do("user.delete", { id: ann.id });
  t.notMatch(JSON.stringify((await list(mod)).reports), /Buy this|Nasty|"ann"/);
});

void t.test("who decides about reports", async (t) => {
  const world = await openWorld(server);
  const rules = { "chat.moderate": ["local"], "user.manage": ["boss"] };
  const mine = await chatWith(world, {}, { permission_config: rules });
  const other = await chatWith(world, {});
  const ann = await member(world, "ann", mine, other);
  const bob = await member(world, "bob", mine, other);
  const local = await world.person("local", "local");
  const boss = await world.person("boss", "admin");
  for (const channel of [mine, other]) {
    const { event_id } = await say(ann, channel, "Hm");
    await bob.do("chat.report", { channel, event: event_id, reason: "spam" });
  }
  await bob.do("user.report", { user: ann.id, reason: "spam" });
  const rooms = async (client: Client) => {
    const { reports, open } = await client.do("report.list", {});
    t.equal(open, reports.length);
    return reports.map((report: Json) => report.room);
  };
  t.same(await rooms(local), [mine]);
  t.same(await rooms(boss), [undefined, other], "a room's rule replaces that of the world");
  t.same(await local.next("report.changed"), { open: 1 });
  const [{ id }] = (await local.do("report.list", {})).reports;
  t.equal(await boss.code("report.resolve", { id, action: "dismissed" }), "report.unknown");
  t.equal(await local.code("report.resolve", { id, action: "banned" }), "auth.denied");
  t.equal(await local.code("report.list", { room: other }), "protocol.denied");
  t.equal(await local.code("report.resolve", { id, action: "dismissed" }), "ok");
});

void t.test("a deletion elsewhere closes the reports, but not an author's own", async (t) => {
  const world = await openWorld(server);
  const channel = await chatWith(world, {});
  const room = await world.room({
    module_config: [{ type: "question", config: { active: true, show_authors: true } }],
  });
  const mod = await moderator(world, channel);
  const ann = await member(world, "ann", channel);
  const bob = await member(world, "bob", channel);
  const events: number[] = [];
  for (const body of ["By hand", "With all", "By herself"]) {
    const { event_id: event } = await say(ann, channel, body);
    await bob.do("chat.report", { channel, event, reason: "spam" });
    events.push(event);
  }
  const { question } = await ann.do("question.ask", { room, content: "Asked" });
  await mod.do("question.update", { room, id: question.id, state: "visible" });
  await bob.do("question.report", { room, id: question.id, reason: "spam" });
  await mod.next("report.changed", ({ open }) => open === 4);
  const remove = (client: Client, replaces: number | undefined) =>
    client.do("chat.send", message(channel, { type: "deleted" }, { replaces }));
  const list = async (): Promise<[string, string, boolean, string][]> => {
    const { reports } = await mod.do("report.list", {});
    return (reports as Json[]).map(({ content, state, deleted, resolved_by }) => [
      ...[content.body, state, deleted === true, resolved_by?.id],
    ]) as [string, string, boolean, string][];
  };

  await remove(ann, events[2]);
  await mod.do("question.delete", { room, id: question.id });
  await remove(mod, events[0]);
  await mod.next("report.changed", ({ open }) => open === 2);
  const asked = ["Asked", "deleted", true, mod.id] as const;
  const byHand = ["By hand", "deleted", true, mod.id] as const;
  t.same(await list(), [
    asked,
    ["By herself", "open", true, undefined],
    ["With all", "open", false, undefined],
    byHand,
  ]);
  await mod.do("user.messages.delete", { id: ann.id });
  await mod.next("report.changed", ({ open }) => open === 1);
  t.same((await list())[2], ["With all", "deleted", true, mod.id]);
  const [{ id }] = (await mod.do("report.list", { state: "open" })).reports;
  t.equal(await mod.code("report.resolve", { id, action: "banned" }), "ok", "there is still a way");
  const { body } = await world.rest("GET", "changes/?after=0&types=report.resolved");
  t.match(
    body.results.map(({ by, data }: Json) => [data.kind, data.action, by.user_id ?? by.id]),
    [
      ["question", "deleted"],
      ["message", "deleted"],
      ["message", "deleted"],
      ["message", "banned"],
    ],
  );
});
