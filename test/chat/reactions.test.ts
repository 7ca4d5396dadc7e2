import { randomUUID } from "node:crypto";
import t from "tap";
import type { Client, Json } from "../live/client.js";
import { direct, history, keys, say, startTalk } from "./talk.js";

void t.test("reactions", async (t) => {
  const talk = await startTalk(t);
  const { live } = talk;

  const react = (
    client: Client,
    channel: string,
    event: number,
    reaction: Json = "👍",
    more = {},
  ) => client.do("chat.react", { channel, event, reaction, ...more });

  /** Waits for the push with these reactions. */
  const pushed = (client: Client, event: number, reactions: Json) => {
    const text = JSON.stringify(reactions);
    return client.next(
      "chat.event.reaction",
      (data) =>
        data.event_id === event && JSON.stringify(data.reactions) === text,
    );
  };

  await t.test("8.2 emoji.sadpanda: anything but one emoji", async (t) => {
    const channel = await talk.room();
    const ann = await talk.member("ann", channel);
    const { event_id: event } = await say(ann, channel, "x");
    const code = (reaction: unknown) =>
      ann.code("chat.react", { channel, event, reaction });
    const good = ["👍", "❤️", "👍🏽", "👩‍👩‍👧", "🇩🇪", "1️⃣", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "☕", "🫠"];
    for (const reaction of good) {
      t.equal(await code(reaction), "ok", reaction);
      const [last] = (await history(ann, channel)).slice(-1);
      t.same(last.reactions[reaction], [ann.id]);
    }
    const bad = [
      "",
      "a",
      "1",
      "#",
      "👍👍",
      "👍 ",
      " 👍",
      "👍a",
      ":)",
      "thumbsup",
      "+1",
      "__proto__",
      "constructor",
      "\u200d",
      "\ufe0f",
      "🇩",
      "é",
      "中",
      "👍".repeat(1000),
    ];
    for (const reaction of bad) {
      t.equal(await code(reaction), "emoji.sadpanda", reaction.slice(0, 9));
    }
    for (const reaction of [null, undefined, 5, {}, ["👍"], "\ud83d", "👍\0"]) {
      t.match(
        await code(reaction),
        /^(emoji\.sadpanda|protocol\.invalid_payload)$/,
        JSON.stringify(reaction),
      );
    }
  });

  await t.test("A3 chat.react to what is no event of it", async (t) => {
    const [channel, elsewhere] = [await talk.room(), await talk.room()];
    const ann = await talk.member("ann", channel);
    await ann.do("chat.join", { channel: elsewhere });
    const dm = await direct(ann, await talk.person("bob"));
    const foreign = await say(ann, elsewhere, "x");
    const secret = await say(ann, dm, "x");
    const unknown = [
      foreign.event_id,
      secret.event_id,
      10 ** 9,
      0,
      -1,
      1.5,
      "x",
      null,
      {},
      randomUUID(),
    ];
    for (const event of unknown) {
      const payload = { channel, event, reaction: "👍" };
      t.equal(
        await ann.code("chat.react", payload),
        "chat.unknown_event",
        JSON.stringify(event),
      );
    }
    t.same((await history(ann, elsewhere)).at(-1).reactions, {});
  });

  await t.test("4.5 reactors of whom a connection was not told", async (t) => {
    const channel = await talk.room();
    const ann = await talk.member("ann", channel);
    const [bob, guest] = [
      await talk.member("bob", channel),
      await live.guest(),
    ];
    await guest.do("chat.subscribe", { channel });
    const { event_id: event } = await say(ann, channel, "x");
    t.same(keys((await guest.next("chat.event")).users), [ann.id]);
    await react(bob, channel, event);
    const push = await pushed(guest, event, { "👍": [bob.id] });
    t.same(keys(push.users), [bob.id]);
    await react(bob, channel, event, "🎉");
    const reactions = { "👍": [bob.id], "🎉": [bob.id] };
    const second = await pushed(guest, event, reactions);
    t.same(second.users, {});
  });
});
