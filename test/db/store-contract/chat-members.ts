import { allEvents, chatting, message, stored } from "./chat-setup.js";
import { ABSENT, type Contract, fails, headOf } from "./setup.js";

export async function chatMemberContract(contract: Contract): Promise<void> {
  await contract("users join and leave", async (t, store, open) => {
    const { room, ada, bob, cy, dan, elsewhere } = await chatting(store);
    const { chat } = store;
    const before = await headOf(store);
    const joined = await chat.join("demo", room, dan);
    t.match(joined, {
      event: {
        id: before + 1,
        sender: dan,
        type: "channel.member",
        content: stored({ membership: "join" }),
      },
      previousMessage: 0,
      notified: [],
      appeared: [],
    });
    t.equal(await chat.join("demo", room, dan), undefined, "already");
    t.equal(await headOf(store), before + 2);
    const inOrder = [dan, cy, bob, ada];
    t.strictSame(await chat.members("demo", room, 9), inOrder);
    t.strictSame(await chat.members("demo", room, 2), [dan, cy]);
    t.strictSame(await chat.members("other", room, 9), []);
    t.equal(await chat.isMember("demo", room, dan), true);
    t.equal(await chat.isMember("other", room, dan), false);
    t.equal(await chat.isMember("demo", room, elsewhere.user), false);
    const membership = {
      id: room,
      direct: undefined,
      lastMessage: 0,
      hidden: false,
    };
    t.strictSame(await chat.memberships("demo", dan), [membership]);
    t.strictSame(await chat.memberships("other", dan), []);
    t.match(
      (await chat.unread("demo", dan)).marks,
      [{ user: dan, channel: room, pointer: null, listed: before + 1 }],
      "on the unread list",
    );

    const left = await chat.leave("demo", room, dan, false);
    t.match(left, {
      event: { sender: dan, content: stored({ membership: "leave" }) },
      previous: before + 1,
    });
    t.equal(await chat.leave("demo", room, dan, false), undefined, "again");
    t.equal(await chat.leave("demo", room, cy, true), undefined, "in silence");
    t.equal(await headOf(store), before + 5);
    t.strictSame(await chat.members("demo", room, 9), [bob, ada]);
    t.equal(await chat.isMember("demo", room, cy), false);
    t.strictSame(await chat.memberships("demo", dan), []);
    t.match((await chat.unread("demo", dan)).marks, [{ listed: null }]);
    await chat.join("demo", room, dan);
    t.strictSame(await (await open()).chat.members("demo", room, 9), [
      dan,
      bob,
      ada,
    ]);

    const { id: quiet } = (await store.rooms.create("demo", { name: "Q" }))
      .value;
    t.equal(await chat.leave("demo", quiet, dan, false), undefined);
    t.equal(await chat.channel("demo", quiet), undefined, "nothing happened");
    t.strictSame(await chat.events("demo", quiet, { limit: 9 }), []);
    t.strictSame(await chat.deliveries("demo", quiet, 0, 9), []);
    t.strictSame(await chat.members("demo", quiet, 9), []);
  });

  await contract("one of many joins at once counts", async (t, store, open) => {
    const { dan } = await chatting(store);
    const { id } = (await store.rooms.create("demo", { name: "Q" })).value;
    const second = await open();
    const joins = await Promise.all(
      [store, second, store, second].map(({ chat }) =>
        chat.join("demo", id, dan),
      ),
    );
    t.equal(joins.filter((join) => join !== undefined).length, 1);
    t.strictSame(await store.chat.members("demo", id, 9), [dan]);
    t.equal((await allEvents(store, id)).length, 1);
  });

  await contract("a room takes its channel along", async (t, store) => {
    const { room, ada, bob, elsewhere, say } = await chatting(store);
    const { chat, rooms } = store;
    const { event } = await say("x", { mentioned: [bob] });
    await rooms.delete("demo", room);
    t.equal(await chat.channel("demo", room), undefined);
    t.strictSame(await allEvents(store, room), []);
    t.equal(await chat.event("demo", room, event.id), undefined);
    t.strictSame(await chat.memberships("demo", ada), []);
    t.strictSame(await chat.unread("demo", bob), {
      marks: [],
      notifications: [],
    });
    await fails(t, say("y"), "absent", "room");
    const { id } = (await rooms.create("demo", { name: "N" })).value;
    await chat.join("demo", id, ada);
    t.equal((await allEvents(store, id)).length, 1, "a new one is empty");
    const [joined] = await allEvents(store, id);
    t.ok(joined!.id > event.id, "no id is used again");

    await store.worlds.delete("demo");
    t.strictSame(await allEvents(store, id), []);
    t.equal((await chat.members("other", elsewhere.room, 9)).length, 1);
    t.equal((await allEvents(store, elsewhere.room, "other")).length, 1);
  });

  await contract("an erased user is no member of rooms", async (t, store) => {
    const { room, ada, bob, cy, say } = await chatting(store);
    const { chat, users } = store;
    const { event } = await say("x", { mentioned: [bob] });
    const pair = (await chat.direct("demo", ada, [ada, bob], false)).channel;
    const three = (await chat.direct("demo", ada, [cy, ada, bob], false))
      .channel;
    await chat.send("demo", pair.id, message(ada));
    await chat.leave("demo", three.id, ada, false);
    await users.erase("demo", { user_id: ada });
    t.strictSame(await chat.members("demo", room, 9), [cy, bob]);
    t.strictSame(await chat.memberships("demo", ada), [
      { ...(await chat.channel("demo", pair.id))!, hidden: false },
      { ...three, hidden: false },
    ]);
    t.match(await chat.event("demo", room, event.id), { sender: ada });
    t.strictSame((await chat.unread("demo", ada)).marks, []);
    t.strictSame(
      (await chat.members("demo", pair.id, 9)).toSorted(),
      [ada, bob].toSorted(),
      "the tombstone stays in direct channels",
    );
    t.match((await chat.unread("demo", bob)).notifications, [
      { channel: room },
      { channel: pair.id },
    ]);
    const sent = await chat.send("demo", three.id, message(bob));
    t.strictSame([sent.notified, sent.appeared], [[cy], []]);
    await fails(t, chat.join("demo", room, ada), "absent", "user");

    await users.erase("demo", { user_id: bob });
    t.equal(
      await chat.channel("demo", pair.id),
      undefined,
      "no member is left",
    );
    t.strictSame(await allEvents(store, pair.id), []);
    t.strictSame(
      (await chat.memberships("demo", ada)).map(({ id }) => id),
      [three.id],
    );
    t.equal((await allEvents(store, three.id)).length, 4);
    t.equal((await allEvents(store, three.id)).length, 4);
  });

  await contract("who may not join", async (t, store) => {
    const { room, ada, bob, dan, eve, elsewhere } = await chatting(store);
    const { chat, users } = store;
    await users.moderate("demo", dan, "banned");
    await users.moderate("demo", eve, "silenced");
    await fails(t, chat.join("demo", room, dan), "denied");
    t.not(await chat.join("demo", room, eve), undefined, "silenced");
    await fails(t, chat.join("demo", room, ABSENT), "absent", "user");
    await fails(t, chat.join("demo", room, elsewhere.user), "absent", "user");
    for (const [world, id] of [
      ["demo", ABSENT],
      ["demo", elsewhere.room],
      ["other", room],
      ["none", room],
    ] as const) {
      await fails(t, chat.join(world, id, bob), "absent", "room");
      await fails(t, chat.leave(world, id, bob, false), "absent", "room");
    }
    const { id } = (await chat.direct("demo", ada, [ada, bob], true)).channel;
    await fails(t, chat.join("demo", id, ada), "absent", "room");
    await fails(t, chat.leave("demo", id, eve, false), "denied");
  });
}
