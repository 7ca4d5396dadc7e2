import t from "tap";
import {
  type Client,
  codesOf,
  holdRates,
  type Json,
  chatOf,
  chatRoom,
  direct,
  history,
  invalid,
  keys,
  limited,
  listOf,
  member,
  message,
  named,
  openWorld,
  say,
  text,
  USER,
} from "../../support/open-world.js";
import { startServer } from "../../support/server.js";

// Limits on the size and rate of what users send.

const SEND = "chat.send";
const CREATE = "chat.direct.create";

void t.test("F22 bounds", async (t) => {
  const server = await startServer(t, { limits: { maxText: 100 } });
  const world = await openWorld(server);

  await t.test("C text of a message", async (t) => {
    const channel = await chatRoom(world);
    const ann = await member(world, "ann", channel);
    const files = [{ url: "https://x.test/a", name: "a" }];
    const table: [content: object, code: string][] = [
      [text("x".repeat(100)), "ok"],
      [text("😀".repeat(100)), "ok"],
      [text("x".repeat(101)), invalid],
      [text("😀".repeat(101)), invalid],
      [{ type: "files", files, body: "x".repeat(101) }, invalid],
      [{ type: "files", files, body: "x".repeat(100) }, "ok"],
    ];
    for (const [content, code] of table) {
      const [, , answer] = await ann.call(SEND, message(channel, content));
      const name = JSON.stringify(content).slice(0, 60);
      t.equal((answer as Json).code ?? "ok", code, name);
      if (code !== "ok") t.ok((answer as Json).details["content.body"], name);
    }
    const { event_id } = await say(ann, channel, "x");
    const edit = message(channel, text("x".repeat(101)), { replaces: event_id });
    t.equal(await ann.code(SEND, edit), invalid, "of an edit, too");
    t.match((await history(ann, channel)).at(-1).content, text("x"));
  });

  await t.test("C content of a message", async (t) => {
    const channel = await chatRoom(world);
    const mod = await world.person("mod", "admin");
    await mod.do("chat.join", { channel });
    // Users who may change rooms may send frames of up to a megabyte.
    const file = { url: "https://x.test/a", name: "a" };
    const nest = (depth: number): Json => (depth === 0 ? 1 : { a: nest(depth - 1) });
    const table: [more: object, code: string][] = [
      [{ client: "x".repeat(60_000) }, "ok"],
      [{ client: "x".repeat(70_000) }, invalid],
      [{ client: "x".repeat(900_000) }, invalid],
      [{ client: nest(9) }, "ok"],
      [{ client: nest(10) }, invalid],
      [{ client: nest(95) }, invalid],
      [{ client: Array(996).fill(0) }, "ok"],
      [{ client: Array(997).fill(0) }, invalid],
      [{ client: Array(21_000).fill({}) }, invalid],
      [{ client: { a: Array(498).fill(0), b: Array(498).fill({}) } }, invalid],
      [{ type: "files", files: Array(100).fill(file) }, "ok"],
      [{ type: "files", files: Array(101).fill(file) }, invalid],
    ];
    for (const [more, code] of table) {
      const content = { ...text("x"), ...more };
      const name = JSON.stringify(content).slice(0, 60);
      const got = await mod.code(SEND, message(channel, content));
      t.equal(got, code, name);
    }
    // Content with this many values is rejected before anything visits each of them.
    const many: [more: object, field: string][] = [
      [{ content: { ...text("x"), client: Array(1500).fill(0) } }, "content"],
      [{ content: { ...text("x"), client: Array(20_000).fill(0) } }, "content"],
      [{ content: text("x"), extra: Array(20_000).fill({}) }, "extra"],
      [
        {
          content: text("x"),
          ...Object.fromEntries(Array.from({ length: 6000 }, (_, i) => [i, i])),
        },
        "non_field_errors",
      ],
    ];
    for (const [more, field] of many) {
      const payload = { ...message(channel, {}), ...more };
      const [, , answer] = await mod.call(SEND, payload);
      const { code, details } = answer as Json;
      t.equal(code, invalid);
      t.match(details, { [field]: [/^May hold at most \d+ values\.$/] });
    }
    const deep = `${'{"a":'.repeat(5000)}1${"}".repeat(5000)}`;
    const content = `{"type":"text","body":"x","extra":${deep}}`;
    mod.send(
      `["chat.send","deep",{"channel":"${channel}","event_type":"channel.message","content":${content}}]`,
    );
    const [, , problem] = await mod.answered("deep");
    t.match(problem, { code: invalid });
    t.equal(await mod.code("user.list.blocked"), "ok", "it lives on");
  });

  await t.test("C channels subscribed per connection", async (t) => {
    const rooms: string[] = [];
    for (let i = 0; i < 201; i++) rooms.push(await chatRoom(world));
    const guest = await world.guest();
    const subscribe = (channel = rooms[200]): [string, object] => ["chat.subscribe", { channel }];
    const codes = await codesOf(guest, rooms.map(subscribe));
    t.same(codes, [...Array<string>(200).fill("ok"), limited]);
    t.equal(await guest.code(...subscribe(rooms[0])), "ok", "one of the 200 again");
    t.equal(await guest.code(...subscribe()), limited);
    const page = { channel: rooms[200], count: 1, before_id: 1 };
    t.equal(await guest.code("chat.fetch", page), "ok");
    await guest.do("user.update", { profile: { display_name: "x" } });
    t.equal(await guest.code("chat.join", { channel: rooms[200] }), limited, "joining counts");
    await guest.do("chat.unsubscribe", { channel: rooms[0] });
    t.equal(await guest.code(...subscribe()), "ok");
    t.equal(await (await world.guest()).code(...subscribe()), "ok");
  });

  await t.test("8.6 members of a direct channel", async (t) => {
    const ann = await world.person("ann");
    const users = await world.users(100, "m");
    t.equal(await ann.code(CREATE, { users: users.slice(1) }), "ok");
    t.match(await ann.code(CREATE, { users }), /^(chat\.denied|protocol\.invalid_payload)$/);
  });

  await t.test("8.2 reactions to an event", async (t) => {
    const channel = await chatRoom(world, { volatile: true });
    const [ann, bob] = [await member(world, "ann", channel), await member(world, "bob", channel)];
    const { event_id: event } = await say(ann, channel, "x");
    // Distinct emoji, each of which is a single code point.
    const emoji = (
      [
        [0x1f300, 0x1f320],
        [0x1f337, 0x1f37c],
        [0x1f380, 0x1f393],
        [0x1f400, 0x1f43e],
        [0x1f442, 0x1f4fc],
        [0x1f500, 0x1f53d],
        [0x1f600, 0x1f64f],
      ] as const
    ).flatMap(([from, to]) =>
      Array.from({ length: to - from + 1 }, (_, i) => String.fromCodePoint(from + i)),
    );
    const pairs = [ann.id, bob.id].flatMap((user) =>
      emoji.map((reaction) => ({ user, reaction, remove: false, volatile: true })),
    );
    t.ok(pairs.length > 1000);
    const { chat } = world.store;
    await Promise.all(pairs.slice(0, 999).map((it) => chat.react(world.id, channel, event, it)));
    const react = (at: number) =>
      bob.code("chat.react", { channel, event, reaction: pairs[at]!.reaction });
    t.equal(await react(999), "ok");
    t.equal(await react(1000), "chat.reaction_limit");
    t.equal(await react(999), "ok", "it is there");
    const remove = { channel, event, reaction: emoji[0], delete: true };
    t.equal(await ann.code("chat.react", remove), "ok");
    t.equal(await react(1000), "ok", "there is room again");
  });

  await t.test("reactions to large messages leave room on a slow line", async (t) => {
    const channel = await chatRoom(world);
    const eve = await member(world, "eve", channel);
    const reader = await world.guest();
    await reader.do("chat.subscribe", { channel });
    const content = { ...text("x"), client: "x".repeat(60_000) };
    const events: number[] = [];
    for (let i = 0; i < 10; i++) {
      events.push((await eve.do(SEND, message(channel, content))).event.event_id as number);
    }
    await world.calm(channel, reader);
    let bytes = 0;
    reader.ws.on("message", (data: Buffer) => (bytes += data.length));
    const began = performance.now();
    for (let round = 0, isLast = false; !isLast; round++) {
      isLast = performance.now() - began > 2000;
      for (const event of events) {
        const payload = { channel, event, reaction: "👍", delete: !isLast && round % 2 === 1 };
        await eve.do("chat.react", payload);
      }
    }
    const seconds = (performance.now() - began) / 1000;
    // Allows for the first push, one sent just before, and two for the imprecision of timers.
    t.ok(bytes < 250_000 * seconds + 4 * 64_000, `${bytes} bytes in ${seconds} s`);
    t.ok(bytes > 0);
    for (const event of events) {
      await reader.next("chat.event.reaction", ({ event_id, reactions }) => {
        return event_id === event && "👍" in reactions;
      });
    }
  });
});

void t.test("C rates", async (t) => {
  const server = await startServer(t, { limits: { messagesPerSecond: 5 } });
  const world = await openWorld(server);
  // Keeps rate limits from refilling while the test counts.
  holdRates(t);

  await t.test("chat.send per user: bursts of 20", async (t) => {
    const channel = await chatRoom(world);
    const ann = await member(world, "ann", channel);
    const two = await world.person("ann");
    const bob = await member(world, "bob", channel);
    const send: [string, object] = [SEND, message(channel, text("x"))];
    t.same(await codesOf(ann, Array(60).fill(send)), Array(60).fill("ok", 0, 20).fill(limited, 20));
    const said = (await history(ann, channel)).filter(({ content }) => content.body === "x");
    t.equal(said.length, 20, "the others were not executed");
    t.equal(await two.code(...send), limited, "the same user over another connection");
    t.equal(await two.code(CREATE, { users: [bob.id] }), limited, "and channels of their own");
    t.equal(await bob.code(...send), "ok", "others are not concerned");
    const page = { channel, count: 1, before_id: 1 };
    t.equal(await ann.code("chat.fetch", page), "ok", "nor other commands");
    for (const client of [ann, two]) {
      client.close();
      await client.closed;
    }
    const again = await world.person("ann");
    t.equal(await again.code(...send), limited, "a new connection has no new rate");
  });

  await t.test("chat.search has a rate of its own: bursts of 10", async (t) => {
    const channel = await chatRoom(world);
    const sue = await member(world, "sue", channel);
    const find = { channel, query: "lunch" };
    t.same(
      await codesOf(sue, Array<[string, object]>(13).fill(["chat.search", find])),
      Array<string>(13).fill("ok", 0, 10).fill(limited, 10),
    );
    for (const query of ["x", "x".repeat(101), 7]) {
      t.equal(await sue.code("chat.search", { channel, query }), "protocol.invalid_payload");
    }
    t.equal(await sue.code(SEND, message(channel, text("lunch"))), "ok", "others are free");
  });

  await t.test("large messages count as several", async (t) => {
    const channel = await chatRoom(world);
    const content = { ...text("x"), client: "x".repeat(60_000) };
    const ida = await member(world, "ida", channel);
    // Each large message counts as eight, so two of them leave four of twenty.
    const codes = await codesOf(ida, [
      ...Array<[string, object]>(3).fill([SEND, message(channel, content)]),
      ...Array<[string, object]>(5).fill([SEND, message(channel, text("x"))]),
    ]);
    t.same(codes, ["ok", "ok", limited, ...Array<string>(4).fill("ok"), limited]);
    const ivo = await member(world, "ivo", channel);
    const { event_id: replaces } = await say(ivo, channel, "x");
    const edit: [string, object] = [SEND, message(channel, content, { replaces })];
    t.same(await codesOf(ivo, [edit, edit, edit]), ["ok", "ok", limited], "edits, too");
  });

  await t.test("chat.react per user: bursts of 20", async (t) => {
    const channel = await chatRoom(world);
    const eve = await member(world, "eve", channel);
    const { event_id: event } = await say(eve, channel, "x");
    const payload = { channel, event, reaction: "👍" };
    const steps = Array.from({ length: 30 }, (_, i): [string, object] => [
      "chat.react",
      { ...payload, delete: i % 2 === 1 },
    ]);
    t.same(await codesOf(eve, steps), Array(30).fill("ok", 0, 20).fill(limited, 20));
    const two = await world.person("eve");
    t.equal(await two.code("chat.react", payload), limited, "another socket");
    t.ok(await say(eve, channel, "y"), "messages have their own");
    const bob = await member(world, "bobby", channel);
    t.equal(await bob.code("chat.react", payload), "ok", "so have others");
  });

  await t.test("joining and leaving per user", async (t) => {
    const channel = await chatRoom(world);
    const ann = await world.person("jumper");
    const pair = ["chat.join", "chat.leave"].map((it): [string, object] => [it, { channel }]);
    const codes = await codesOf(ann, Array(100).fill(pair).flat());
    t.ok(codes.includes(limited));
    t.same(codes.slice(0, 40), Array(40).fill("ok"));
    const events = (await history(await world.guest(), channel, 1000)).length;
    t.ok(events < 100, `${events} events of 200 commands`);
    t.equal(await ann.code("user.list.blocked"), "ok");
  });

  await t.test("showing channels to people has a rate", async (t) => {
    const ids = await world.users(99, "v");
    const [ann, bob] = [await world.person("shows"), await world.person("sees")];
    /** Shows a channel to a different set of 97 users each time. */
    const create = (client: Client, i: number) =>
      client.code(CREATE, { users: ids.filter((_, at) => at !== i && at !== i + 1), hide: false });
    const codes: string[] = [];
    for (let i = 0; i < 5; i++) codes.push(await create(ann, i));
    t.same(codes, ["ok", "ok", "ok", limited, limited]);
    const seen = await world.person({ uid: "v-50" });
    t.equal(seen.hello["chat.channels"].length, 3, "nothing was written");
    const hidden = await ann.do(CREATE, { users: ids.slice(2) });
    const code = await ann.code(SEND, message(hidden.id, text("x")));
    t.equal(code, limited, "the first message");
    const events = await history(ann, hidden.id, 1000);
    t.ok(events.every(({ event_type }) => event_type === "channel.member"));
    const pair = await ann.do(CREATE, { users: [bob.id], hide: false });
    await say(ann, pair.id, "a few people are still fine");
    t.equal(await create(bob, 20), "ok", "others may");
  });
});

void t.test("bytes of the chats of one world", async (t) => {
  const world = await openWorld(await startServer(t, { limits: { chatBytesPerDay: 5000 } }));
  holdRates(t);
  const channel = await chatRoom(world);
  const ann = await member(world, "ann", channel);
  const mod = await world.person("mod", "admin");
  await mod.do("chat.join", { channel });
  const large = message(channel, text("x".repeat(2000)));
  const replaces = (await ann.do(SEND, large)).event.event_id as number;
  t.equal(await mod.code(SEND, large), "ok");
  t.equal(await ann.code(SEND, large), limited, "all people together");
  t.equal(await ann.code(SEND, { ...large, replaces }), limited, "an edit is stored, too");
  const sent = await world.server.call({
    method: "POST",
    url: `/api/v1/worlds/${world.id}/rooms/${channel}/messages/`,
    as: `Bearer ${world.tokenOf({ uid: "host", traits: ["admin", "api"] })}`,
    body: { content: large.content },
  });
  t.equal(sent.status, 429, "over HTTP, too");
  t.equal(await ann.code(SEND, message(channel, text("x"))), "ok");
  const small = message(channel, text("x".repeat(100)));
  while ((await ann.code(SEND, small)) !== limited);
  const gone = message(channel, { type: "deleted" }, { replaces });
  t.equal(await mod.code(SEND, gone), "ok", "moderators clear up");
});

void t.test("what one user causes for many", async (t) => {
  const server = await startServer(t, { limits: { maxUnsent: 256 * 1024 } });

  /** Changes a user's channel list until updates are no longer sent immediately. */
  const exhaust = async (client: Client, channel: string) => {
    for (let i = 0; i < 22; i++) {
      await client.do("chat.join", { channel });
      await client.do("chat.leave", { channel });
    }
  };

  await t.test("lists of channels have a rate", async (t) => {
    const world = await openWorld(server);
    const [room, last] = [await chatRoom(world), await chatRoom(world)];
    const [bob, two] = [await world.person("bob"), await world.person("bob")];
    const began = performance.now();
    await bob.do("chat.join", { channel: room });
    t.same(listOf(await two.next("chat.channels")), [room], "at once");
    await bob.do("chat.leave", { channel: room });
    t.same(listOf(await two.next("chat.channels")), [], "and again");
    await exhaust(bob, room);
    await bob.do("chat.join", { channel: last });
    await two.next("chat.channels", (data) => listOf(data).includes(last));
    const sent = named(await chatOf(two), "chat.channels");
    const seconds = (performance.now() - began) / 1000;
    t.ok(sent.length <= 33 + 8 * seconds, `${sent.length} lists`);
    const lists = named(await world.heard(last, two), "chat.channels");
    t.same(lists, [], "the last one has the last state");
  });

  await t.test("direct channels that appear while the list waits", async (t) => {
    const world = await openWorld(server);
    const room = await chatRoom(world);
    const [ann, bob, two] = [
      await world.person("ann"),
      await world.person("bob"),
      await world.person("bob"),
    ];
    const known = await direct(bob, ann);
    await two.next("chat.channels");
    const [one, other] = [
      await direct(ann, bob, await world.person("cyd")),
      await direct(ann, bob, await world.person("dan")),
    ];
    await two.all();
    await exhaust(bob, room);
    await bob.do("chat.join", { channel: room });
    await bob.all();
    const said: Record<string, number[]> = { [one]: [], [other]: [] };
    for (const channel of [one, other, one]) {
      const { event_id } = await say(ann, channel, "x");
      said[channel]!.push(event_id);
      await ann.next("chat.event", (event) => event.event_id === event_id);
    }
    await say(ann, known, "x");
    const frames: [string, Json][] = [];
    const received = (name: string) => named(frames, name);
    while (received("chat.notification").length < 4) {
      frames.push((await two.frame()) as [string, Json]);
    }
    for (const [channel, ids] of Object.entries(said)) {
      const listed = frames.findIndex(
        ([name, data]) => name === "chat.channels" && listOf(data).includes(channel),
      );
      const first = frames.findIndex(
        ([name, data]) => name === "chat.unread_pointers" && data[channel],
      );
      t.ok(listed >= 0 && listed < first, "first the list, then what is new");
      const pointers = received("chat.unread_pointers").flatMap((data) => data[channel] ?? []);
      t.same(pointers, ids, "in order");
      const notices = received("chat.notification").map(({ event }) => event);
      const noticed = notices.filter((event) => event.channel === channel);
      t.same(
        noticed.map(({ event_id }) => event_id),
        ids,
      );
    }
    const { hello } = await world.person("bob");
    t.same(hello["chat.notification_counts"], { [one]: 2, [other]: 1, [known]: 1 });
  });

  await t.test("C pushes about users with large profiles", async (t) => {
    const world = await openWorld(server);
    /** Maximum total size of the users in a push, in bytes, including overhead. */
    const MOST = 33 * 1024;
    const at = (ids: string[]) => ids.map((id) => `@${id}`).join(" ");
    const sizeOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));
    const pad = "x".repeat(15_900);
    // A hundred characters, the last of which takes two UTF-16 code units.
    const nameOf = (i: number) => `${`fat ${i}`.padEnd(99, "x")}😀`;
    const fat = await Promise.all(
      Array.from({ length: 49 }, (_, i) =>
        world.user(`fat ${i}`, { display_name: nameOf(i), pad }),
      ),
    );
    const comes = (client: Client, name: string, id: number): Promise<Json> =>
      client.next(name, ({ event_id }) => event_id === id);

    await t.test("an event tells of the sender and who fits in", async (t) => {
      const channel = await chatRoom(world);
      const slim = await world.person("slim");
      const ann = await member(world, "ann", channel);
      const listener = async (uid: string) => {
        const client = await world.person(uid);
        await client.do("chat.subscribe", { channel });
        return client;
      };
      const bob = await listener("bob");
      const pushed = async (from: Client, to: Client, body: string): Promise<Json> => {
        const { event_id } = await say(from, channel, body);
        return (await comes(to, "chat.event", event_id)).users;
      };
      const users = await pushed(ann, bob, at(fat.slice(0, 48)));
      t.equal(keys(users).length, 3, "two large ones");
      t.ok(users[ann.id]);
      t.ok(sizeOf(users) <= MOST);
      const more = await pushed(ann, bob, at([...fat.slice(0, 48), slim.id]));
      t.ok(more[slim.id], "what is small fits in after what does not");

      // A user who was left out does not count as sent.
      const left = fat.find((id) => !(id in users) && !(id in more))!;
      const speaker = await world.person({ uid: `fat ${fat.indexOf(left)}` });
      await speaker.do("chat.join", { channel });
      const joined = await bob.next("chat.event", ({ sender }) => sender === left);
      t.equal(joined.users[left].profile.pad, pad);
      t.notOk(left in (await pushed(speaker, bob, at(fat))));
      const first = await pushed(speaker, await listener("stranger"), at(fat));
      t.equal(first[left].profile.pad, pad, "the sender comes first");
      t.ok(sizeOf(first) <= MOST);
    });

    await t.test("as does an event with its reactions", async (t) => {
      const channel = await chatRoom(world, { volatile: true });
      const ann = await member(world, "ann", channel);
      const { event_id: event } = await say(ann, channel, "x");
      const bob = await world.person("bob");
      await bob.do("chat.subscribe", { channel });
      for (const user of fat) {
        const reaction = { user, reaction: "👍", remove: false, volatile: true };
        await world.store.chat.react(world.id, channel, event, reaction);
      }
      for (;;) {
        const push = await comes(bob, "chat.event.reaction", event);
        t.ok(sizeOf(push.users) <= MOST);
        if (push.reactions["👍"].length === fat.length) break;
      }
    });

    await t.test("a warning names all, and shows who fits in", async (t) => {
      const channel = await chatRoom(world);
      const ann = await member(world, "ann", channel);
      const { event_id } = await say(ann, channel, at(fat));
      const warning = await comes(ann, "chat.mention_warning", event_id);
      const missed = warning.missed_users as Json[];
      t.same(missed.map(({ id }) => id).sort(), [...fat].sort());
      for (const user of missed) {
        t.same(keys(user), USER);
        t.match(user.profile.display_name, /^fat .*x😀$/);
      }
      t.equal(missed.filter(({ profile }) => profile.pad).length, 2);
      t.ok(sizeOf(warning) < 48 * 1024);
    });

    await t.test("a sender is not dropped by what they send", async (t) => {
      const channel = await chatRoom(world);
      const ann = await member(world, "ann", channel);
      const sent = await Promise.all([1, 2, 3, 4].map(() => say(ann, channel, at(fat))));
      for (const { event_id } of sent) await comes(ann, "chat.event", event_id);
      t.equal(await ann.code("user.list.blocked"), "ok");
    });
  });
});
