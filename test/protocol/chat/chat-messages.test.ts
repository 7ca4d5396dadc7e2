import { randomUUID } from "node:crypto";
import t from "tap";
import {
  type Client,
  type Json,
  bodiesOf,
  chatRoom,
  direct,
  history,
  idsOf,
  invalid,
  keys,
  member,
  message,
  openWorld,
  say,
  text,
} from "../../support/open-world.js";
import { startServer } from "../../support/server.js";

// Sending, editing, fetching and reacting to messages.

const server = await startServer(t);

void t.test("sending", async (t) => {
  const world = await openWorld(server);
  const files = [{ url: "https://x.test/a.png", name: "a", mimeType: "image/png" }];
  const call = { type: "call", body: { id: "c", type: "bbb" } };
  const unsupported = "chat.unsupported_content_type";
  const contents: [content: Json, inRoom: string, inDirect?: string][] = [
    [text("x"), "ok"],
    [text(" "), "chat.empty"],
    [text("\u200b\u3164\u2800\ufeff"), "chat.empty"],
    [text(" \u200b👏 "), "ok"],
    [{ type: "text", body: "x", timestamp: 5, client: "c" }, "ok"],
    [{ ...text("x"), preview_card: { url: "https://x.test" } }, "ok"],
    [{ ...text("x"), reply_to: 1, local_id: "l" }, "ok"],
    [{ ...text("x"), more: 1 }, invalid],
    [{ ...text("x"), files }, invalid],
    [{ ...text("x"), constructor: 1 }, invalid],
    [{ type: "files", files, more: "x" }, invalid],
    [{ type: "files", files: [{ ...files[0], more: "x" }] }, invalid],
    [{ ...call, more: 1 }, unsupported, invalid],
    [text(""), "chat.empty"],
    [{ type: "text" }, "chat.empty"],
    [{ type: "text", body: null }, "chat.empty"],
    [{ type: "text", body: 5 }, invalid],
    [{ type: "text", body: ["x"] }, invalid],
    [{ type: "text", body: {} }, invalid],
    [{ type: "files", files }, "ok"],
    [{ type: "files", files, body: "Look" }, "ok"],
    [{ type: "files", files, body: "" }, "ok"],
    [{ type: "files", files: [] }, "chat.empty"],
    [{ type: "files" }, "chat.empty"],
    [{ type: "files", body: "x" }, "chat.empty"],
    [{ type: "files", files: "x" }, invalid],
    [{ type: "files", files: ["x"] }, invalid],
    [{ type: "files", files: [null] }, invalid],
    [call, unsupported, "ok"],
    [{ type: "call" }, unsupported],
    [{ type: "call", body: null }, unsupported],
    [{ type: "call", body: "c" }, unsupported, invalid],
    [{ type: "deleted" }, unsupported],
    [{ type: "image", body: "x" }, unsupported],
    [{ type: "constructor", body: "x" }, unsupported],
    [{ body: "x" }, unsupported],
    [{ type: null, body: "x" }, unsupported],
    [{ type: 5, body: "x" }, unsupported],
    [{}, unsupported],
    [null, invalid],
    ["x", invalid],
    [[text("x")], invalid],
    [undefined, invalid],
  ];

  await t.test("8.4 Content types, and chat.empty", async (t) => {
    const room = await chatRoom(world);
    const ann = await member(world, "ann", room);
    const dm = await direct(ann, await world.person("bob"));
    for (const [content, inRoom, inDirect = inRoom] of contents) {
      const name = JSON.stringify(content) ?? "nothing";
      for (const [channel, code] of [
        [room, inRoom],
        [dm, inDirect],
      ] as const) {
        const before = (await history(ann, channel)).length;
        t.equal(await ann.code("chat.send", message(channel, content)), code, name);
        const events = await history(ann, channel);
        t.equal(events.length - before, code === "ok" ? 1 : 0, `${name} is stored or not`);
        if (code === "ok") t.same(events.at(-1).content, content, name);
      }
    }
  });

  await t.test("8.4 Other event types", async (t) => {
    const channel = await chatRoom(world);
    const ann = await member(world, "ann", channel);
    const payload = message(channel, text("x"));
    const others = ["channel.member", "channel.poll", "channel.message ", "message", ""];
    for (const event_type of [...others, null, 5, {}, undefined]) {
      const code = await ann.code("chat.send", { ...payload, event_type });
      t.equal(code, "chat.unsupported_event_type", JSON.stringify(event_type));
    }
    t.same(keys(await ann.do("chat.send", payload)), ["event"]);
  });

  await t.test("6 blocks do not concern rooms", async (t) => {
    const channel = await chatRoom(world);
    const ann = await member(world, "ann", channel);
    const bob = await member(world, "bob", channel);
    await bob.do("user.block", { id: ann.id });
    await world.calm(channel, bob);
    const { event_id } = await say(ann, channel, `x @${bob.id}`);
    t.equal((await bob.next("chat.event")).event_id, event_id);
    await bob.do("user.unblock", { id: ann.id });
  });
});

void t.test("editing", async (t) => {
  const world = await openWorld(server);

  await t.test("8.4 and F1 replaces that names no message", async (t) => {
    const [channel, elsewhere] = [await chatRoom(world), await chatRoom(world)];
    const ann = await member(world, "ann", channel, elsewhere);
    const dm = await direct(ann, await world.person("bob"));
    const { event_id: foreign } = await say(ann, elsewhere, "x");
    const { event_id: secret } = await say(ann, dm, "x");
    const before = await history(ann, channel);
    for (const replaces of [foreign, secret, 10 ** 9, 2 ** 53, -1, 1.5, "x", {}, [foreign], true]) {
      for (const content of [text("x"), { type: "deleted" }]) {
        const code = await ann.code("chat.send", message(channel, content, { replaces }));
        t.equal(code, "chat.unknown_event", JSON.stringify(replaces));
      }
    }
    t.same(await history(ann, channel), before, "nothing is stored");
    const plain = message(channel, text("x"), { replaces: null });
    t.match(await ann.do("chat.send", plain), { event: { replaces: null } });
  });

  await t.test("F13 edits are checked before they are stored", async (t) => {
    const channel = await chatRoom(world);
    const admin = await world.person("admin", "admin");
    let ann = await member(world, "ann", channel);
    const bob = await world.person("bob");
    const dm = await direct(ann, bob);
    const said = {
      [channel]: await say(ann, channel, "before"),
      [dm]: await say(ann, dm, "before"),
    };
    const refused = async (channel: string, content: Json, code: string) => {
      const { event_id: replaces } = said[channel];
      const name = `${code} ${JSON.stringify(content)}`;
      t.equal(await ann.code("chat.send", message(channel, content, { replaces })), code, name);
      const events = await history(channel === dm ? bob : admin, channel, 1000);
      const now = events.find(({ event_id }) => event_id === replaces);
      t.same([now.content, now.edited], [text("before"), null], name);
      t.notOk(events.some((event) => event.replaces === replaces));
    };
    const remove = { type: "deleted" };
    for (const place of [channel, dm]) {
      await refused(place, text(""), "chat.empty");
      await refused(place, { type: "files", files: [] }, "chat.empty");
      await refused(place, { type: "x" }, "chat.unsupported_content_type");
      await refused(place, null, invalid);
      await refused(place, { type: "text", body: 5 }, invalid);
    }
    await bob.do("user.block", { id: ann.id });
    for (const content of [text("x"), remove]) await refused(dm, content, "chat.denied");
    await bob.do("user.unblock", { id: ann.id });
    await admin.do("user.silence", { id: ann.id });
    ann = await world.person("ann");
    for (const content of [text("x"), remove]) {
      await refused(dm, content, "chat.denied");
      await refused(channel, content, "protocol.denied");
    }
    await admin.do("user.reactivate", { id: ann.id });
    ann = await world.person("ann");
    await ann.do("chat.leave", { channel });
    await refused(channel, text("x"), "chat.denied");
  });
});

void t.test("fetching", async (t) => {
  const world = await openWorld(server);
  await t.test("8.2 chat.fetch: pages before and after", async (t) => {
    const channel = await chatRoom(world, { volatile: true });
    const ann = await member(world, "ann", channel);
    const ids: number[] = [];
    for (let i = 0; i < 10; i++) {
      ids.push((await say(ann, channel, String(i))).event_id);
    }
    const guest = await world.guest();
    const [first, last] = [ids[0]!, ids[9]!];
    type Row = [selection: object, from: number, to: number];
    const table: Row[] = [
      [{ count: 3, before_id: last + 1 }, 7, 10],
      [{ count: 3, before_id: last }, 6, 9],
      [{ count: 100, before_id: last }, 0, 9],
      [{ count: 3, before_id: ids[2] }, 0, 2],
      [{ count: 3, before_id: first }, 0, 0],
      [{ count: 3, before_id: 0 }, 0, 0],
      [{ count: 3, before_id: 1 }, 0, 0],
      [{ count: 3, before_id: 10 ** 12 }, 7, 10],
      [{ count: 3, before_id: 2 ** 53 }, 7, 10],
      [{ count: 3, before_id: "9223372036854775807" }, 7, 10],
      [{ count: "3", before_id: String(last) }, 6, 9],
      [{ count: 0, before_id: last }, 0, 0],
      [{ count: 5000, before_id: last }, 0, 9],
      [{ count: 10 ** 12, before_id: last }, 0, 9],
      [{ count: 3, after_id: 0 }, 0, 3],
      [{ count: 3, after_id: first }, 1, 4],
      [{ count: 100, after_id: ids[4] }, 5, 10],
      [{ count: 3, after_id: last }, 0, 0],
      [{ count: "2", after_id: String(first) }, 1, 3],
      [{ count: 3, after_id: "9223372036854775807" }, 0, 0],
    ];
    for (const [selection, from, to] of table) {
      const page = await guest.do("chat.fetch", { channel, ...selection });
      const name = JSON.stringify(selection);
      t.same(keys(page), ["results", "users"], name);
      t.same(idsOf(page.results), ids.slice(from, to), name);
    }
    // A number that a double cannot represent.
    guest.send(
      `["chat.fetch","max",{"channel":"${channel}","count":2,"before_id":9223372036854775807}]`,
    );
    const [name, , page] = (await guest.answered("max")) as Json[];
    t.equal(name, "success");
    t.same(idsOf(page.results), ids.slice(8));
  });

  await t.test("8.2 and F1 chat.fetch: what it refuses", async (t) => {
    const channel = await chatRoom(world);
    const guest = await world.guest();
    const bad = {
      count: [-1, 1.5, null, "x", "", {}],
      before_id: [-1, 1.5, "x", {}, null, [5]],
      after_id: ["-1", true],
    };
    const table: object[] = [
      {},
      { count: 5 },
      { before_id: 5 },
      { after_id: 5 },
      { count: 5, before_id: 5, after_id: 5 },
      ...bad.count.map((count) => ({ count, before_id: 5 })),
      ...bad.before_id.map((before_id) => ({ count: 5, before_id })),
      ...bad.after_id.map((after_id) => ({ count: 5, after_id })),
    ];
    for (const selection of table) {
      const [, , problem] = await guest.call("chat.fetch", { channel, ...selection });
      t.match(problem, { code: invalid, details: Object }, JSON.stringify(selection));
    }
    const page = await guest.do("chat.fetch", { channel, count: 5, before_id: 5 });
    t.same(page, { results: [], users: {} }, "nothing has happened here");
  });

  await t.test("8.2 chat.fetch: member events", async (t) => {
    const both = ["channel.member", "channel.message"];
    const table: [options: object, types: string[]][] = [
      [{}, both],
      [{ volatile: false }, both],
      [{ volatile: true }, ["channel.message"]],
      [{ force_join: true }, ["channel.message"]],
    ];
    for (const [i, [options, types]] of table.entries()) {
      const channel = await chatRoom(world);
      const ann = await member(world, `ann ${i}`, channel);
      await say(ann, channel, "x");
      const { volatile, force_join = false } = options as Json;
      await world.alter(channel, {
        module_config: [{ type: "chat.native", config: { volatile } }],
        extras: { force_join },
      });
      const name = JSON.stringify(options);
      const events = await history(ann, channel);
      t.same(new Set(events.map(({ event_type }) => event_type)), new Set(types), name);
      const { results } = await ann.do("chat.fetch", { channel, count: 1, after_id: 0 });
      t.equal(results[0].event_type, types[0], name);
      await world.alter(channel, { extras: { force_join: false } });
    }
  });

  await t.test("8.2 chat.fetch: at most 1,000, oldest first", async (t) => {
    const channel = await chatRoom(world, { volatile: true });
    const ann = await member(world, "ann", channel);
    const bodies = Array.from({ length: 1005 }, (_, i) => String(i));
    // The store writes in call order.
    await Promise.all(
      bodies.map((body) => {
        const draft = { sender: ann.id, content: text(body), volatile: true };
        return world.store.chat.send(world.id, channel, draft);
      }),
    );
    const guest = await world.guest();
    const fetch = async (page: object) =>
      (await guest.do("chat.fetch", { channel, count: 5000, ...page })).results as Json[];
    const newest = await fetch({ before_id: 2 ** 53 });
    t.same(bodiesOf(newest), bodies.slice(5));
    t.same(bodiesOf(await fetch({ after_id: 0 })), bodies.slice(0, 1000));
    const state = await guest.do("chat.subscribe", { channel, after: 0 });
    t.same(bodiesOf(state.events), bodies.slice(0, 1000), "A5");
    const rest = await fetch({ before_id: newest[0].event_id });
    t.same(bodiesOf(rest), bodies.slice(0, 5), "the beginning");
    t.equal(await ann.code("chat.send", message(channel, text("x"))), "ok");
  });
});

void t.test("reactions", async (t) => {
  const world = await openWorld(server);

  await t.test("8.2 emoji.sadpanda: anything but one emoji", async (t) => {
    const channel = await chatRoom(world);
    const ann = await member(world, "ann", channel);
    const { event_id: event } = await say(ann, channel, "x");
    const code = (reaction: unknown) => ann.code("chat.react", { channel, event, reaction });
    for (const reaction of ["👍", "❤️", "👍🏽", "👩‍👩‍👧", "🇩🇪", "1️⃣", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "☕", "🫠"]) {
      t.equal(await code(reaction), "ok", reaction);
      t.same((await history(ann, channel)).at(-1).reactions[reaction], [ann.id]);
    }
    const texts = ["", "a", "1", "#", "👍a", ":)", "thumbsup", "+1", "é", "中", "__proto__"];
    const almost = [
      "👍👍",
      "👍 ",
      " 👍",
      "🇩",
      "\u200d",
      "\ufe0f",
      "constructor",
      "👍".repeat(1000),
    ];
    for (const reaction of [...texts, ...almost]) {
      t.equal(await code(reaction), "emoji.sadpanda", reaction.slice(0, 9));
    }
    for (const reaction of [null, undefined, 5, {}, ["👍"], "\ud83d", "👍\0"]) {
      const refusal = /^(emoji\.sadpanda|protocol\.invalid_payload)$/;
      t.match(await code(reaction), refusal, JSON.stringify(reaction));
    }
  });

  await t.test("A3 chat.react to what is no event of it", async (t) => {
    const [channel, elsewhere] = [await chatRoom(world), await chatRoom(world)];
    const ann = await member(world, "ann", channel, elsewhere);
    const dm = await direct(ann, await world.person("bob"));
    const { event_id: foreign } = await say(ann, elsewhere, "x");
    const { event_id: secret } = await say(ann, dm, "x");
    for (const event of [foreign, secret, 10 ** 9, 0, -1, 1.5, "x", null, {}, randomUUID()]) {
      const code = await ann.code("chat.react", { channel, event, reaction: "👍" });
      t.equal(code, "chat.unknown_event", JSON.stringify(event));
    }
    t.same((await history(ann, elsewhere)).at(-1).reactions, {});
  });

  await t.test("4.5 reactors of whom a connection was not told", async (t) => {
    const channel = await chatRoom(world);
    const ann = await member(world, "ann", channel);
    const [bob, guest] = [await member(world, "bob", channel), await world.guest()];
    await guest.do("chat.subscribe", { channel });
    const { event_id: event } = await say(ann, channel, "x");
    t.same(keys((await guest.next("chat.event")).users), [ann.id]);
    const react = async (client: Client, reaction: string, all: object) => {
      await client.do("chat.react", { channel, event, reaction });
      const isWhole = ({ reactions }: Json) => JSON.stringify(reactions) === JSON.stringify(all);
      return keys((await guest.next("chat.event.reaction", isWhole)).users);
    };
    t.same(await react(bob, "👍", { "👍": [bob.id] }), [bob.id]);
    t.same(await react(bob, "🎉", { "👍": [bob.id], "🎉": [bob.id] }), []);
  });
});
