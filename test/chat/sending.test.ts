import t from "tap";
import { demo, type Json } from "../live/client.js";
import {
  direct,
  history,
  idsOf,
  invalid,
  keys,
  message,
  named,
  say,
  startTalk,
  text,
} from "./talk.js";

void t.test("sending", async (t) => {
  const talk = await startTalk(t, {}, [demo(), demo({ id: "other" })]);

  const files = [
    { url: "https://x.test/a.png", name: "a", mimeType: "image/png" },
  ];
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
    const room = await talk.room();
    const ann = await talk.member("ann", room);
    const dm = await direct(ann, await talk.person("bob"));
    for (const [content, inRoom, inDirect = inRoom] of contents) {
      const name = JSON.stringify(content) ?? "nothing";
      const places: [channel: string, code: string][] = [
        [room, inRoom],
        [dm, inDirect],
      ];
      for (const [channel, code] of places) {
        const before = (await history(ann, channel)).length;
        const payload = message(channel, content);
        t.equal(await ann.code("chat.send", payload), code, name);
        const events = await history(ann, channel);
        const stored = code === "ok" ? 1 : 0;
        t.equal(events.length - before, stored, `${name} is stored or not`);
        if (stored) t.same(events.at(-1).content, content, name);
      }
    }
  });

  await t.test("8.4 Other event types", async (t) => {
    const channel = await talk.room();
    const ann = await talk.member("ann", channel);
    const payload = message(channel, text("x"));
    const types = [
      "channel.member",
      "channel.poll",
      "channel.message ",
      "message",
      "",
      null,
      5,
      {},
      undefined,
    ];
    for (const event_type of types) {
      t.equal(
        await ann.code("chat.send", { ...payload, event_type }),
        "chat.unsupported_event_type",
        JSON.stringify(event_type),
      );
    }
    t.same(keys(await ann.do("chat.send", payload)), ["event"]);
  });

  await t.test("6 blocks do not concern rooms", async (t) => {
    const channel = await talk.room();
    const ann = await talk.member("ann", channel);
    const bob = await talk.member("bob", channel);
    await bob.do("user.block", { id: ann.id });
    await talk.calm(channel, bob);
    const { event_id } = await say(ann, channel, `x @${bob.id}`);
    const frames = await talk.heard(channel, bob);
    t.same(idsOf(named(frames, "chat.event")), [event_id]);
    await bob.do("user.unblock", { id: ann.id });
  });
});
