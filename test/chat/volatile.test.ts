import t from "tap";
import { type Client, type Json, soon } from "../live/client.js";
import {
  bodiesOf,
  history,
  invalid,
  message,
  namesOf,
  say,
  startTalk,
  text,
} from "./talk.js";

const sends = (client: Client, channel: string) =>
  client.code("chat.send", message(channel, text("may I?")));

void t.test("volatile memberships", async (t) => {
  const talk = await startTalk(t);
  const { live } = talk;

  await t.test("8.1 it makes no events and is listed nowhere", async (t) => {
    const channel = await talk.room({ volatile: true });
    const watch = await live.guest();
    await watch.do("chat.subscribe", { channel });
    const one = await talk.person("one");
    const two = await talk.person("one");
    const state = await one.do("chat.join", { channel });
    t.same(state.members, []);
    t.same(await two.next("chat.channels"), { channels: [] }, "unchanged");
    const { event_id } = await say(one, channel, "x");
    const [first] = [await watch.next("chat.event")];
    t.equal(first.event_id, event_id, "the first event is the message");
    await one.next("chat.event");
    t.same(await talk.came(one), [], "no chat.channels to me");
    const again = await watch.do("chat.subscribe", { channel });
    t.same(again.members, []);
    const late = await talk.person("one");
    t.same(late.hello["chat.channels"], []);
    t.same(bodiesOf(await history(one, channel)), ["x"]);
  });

  await t.test("8.1 it ends with the last subscription", async (t) => {
    const channel = await talk.room({ volatile: true });
    const [one, two, third] = [
      await talk.person("user"),
      await talk.person("user"),
      await talk.person("user"),
    ];
    await one.do("chat.join", { channel });
    await two.do("chat.subscribe", { channel });
    for (const client of [two, third]) await client.next("chat.channels");
    await one.do("chat.unsubscribe", { channel });
    t.equal(await sends(two, channel), "ok", "a subscription is left");
    t.equal(await sends(third, channel), "ok", "it is the user's");
    await two.do("chat.unsubscribe", { channel });
    for (const client of [one, third]) {
      t.same(await client.next("chat.channels"), { channels: [] });
    }
    for (const client of [one, two, third]) {
      t.equal(await sends(client, channel), "chat.denied");
    }
    t.same(
      namesOf(await talk.came(two)).filter((name) => name !== "chat.event"),
      [],
      "not to the one that unsubscribed",
    );
    await two.do("chat.subscribe", { channel });
    t.equal(await sends(two, channel), "chat.denied", "it has to join again");
    await two.do("chat.join", { channel });
    t.equal(await sends(two, channel), "ok");
  });

  await t.test("8.8 and F16 it ends with the last connection", async (t) => {
    const channel = await talk.room({ volatile: true });
    const [one, two, third] = [
      await talk.person("gone"),
      await talk.person("gone"),
      await talk.person("gone"),
    ];
    await one.do("chat.join", { channel });
    await two.do("chat.join", { channel });
    t.equal(await sends(third, channel), "ok");
    await third.all();
    two.close();
    await soon(two.closed);
    t.equal(await sends(third, channel), "ok", "the other one is there");
    one.close();
    await soon(one.closed);
    t.same(await third.next("chat.channels"), { channels: [] });
    t.equal(await sends(third, channel), "chat.denied");
  });

  await t.test("8.2 who chooses volatile", async (t) => {
    type Row = [
      room: boolean | undefined,
      traits: string[],
      volatile: boolean | undefined,
      isVolatile: boolean,
    ];
    const table: Row[] = [
      [undefined, [], undefined, false],
      [false, [], undefined, false],
      [true, [], undefined, true],
      [undefined, [], true, false],
      [false, [], true, false],
      [true, [], false, true],
      [undefined, ["admin"], true, true],
      [true, ["admin"], false, false],
      [true, ["admin"], undefined, true],
      [false, ["admin"], undefined, false],
    ];
    for (const [i, [room, traits, volatile, isVolatile]] of table.entries()) {
      const options = room === undefined ? {} : { volatile: room };
      const channel = await talk.room(options);
      const client = await talk.person(`chooser ${i}`, { traits });
      const payload = { channel, ...(volatile !== undefined && { volatile }) };
      await client.do("chat.join", payload);
      const name = JSON.stringify(table[i]);
      t.equal(await sends(client, channel), "ok", name);
      const { hello } = await talk.person(`chooser ${i}`, { traits });
      const listed = hello["chat.channels"].length === 1;
      t.equal(listed, !isVolatile, name);
      await client.do("chat.unsubscribe", { channel });
      const code = isVolatile ? "chat.denied" : "ok";
      t.equal(await sends(client, channel), code, name);
    }
    const channel = await talk.room();
    const admin = await talk.person("chooser", { traits: ["admin"] });
    for (const volatile of [null, 0, 1, "true", [], {}]) {
      const code = await admin.code("chat.join", { channel, volatile });
      t.equal(code, invalid, JSON.stringify(volatile));
    }
  });

  await t.test("8.2 and F15 it becomes lasting, as if joined", async (t) => {
    const channel = await talk.room();
    const admin = { traits: ["admin"] };
    const mod = await talk.person("mod", admin);
    const other = await talk.person("mod", admin);
    const watch = await talk.member("watch", channel);
    await mod.do("chat.join", { channel, volatile: true });
    await other.next("chat.channels");
    await talk.calm(channel, mod, other, watch);
    await mod.do("chat.join", { channel, volatile: false });
    t.match(await watch.next("chat.event"), {
      sender: mod.id,
      content: { membership: "join" },
    });
    const { channels } = await other.next("chat.channels");
    t.same(
      channels.map(({ id }: Json) => id),
      [channel],
    );
    await mod.do("chat.unsubscribe", { channel });
    t.equal(await sends(mod, channel), "ok");

    await mod.do("chat.join", { channel, volatile: true });
    await mod.do("chat.unsubscribe", { channel });
    t.equal(await sends(mod, channel), "ok", "never the other way");
    const { hello } = await talk.person("mod", admin);
    t.equal(hello["chat.channels"].length, 1);
  });

  await t.test(
    "8.1 lasting ones stay when a room turns volatile",
    async (t) => {
      const channel = await talk.room();
      const ann = await talk.member("ann", channel);
      const module = { type: "chat.native", config: { volatile: true } };
      await talk.alter(channel, { module_config: [module] });
      await ann.next("world.updated");
      await ann.do("chat.unsubscribe", { channel });
      t.equal(await sends(ann, channel), "ok");
    },
  );
});
