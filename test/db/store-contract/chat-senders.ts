import type { MessageDraft } from "../../../db/contract/chat.js";
import { allEvents, chatting, DELETED, message, stored } from "./chat-setup.js";
import { ABSENT, type Contract, fails, headOf } from "./setup.js";

/** Who may send, edit and delete: the rights of the moment. */
export async function chatSenderContract(contract: Contract): Promise<void> {
  await contract("who may send and react", async (t, store) => {
    const { room, ada, bob, cy, dan, eve, elsewhere } = await chatting(store);
    const { chat, users } = store;
    const { id: direct } = (
      await chat.direct("demo", ada, [ada, bob, eve], true)
    ).channel;
    const { id: fresh } = (await store.rooms.create("demo", { name: "F" }))
      .value;
    await users.block("demo", eve, ada);
    await users.block("demo", cy, ada);
    const volatile = { volatile: true };
    const cases: [
      name: string,
      channel: string,
      sender: string,
      more: Partial<MessageDraft>,
      problem?: "denied" | "absent",
    ][] = [
      ["a member", room, ada, {}],
      ["a stranger", room, dan, {}, "denied"],
      ["a volatile member", room, dan, volatile],
      ["a user in a fresh room", fresh, dan, {}, "denied"],
      ["a volatile member of a fresh room", fresh, dan, volatile],
      ["a user of another world", room, elsewhere.user, volatile, "denied"],
      ["nobody", room, ABSENT, volatile, "denied"],
      ["a room of another world", elsewhere.room, ada, volatile, "absent"],
      ["no room", ABSENT, ada, volatile, "absent"],
      ["a direct channel", direct, bob, {}],
      ["a stranger there", direct, cy, volatile, "denied"],
      ["who is blocked there", direct, ada, {}, "denied"],
      ["who blocks there", direct, eve, {}],
    ];
    const reaction = { reaction: "x", remove: false, volatile: false };
    for (const [name, channel, sender, more, problem] of cases) {
      const send = chat.send("demo", channel, { ...message(sender), ...more });
      if (problem) {
        const field = problem === "absent" ? "room" : undefined;
        await fails(t, send, problem, field);
        const [event] = await allEvents(store, channel);
        if (problem === "denied" && event) {
          const by = { ...reaction, ...more, user: sender };
          await fails(t, chat.react("demo", channel, event.id, by), "denied");
        }
      } else {
        const { event } = await send;
        t.equal(event.sender, sender, name);
        const by = { ...reaction, ...more, user: sender };
        t.match(await chat.react("demo", channel, event.id, by), {
          reactions: { x: [sender] },
        });
      }
    }

    const { event } = await chat.send("demo", room, message(ada));
    await users.moderate("demo", ada, "silenced");
    await users.moderate("demo", bob, "banned");
    await users.erase("demo", { user_id: cy });
    for (const sender of [ada, bob, cy]) {
      const draft = { ...message(sender), volatile: true, moderates: true };
      const remove = { ...draft, content: DELETED, replaces: event.id };
      const by = { ...reaction, user: sender, volatile: true };
      await fails(t, chat.send("demo", room, draft), "denied");
      await fails(t, chat.send("demo", room, remove), "denied");
      await fails(t, chat.react("demo", room, event.id, by), "denied");
    }
    await users.moderate("demo", ada, "");
    await chat.send("demo", room, message(ada));
    t.equal((await chat.event("demo", room, event.id))?.edited, null);
  });

  await contract("who may edit and delete", async (t, store) => {
    const { room, ada, bob, elsewhere, say } = await chatting(store);
    const { chat } = store;
    const { id: direct } = (await chat.direct("demo", ada, [ada, bob], true))
      .channel;
    const { event: join } = (await chat.deliveries("demo", room, 0, 1))[0]!;
    const there = await chat.send(
      "other",
      elsewhere.room,
      message(elsewhere.user),
    );
    const own = await chat.send("demo", direct, message(ada));
    const { event } = await say("x");
    const edit = { replaces: event.id };
    const remove = { ...edit, content: DELETED };
    const moderates = { moderates: true };
    const cases: [
      name: string,
      channel: string,
      draft: Partial<MessageDraft>,
      problem: "denied" | "absent",
    ][] = [
      ["edits another's", room, { ...edit, sender: bob }, "denied"],
      ["deletes another's", room, { ...remove, sender: bob }, "denied"],
      [
        "moderates, but edits",
        room,
        { ...edit, ...moderates, sender: bob },
        "denied",
      ],
      [
        "moderates in a direct channel",
        direct,
        {
          ...moderates,
          sender: bob,
          content: DELETED,
          replaces: own.event.id,
        },
        "denied",
      ],
      ["edits nothing", room, { replaces: event.id + 9 }, "absent"],
      ["edits half an event", room, { replaces: event.id + 0.5 }, "absent"],
      ["edits a join", room, { replaces: join.id }, "absent"],
      [
        "deletes a join",
        room,
        { replaces: join.id, content: DELETED },
        "absent",
      ],
      ["edits in another channel", direct, edit, "absent"],
      ["edits in another world", room, { replaces: there.event.id }, "absent"],
    ];
    const before = await headOf(store);
    for (const [name, channel, draft, problem] of cases) {
      const all = { ...message(ada, "y"), ...draft };
      const field = problem === "absent" ? "event" : undefined;
      await fails(t, chat.send("demo", channel, all), problem, field);
      t.strictSame(await chat.event("demo", room, event.id), event, name);
    }
    const { id: fresh } = (await store.rooms.create("demo", { name: "F" }))
      .value;
    const nowhere = { ...message(ada), volatile: true, replaces: event.id };
    await fails(t, chat.send("demo", fresh, nowhere), "absent", "event");
    t.equal(await headOf(store), before + 1, "and stores nothing");

    const deleted = await say("", { ...remove, ...moderates, sender: bob });
    t.match(deleted.event, { sender: bob, replaces: event.id });
    t.match(await chat.event("demo", room, event.id), {
      sender: ada,
      content: stored(DELETED),
    });
  });
}
