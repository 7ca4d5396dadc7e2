import type { ChatStore } from "../../../db/contract/chat.js";
import {
  allEvents,
  chatting,
  DELETED,
  message,
  stored,
  text,
} from "./chat-setup.js";
import { ABSENT, type Contract, fails, headOf, tick } from "./setup.js";

/** Empties all messages of a user. @returns how many. */
async function emptyAll(chat: ChatStore, user: string): Promise<number> {
  let sum = 0;
  let after: number | undefined = 0;
  while (after !== undefined) {
    const slice = await chat.empty("demo", user, after);
    sum += slice.emptied;
    after = slice.next;
  }
  return sum;
}

export async function chatErasingContract(contract: Contract): Promise<void> {
  await contract("the messages of a user are emptied", async (t, store) => {
    const { room, ada, bob, elsewhere, say } = await chatting(store);
    const { chat } = store;
    const one = await say("one");
    const two = await say("two");
    const edit = await say("three", { replaces: two.event.id });
    const other = await chat.send("demo", room, message(bob, "b"));
    const { id: direct } = (await chat.direct("demo", ada, [ada, bob], true))
      .channel;
    const there = await chat.send("demo", direct, message(ada));
    await store.users.erase("demo", { user_id: ada });
    await fails(t, chat.empty("demo", ABSENT, 0), "absent", "user");
    await fails(t, chat.empty("demo", elsewhere.user, 0), "absent", "user");
    t.equal(await emptyAll(chat, ada), 4);
    const at = (id: number, channel = room) => chat.event("demo", channel, id);
    t.match(await at(one.event.id), { content: stored(DELETED), sender: ada });
    t.match(await at(two.event.id), {
      content: stored(DELETED),
      edited: edit.event.timestamp,
    });
    t.match(await at(edit.event.id), { content: stored(DELETED) });
    t.match(await at(there.event.id, direct), { content: stored(DELETED) });
    t.strictSame(await at(other.event.id), other.event, "of others");
    t.match((await allEvents(store, room))[0], {
      content: stored({ membership: "join" }),
    });
    t.equal(await emptyAll(chat, ada), 0, "again");
  });

  await contract("old events expire", async (t, store) => {
    const { room, ada, bob, elsewhere, say } = await chatting(store);
    const { chat } = store;
    const { id: direct } = (await chat.direct("demo", ada, [ada, bob], true))
      .channel;
    const old = [];
    for (let i = 0; i < 300; i++)
      old.push(say(`old ${i}`, { mentioned: [bob] }));
    const [first] = await Promise.all(old);
    const reaction = {
      user: ada,
      reaction: "x",
      remove: false,
      volatile: false,
    };
    await chat.react("demo", room, first!.event.id, reaction);
    await tick();
    const before = Date.now();
    await tick();
    const edit = await say("edit", { replaces: first!.event.id });
    const kept = await say("new", { mentioned: [bob] });
    let slices = 1;
    while (await chat.expire("demo", before)) slices++;
    t.equal(slices > 1, true, "in slices");
    const head = await headOf(store);
    t.strictSame(await allEvents(store, room), [edit.event, kept.event]);
    t.strictSame(await allEvents(store, direct), []);
    t.equal((await allEvents(store, elsewhere.room, "other")).length, 1);
    t.equal(await chat.event("demo", room, first!.event.id), undefined);
    t.match((await chat.unread("demo", bob)).notifications, [
      { event: kept.event.id },
    ]);
    t.match(await chat.deliveries("demo", room, 0, 1), [
      { event: { id: edit.event.id }, previous: 0, previousMessage: 0 },
    ]);
    for (const replaces of [first!.event.id, edit.event.id]) {
      await fails(t, say("late", { replaces }), "absent", "event");
    }
    await fails(
      t,
      chat.react("demo", room, first!.event.id, reaction),
      "absent",
      "event",
    );
    t.equal(await chat.expire("demo", before), false);
    t.equal(await chat.expire("none", before), false);
    t.equal(await headOf(store), head);
    t.equal((await chat.members("demo", room, 9)).length, 3);
    t.match((await say("next")).event, {
      id: head + 1,
      content: stored(text("next")),
    });
  });
}
