import t from "tap";
import { codesOf, demo, holdRates, type Json } from "../live/client.js";
import { history, invalid, message, say, startTalk, text } from "./talk.js";

const limited = "protocol.rate_limited";

void t.test("F22 bounds", async (t) => {
  const talk = await startTalk(t, { maxText: 100 });
  const { live } = talk;

  await t.test("C text of a message", async (t) => {
    const channel = await talk.room();
    const ann = await talk.member("ann", channel);
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
      const [, , answer] = await ann.call(
        "chat.send",
        message(channel, content),
      );
      const name = JSON.stringify(content).slice(0, 60);
      t.equal((answer as Json).code ?? "ok", code, name);
      if (code !== "ok") t.ok((answer as Json).details["content.body"], name);
    }
    const { event_id } = await say(ann, channel, "x");
    const edit = message(channel, text("x".repeat(101)), {
      replaces: event_id,
    });
    t.equal(await ann.code("chat.send", edit), invalid, "of an edit, too");
    t.match((await history(ann, channel)).at(-1).content, text("x"));
  });

  await t.test("C content of a message", async (t) => {
    const channel = await talk.room();
    const mod = await talk.moderator("mod");
    await mod.do("chat.join", { channel });
    // Who may change rooms may send frames up to a megabyte.
    const file = { url: "https://x.test/a", name: "a" };
    const nest = (depth: number): Json =>
      depth === 0 ? 1 : { a: nest(depth - 1) };
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
      const got = await mod.code("chat.send", message(channel, content));
      t.equal(got, code, name);
    }
    // As many are refused before anything looks at each of them.
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
      const [, , answer] = await mod.call("chat.send", payload);
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
    for (let i = 0; i < 201; i++) rooms.push(await talk.room());
    const guest = await live.guest();
    const codes = await codesOf(
      guest,
      rooms.map((channel) => ["chat.subscribe", { channel }]),
    );
    t.same(codes, [...Array<string>(200).fill("ok"), limited]);
    const subscribe = (channel?: string) =>
      guest.code("chat.subscribe", { channel });
    t.equal(await subscribe(rooms[0]), "ok", "one of the 200 again");
    t.equal(await subscribe(rooms[200]), limited);
    const page = { channel: rooms[200], count: 1, before_id: 1 };
    t.equal(await guest.code("chat.fetch", page), "ok");
    await guest.do("user.update", { profile: { display_name: "x" } });
    const join = { channel: rooms[200] };
    t.equal(await guest.code("chat.join", join), limited, "joining counts");
    await guest.do("chat.unsubscribe", { channel: rooms[0] });
    t.equal(await subscribe(rooms[200]), "ok");
    t.equal(await (await live.guest()).code("chat.subscribe", join), "ok");
  });

  await t.test("8.6 members of a direct channel", async (t) => {
    const ann = await talk.person("ann");
    const ids: string[] = [];
    for (let i = 0; i < 100; i++) {
      const visitor = { tokenId: `m${i}`, traits: new Set<string>() };
      ids.push((await live.app.store.users.enter("demo", visitor)).id);
    }
    const create = (users: string[]) =>
      ann.code("chat.direct.create", { users });
    t.equal(await create(ids.slice(0, 99)), "ok");
    const code = await create(ids);
    t.match(code, /^(chat\.denied|protocol\.invalid_payload)$/);
  });

  await t.test("8.2 reactions to an event", async (t) => {
    const channel = await talk.room({ volatile: true });
    const ann = await talk.member("ann", channel);
    const { event_id: event } = await say(ann, channel, "x");
    const emoji: string[] = [];
    // Faces, animals and things, each one code point with a picture of its own.
    for (const [from, to] of [
      [0x1f300, 0x1f320],
      [0x1f337, 0x1f37c],
      [0x1f380, 0x1f393],
      [0x1f400, 0x1f43e],
      [0x1f442, 0x1f4fc],
      [0x1f500, 0x1f53d],
      [0x1f600, 0x1f64f],
    ] as const) {
      for (let code = from; code <= to; code++) {
        emoji.push(String.fromCodePoint(code));
      }
    }
    const bob = await talk.member("bob", channel);
    const { chat } = live.app.store;
    const users = [ann.id, bob.id];
    const pairs = users.flatMap((user) =>
      emoji.map((reaction) => ({ user, reaction })),
    );
    t.ok(pairs.length > 1000);
    await Promise.all(
      pairs.slice(0, 999).map((pair) => {
        const more = { ...pair, remove: false, volatile: true };
        return chat.react("demo", channel, event, more);
      }),
    );
    const react = (at: number, client = bob) => {
      const { reaction } = pairs[at]!;
      return client.code("chat.react", { channel, event, reaction });
    };
    t.equal(await react(999), "ok");
    t.equal(await react(1000), "chat.reaction_limit");
    t.equal(await react(999), "ok", "it is there");
    const remove = { channel, event, reaction: emoji[0], delete: true };
    t.equal(await ann.code("chat.react", remove), "ok");
    t.equal(await react(1000), "ok", "there is room again");
  });
});

void t.test("C rates", async (t) => {
  const talk = await startTalk(t, { messagesPerSecond: 5 });
  const { live } = talk;
  // Nothing is refilled while the test counts.
  holdRates(t);
  await t.test("chat.send per user: bursts of 20", async (t) => {
    const channel = await talk.room();
    const ann = await talk.member("ann", channel);
    const two = await talk.person("ann");
    const bob = await talk.member("bob", channel);
    const send: [string, object] = ["chat.send", message(channel, text("x"))];
    const codes = await codesOf(ann, Array(60).fill(send));
    const sent = codes.filter((code) => code === "ok").length;
    t.ok(sent >= 20 && sent < 60, `${sent} of 60`);
    t.same(new Set(codes), new Set(["ok", limited]));
    t.same(codes.slice(0, 20), Array(20).fill("ok"));
    t.equal(
      (await history(ann, channel)).filter(({ sender, event_type }) => {
        return sender === ann.id && event_type === "channel.message";
      }).length,
      sent,
      "the others were not executed",
    );
    const more = await codesOf(two, Array(30).fill(send));
    t.ok(more.includes(limited), "the same user over another connection");
    const users = { users: [bob.id] };
    const create: [string, object] = ["chat.direct.create", users];
    const created = await codesOf(two, Array(30).fill(create));
    t.ok(created.includes(limited), "and channels of their own");
    t.equal(await bob.code(...send), "ok", "others are not concerned");
    const page = { channel, count: 1, before_id: 1 };
    t.equal(await ann.code("chat.fetch", page), "ok", "nor other commands");
  });

  await t.test("large messages count as several", async (t) => {
    const channel = await talk.room();
    const large = { ...text("x"), client: "x".repeat(60_000) };
    const small = message(channel, text("x"));
    const said = message(channel, large);
    const ida = await talk.member("ida", channel);
    // Each counts as eight, which leaves four of twenty.
    const codes = await codesOf(ida, [
      ...Array<[string, object]>(3).fill(["chat.send", said]),
      ...Array<[string, object]>(5).fill(["chat.send", small]),
    ]);
    const four = Array(4).fill("ok");
    t.same(codes, ["ok", "ok", limited, ...four, limited]);

    const ivo = await talk.member("ivo", channel);
    const { event_id } = await say(ivo, channel, "x");
    const edit = message(channel, large, { replaces: event_id });
    const edits = Array<[string, object]>(3).fill(["chat.send", edit]);
    t.same(await codesOf(ivo, edits), ["ok", "ok", limited], "edits, too");
  });

  await t.test("chat.react per user: bursts of 20", async (t) => {
    const channel = await talk.room();
    const eve = await talk.member("eve", channel);
    const { event_id: event } = await say(eve, channel, "x");
    const payload = { channel, event, reaction: "👍" };
    const steps = Array.from({ length: 30 }, (_, i): [string, object] => [
      "chat.react",
      { ...payload, delete: i % 2 === 1 },
    ]);
    const codes = await codesOf(eve, steps);
    const expected = Array(30).fill("ok", 0, 20).fill(limited, 20);
    t.same(codes, expected);
    const two = await talk.person("eve");
    t.equal(await two.code("chat.react", payload), limited, "another socket");
    t.ok(await say(eve, channel, "y"), "messages have their own");
    const bob = await talk.member("bobby", channel);
    t.equal(await bob.code("chat.react", payload), "ok", "so have others");
  });

  await t.test("joining and leaving per user", async (t) => {
    const channel = await talk.room();
    const ann = await talk.person("jumper");
    const pair: [string, object][] = [
      ["chat.join", { channel }],
      ["chat.leave", { channel }],
    ];
    const rounds = Array.from({ length: 100 }, () => pair).flat();
    const codes = await codesOf(ann, rounds);
    t.ok(codes.includes(limited));
    t.same(codes.slice(0, 40), Array(40).fill("ok"));
    const events = (await history(await live.guest(), channel, 1000)).length;
    t.ok(events < 100, `${events} events of 200 commands`);
    t.equal(await ann.code("user.list.blocked"), "ok");
  });
});

void t.test(
  "reactions to large messages leave room on a slow line",
  async (t) => {
    const talk = await startTalk(t);
    const channel = await talk.room();
    const eve = await talk.member("eve", channel);
    const reader = await talk.live.guest();
    await reader.do("chat.subscribe", { channel });
    const content = { ...text("x"), client: "x".repeat(60_000) };
    const events: number[] = [];
    for (let i = 0; i < 10; i++) {
      const { event } = await eve.do("chat.send", message(channel, content));
      events.push(event.event_id as number);
    }
    await reader.next(
      "chat.event",
      ({ event_id }) => event_id === events.at(-1),
    );
    await talk.settle(channel);
    await reader.all();
    let bytes = 0;
    reader.ws.on("message", (data: Buffer) => (bytes += data.length));
    const began = performance.now();
    const last = () => performance.now() - began > 2000;
    let isDone = false;
    for (let round = 0; !isDone; round++) {
      isDone = last();
      for (const event of events) {
        const payload = {
          channel,
          event,
          reaction: "👍",
          delete: !isDone && round % 2 === 1,
        };
        await eve.do("chat.react", payload);
      }
    }
    const seconds = (performance.now() - began) / 1000;
    // One may have been sent just before.
    const most = 250_000 * seconds + 130_000;
    t.ok(bytes < most, `${bytes} bytes in ${seconds} s`);
    t.ok(bytes > 0);
    for (const event of events) {
      await reader.next("chat.event.reaction", ({ event_id, reactions }) => {
        return event_id === event && "👍" in reactions;
      });
    }
  },
);

void t.test("bytes of the chats of one world", async (t) => {
  const talk = await startTalk(t, { chatBytesPerDay: 5000 }, [
    demo(),
    demo({ id: "other" }),
  ]);
  holdRates(t);
  const channel = await talk.room();
  const ann = await talk.member("ann", channel);
  const mod = await talk.moderator("mod");
  await mod.do("chat.join", { channel });
  const large = message(channel, text("x".repeat(2000)));
  const { event } = await ann.do("chat.send", large);
  t.equal(await mod.code("chat.send", large), "ok");
  t.equal(await ann.code("chat.send", large), limited, "all people together");
  const replaces = event.event_id as number;
  const edit = { ...large, replaces };
  t.equal(await ann.code("chat.send", edit), limited, "an edit is stored, too");
  const { content } = large as Json;
  const token = talk.live.tokenOf({ uid: "host", traits: ["admin", "api"] });
  const sent = await fetch(
    `${talk.live.baseUrl}/api/v1/worlds/demo/rooms/${channel}/messages/`,
    {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({ content }),
    },
  );
  t.equal(sent.status, 429, "over HTTP, too");
  t.equal(await ann.code("chat.send", message(channel, text("x"))), "ok");
  for (;;) {
    const small = message(channel, text("x".repeat(100)));
    if ((await ann.code("chat.send", small)) === limited) break;
  }
  const gone = message(channel, { type: "deleted" }, { replaces });
  t.equal(await mod.code("chat.send", gone), "ok", "moderators clear up");
});
