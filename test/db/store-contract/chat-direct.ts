import { allEvents, chatting, DELETED, message } from "./chat-setup.js";
import { ABSENT, type Contract, fails, headOf } from "./setup.js";

export async function chatDirectContract(contract: Contract): Promise<void> {
  await contract("a set of users has one channel", async (t, store, open) => {
    const { ada, bob, cy, dan } = await chatting(store);
    const { chat } = store;
    const before = await headOf(store);
    const made = await chat.direct("demo", ada, [bob, ada], true);
    const { id } = made.channel;
    t.strictSame(made.channel, {
      id,
      direct: [ada, bob].toSorted(),
      lastMessage: 0,
    });
    t.strictSame(made.appeared, [ada], "hidden from the other");
    t.match(made.created, [
      { event: { id: before + 1, channel: id }, previous: 0 },
      { event: { id: before + 2 }, previous: before + 1, previousMessage: 0 },
    ]);
    t.strictSame(
      made.created.map(({ event }) => event),
      await allEvents(store, id),
    );
    t.strictSame(
      made.created.map(({ event }) => event.sender).toSorted(),
      [ada, bob].toSorted(),
      "each joins",
    );
    t.strictSame(await chat.channel("demo", id), made.channel);
    t.equal(await chat.channel("other", id), undefined);
    const again = await chat.direct("demo", ada, [ada, bob], true);
    t.strictSame(again, { ...made, created: [], appeared: [] });

    const sets = [
      [ada, bob, cy],
      [cy, bob],
      [bob, dan, cy],
    ];
    const second = (await open()).chat;
    for (const users of sets) {
      const found = await Promise.all(
        [chat, second, chat, second].map((chat, i) =>
          chat.direct(
            "demo",
            users[0]!,
            i % 2 === 0 ? users : users.toReversed(),
            false,
          ),
        ),
      );
      const ids = new Set(found.map(({ channel }) => channel.id));
      t.equal(ids.size, 1, "whichever member asks, and in any order");
      t.equal(found.flatMap(({ created }) => created).length, users.length);
      const told = found.flatMap(({ appeared }) => appeared).toSorted();
      t.strictSame(told, users.toSorted(), "all got it once");
      const [channel] = ids;
      t.equal((await allEvents(store, channel!)).length, users.length);
    }
  });

  await contract("a direct channel is put away", async (t, store) => {
    const { ada, bob, cy } = await chatting(store);
    const { chat } = store;
    const users = [ada, bob, cy];
    const { id } = (await chat.direct("demo", ada, users, true)).channel;
    const hiddenFrom = async () => {
      const hidden = [];
      for (const user of users) {
        const all = await chat.memberships("demo", user);
        if (all.find((one) => one.id === id)!.hidden) hidden.push(user);
      }
      return hidden;
    };
    t.strictSame(await hiddenFrom(), [bob, cy]);
    const first = await chat.send("demo", id, message(ada));
    t.strictSame(first.appeared.toSorted(), [bob, cy].toSorted());
    t.strictSame(first.notified.toSorted(), [bob, cy].toSorted());
    t.strictSame(await hiddenFrom(), []);
    t.match(await chat.send("demo", id, message(bob)), { appeared: [] });

    for (const user of [ada, cy]) {
      t.equal(await chat.leave("demo", id, user, false), undefined);
    }
    t.equal(await chat.isMember("demo", id, ada), true, "still a member");
    t.strictSame(await hiddenFrom(), [ada, cy]);
    const opened = await chat.direct("demo", cy, users.toReversed(), true);
    t.strictSame([opened.appeared, opened.created], [[cy], []]);
    t.strictSame(await hiddenFrom(), [ada]);
    const both = await chat.direct("demo", cy, users, false);
    t.strictSame(both.appeared, [ada]);
    await chat.leave("demo", id, bob, true);
    const edit = await chat.send("demo", id, {
      ...message(ada),
      content: DELETED,
      replaces: first.event.id,
    });
    t.match(edit, { notified: [], appeared: [bob] });
    t.equal((await chat.channel("demo", id))?.lastMessage, edit.event.id);
  });

  await contract("who may not meet", async (t, store) => {
    const { ada, bob, cy, dan, eve, elsewhere } = await chatting(store);
    const { chat, users } = store;
    await users.block("demo", cy, bob);
    await users.moderate("demo", dan, "banned");
    await users.erase("demo", { user_id: eve });
    const before = await headOf(store);
    for (const others of [
      [bob, cy],
      [dan],
      [eve],
      [ABSENT],
      [elsewhere.user],
    ]) {
      const all = [ada, ...others];
      await fails(t, chat.direct("demo", ada, all, false), "denied");
    }
    await fails(t, chat.direct("demo", bob, [bob, cy], true), "denied");
    await fails(t, chat.direct("demo", cy, [bob, cy], true), "denied");
    await fails(t, chat.direct("other", ada, [ada, bob], true), "denied");
    await users.moderate("demo", ada, "silenced");
    await fails(t, chat.direct("demo", ada, [ada, bob], true), "denied");
    t.equal(await headOf(store), before + 1);
    t.not(await chat.direct("demo", bob, [ada, bob], true), undefined);
    await users.unblock("demo", cy, bob);
    t.not(await chat.direct("demo", bob, [cy, bob], true), undefined);
  });
}
