import t from "tap";
import type { Json } from "../live/client.js";
import {
  direct,
  history,
  invalid,
  message,
  namesOf,
  say,
  startTalk,
  text,
} from "./talk.js";

void t.test("editing", async (t) => {
  const talk = await startTalk(t);

  /** An event as its channel has it now. */
  const stored = async (client: Json, channel: string, id: number) =>
    (await history(client, channel, 1000)).find(
      ({ event_id }) => event_id === id,
    );

  await t.test("8.4 and F1 replaces that names no message", async (t) => {
    const channel = await talk.room();
    const elsewhere = await talk.room();
    const ann = await talk.member("ann", channel);
    await ann.do("chat.join", { channel: elsewhere });
    const dm = await direct(ann, await talk.person("bob"));
    const { event_id: foreign } = await say(ann, elsewhere, "x");
    const { event_id: secret } = await say(ann, dm, "x");
    const unknown = [
      foreign,
      secret,
      10 ** 9,
      2 ** 53,
      -1,
      1.5,
      "x",
      {},
      [foreign],
      true,
    ];
    for (const replaces of unknown) {
      for (const content of [text("x"), { type: "deleted" }]) {
        const before = (await history(ann, channel)).length;
        t.equal(
          await ann.code("chat.send", message(channel, content, { replaces })),
          "chat.unknown_event",
          JSON.stringify(replaces),
        );
        t.equal((await history(ann, channel)).length, before);
      }
    }
    const plain = message(channel, text("x"), { replaces: null });
    t.match(await ann.do("chat.send", plain), { event: { replaces: null } });
  });

  await t.test("F13 edits are checked before they are stored", async (t) => {
    const channel = await talk.room();
    const admin = await talk.moderator("admin");
    let ann = await talk.member("ann", channel);
    const bob = await talk.person("bob");
    const dm = await direct(ann, bob);
    const inRoom = await say(ann, channel, "before");
    const inDirect = await say(ann, dm, "before");
    const refused = async (place: string, content: Json, code: string) => {
      const { event_id: replaces } = place === dm ? inDirect : inRoom;
      const payload = message(place, content, { replaces });
      const name = `${code} ${JSON.stringify(content)}`;
      t.equal(await ann.code("chat.send", payload), code, name);
      const reader = place === dm ? bob : admin;
      const now = await stored(reader, place, replaces);
      t.same([now.content, now.edited], [text("before"), null], name);
      const events = await history(reader, place);
      t.notOk(events.some((event) => event.replaces === replaces));
    };
    for (const place of [channel, dm]) {
      await refused(place, text(""), "chat.empty");
      await refused(place, { type: "files", files: [] }, "chat.empty");
      await refused(place, { type: "x" }, "chat.unsupported_content_type");
      await refused(place, null, invalid);
      await refused(place, { type: "text", body: 5 }, invalid);
    }
    await bob.do("user.block", { id: ann.id });
    await refused(dm, text("x"), "chat.denied");
    await refused(dm, { type: "deleted" }, "chat.denied");
    await bob.do("user.unblock", { id: ann.id });
    await admin.do("user.silence", { id: ann.id });
    ann = await talk.person("ann");
    for (const content of [text("x"), { type: "deleted" }]) {
      await refused(dm, content, "chat.denied");
      await refused(channel, content, "protocol.denied");
    }
    await admin.do("user.reactivate", { id: ann.id });
    ann = await talk.person("ann");
    await ann.do("chat.leave", { channel });
    await refused(channel, text("x"), "chat.denied");
  });

  await t.test("8.5 Edits in a direct channel send no notices", async (t) => {
    const [ann, bob] = [await talk.person("ann 2"), await talk.person("bob 2")];
    const dm = await direct(ann, bob);
    const { event_id: replaces } = await say(ann, dm, "x");
    await bob.next("chat.notification");
    await bob.do("chat.subscribe", { channel: dm });
    await talk.settle(dm, ann);
    await talk.came(bob);
    await say(ann, dm, "y", { replaces });
    await ann.do("chat.send", message(dm, { type: "deleted" }, { replaces }));
    t.same(namesOf(await talk.heard(dm, bob, ann)), [
      "chat.event",
      "chat.event",
    ]);
  });
});
