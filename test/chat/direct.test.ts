import t from "tap";
import { type Client, demo, type Json } from "../live/client.js";
import { direct, keys, namesOf, say, startTalk } from "./talk.js";

const ids = (...clients: Client[]): string[] => clients.map(({ id }) => id);

const listOf = ({ channels }: Json): string[] =>
  channels.map(({ id }: Json) => id);

void t.test("direct messages", async (t) => {
  const direct_only = { "chat.direct": [["talker", "admin"]] };
  const talk = await startTalk(t, {}, [
    demo(),
    demo({ id: "other" }),
    demo({ id: "closed", permission_config: direct_only }),
  ]);
  let count = 0;
  /** People whom no other test knows. */
  const people = (...names: string[]): Promise<Client[]> => {
    count += 1;
    return Promise.all(names.map((name) => talk.person(`${name} ${count}`)));
  };

  await t.test("8.6 New, hide: true", async (t) => {
    const [ann, bob] = (await people("ann", "bob")) as [Client, Client];
    const mine = await talk.person(`ann ${count}`);
    const theirs = await talk.person(`bob ${count}`);
    const dm = await direct(ann, bob);
    t.same(listOf(await mine.next("chat.channels")), [dm]);
    const entry = (await talk.person(`ann ${count}`)).hello["chat.channels"];
    t.same(listOf({ channels: entry }), [dm]);
    t.same(keys(entry[0]), ["id", "members", "unread_pointer"]);
    t.same(
      entry[0].members.map(({ id }: Json) => id).sort(),
      ids(ann, bob).sort(),
      "own user included",
    );
    t.same((await talk.person(`bob ${count}`)).hello["chat.channels"], []);
    const { event_id } = await say(ann, dm, "1");
    await talk.settle(dm, ann);
    for (const client of [bob, theirs]) {
      const frames = await talk.came(client);
      t.same(
        namesOf(frames),
        ["chat.channels", "chat.unread_pointers", "chat.notification"],
        "nothing before the first message",
      );
      const [list, pointers, notice] = frames.map(([, data]) => data as Json);
      t.same(listOf(list), [dm]);
      t.equal(list.channels[0].unread_pointer, event_id);
      t.same(pointers, { [dm]: event_id });
      t.match(notice, { event: { event_id }, sender: { id: ann.id } });
    }
    t.same(
      namesOf(await talk.came(mine)),
      [],
      "the sender knows what was said",
    );
    const late = await talk.person(`bob ${count}`);
    t.same(listOf({ channels: late.hello["chat.channels"] }), [dm]);
    t.same(late.hello["chat.notification_counts"], { [dm]: 2 });
  });

  await t.test(
    "8.6 First message after a member hid the channel",
    async (t) => {
      const [ann, bob] = (await people("ann", "bob")) as [Client, Client];
      const theirs = await talk.person(`bob ${count}`);
      const dm = await direct(ann, bob);
      await say(ann, dm, "1");
      await bob.do("chat.leave", { channel: dm });
      await talk.settle(dm, ann);
      // The fence has shown it again.
      await bob.do("chat.leave", { channel: dm });
      await theirs.next(
        "chat.channels",
        ({ channels }) => channels.length === 0,
      );
      const hidden = await talk.person(`bob ${count}`);
      t.same(hidden.hello["chat.channels"], []);
      for (const client of [bob, theirs]) await client.all();
      const { event_id } = await say(ann, dm, "2");
      for (const client of [bob, theirs, hidden]) {
        t.same(listOf(await client.next("chat.channels")), [dm]);
        t.same(await client.next("chat.unread_pointers"), { [dm]: event_id });
        const { event } = await client.next("chat.notification");
        t.equal(event.event_id, event_id);
      }
      await ann.do("chat.leave", { channel: dm });
      t.same((await talk.person(`ann ${count}`)).hello["chat.channels"], []);
      await say(bob, dm, "3");
      t.same(listOf(await ann.next("chat.channels")), [dm], "the creator, too");
    },
  );
});
