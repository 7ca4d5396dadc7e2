import t from "tap";
import { type Client, type Json, soon } from "../live/client.js";
import { message, namesOf, say, startTalk, text } from "./talk.js";

const hangUp = async (client: Client) => {
  client.ws.terminate();
  await soon(client.closed);
};

void t.test("disconnecting", async (t) => {
  const talk = await startTalk(t);
  const { live } = talk;
  const sends = (client: Client, channel: string) =>
    client.code("chat.send", message(channel, text("x")));

  await t.test("8.8 persistent memberships stay, in silence", async (t) => {
    const channel = await talk.room();
    const watch = await live.guest();
    await watch.do("chat.subscribe", { channel });
    const ann = await talk.member("ann", channel);
    const other = await talk.person("ann");
    await talk.calm(channel, watch, other);
    await hangUp(ann);
    t.same(await talk.heard(channel, watch), []);
    t.same(await talk.came(other), []);
    t.equal(await sends(other, channel), "ok");
    const { members } = await watch.do("chat.subscribe", { channel });
    t.ok(members.some(({ id }: Json) => id === ann.id));
    const back = await talk.person("ann");
    t.same(
      back.hello["chat.channels"].map(({ id }: Json) => id),
      [channel],
    );
  });

  await t.test("8.8 every subscription ends", async (t) => {
    const channel = await talk.room();
    const ann = await talk.member("ann", channel);
    await hangUp(ann);
    const back = await talk.person("ann");
    const bob = await talk.member("bob", channel);
    await bob.do("chat.mark_read", { channel, id: 1 });
    await talk.settle(channel);
    await talk.came(back);
    await say(bob, channel, "x");
    const names = namesOf(await talk.heard(channel, back));
    t.notOk(names.includes("chat.event"), "a new connection subscribes anew");
  });

  await t.test("8.8 volatile memberships end", async (t) => {
    const channel = await talk.room({ volatile: true });
    const one = await talk.member("vol", channel);
    const watch = await talk.person("vol");
    t.equal(await sends(watch, channel), "ok");
    await watch.all();
    await hangUp(one);
    t.same(await watch.next("chat.channels"), { channels: [] });
    t.equal(await sends(watch, channel), "chat.denied");
  });

  await t.test("12.3 a client that comes back catches up", async (t) => {
    const channel = await talk.room();
    const ann = await talk.member("ann", channel);
    const bob = await talk.member("bob", channel);
    const { event_id: after } = await say(ann, channel, "seen");
    await bob.next("chat.event", (event) => event.event_id === after);
    await hangUp(bob);
    const missed = [await say(ann, channel, "1"), await say(ann, channel, "2")];
    const back = await talk.person("bob");
    const state = await back.do("chat.subscribe", { channel, after });
    t.same(
      state.events.map(({ event_id }: Json) => event_id),
      missed.map(({ event_id }) => event_id),
    );
    t.equal(state.unread_pointer, missed[1].event_id);
    t.equal(await sends(back, channel), "ok");
  });
});
