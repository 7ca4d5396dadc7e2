import type { Mark } from "../../../db/contract/chat.js";
import { chatting, DELETED } from "./chat-setup.js";
import { ABSENT, type Contract } from "./setup.js";

export async function chatReaderContract(contract: Contract): Promise<void> {
  await contract("mentions notify", async (t, store) => {
    const { room, ada, bob, cy, dan, eve, elsewhere, say } =
      await chatting(store);
    const { chat } = store;
    await store.users.erase("demo", { user_id: eve });
    const mentioned = [cy, dan, bob, ada, eve, ABSENT, elsewhere.user, bob];
    const members = await say("x", { mentioned });
    t.strictSame(members.notified.toSorted(), [bob, cy].toSorted());
    const all = await say("y", { mentioned, notifiesAll: true });
    t.strictSame(all.notified.toSorted(), [bob, cy, dan].toSorted());
    const notifications = async (user: string, world = "demo") =>
      (await chat.unread(world, user)).notifications;
    const [first, second] = [members.event.id, all.event.id];
    t.strictSame(await notifications(bob), [
      { channel: room, event: first },
      { channel: room, event: second },
    ]);
    t.strictSame(await notifications(dan), [{ channel: room, event: second }]);
    t.strictSame(await notifications(ada), []);
    t.strictSame(await notifications(elsewhere.user, "other"), []);
    t.strictSame(await notifications(bob, "other"), []);
    const edit = await say("z", { replaces: second, mentioned });
    t.strictSame(edit.notified, [], "edits send no notices");

    const mark = {
      world: "demo",
      user: bob,
      channel: room,
      pointer: first,
      listed: null,
    };
    await chat.mark([mark]);
    t.strictSame(await notifications(bob), [{ channel: room, event: second }]);
    const pointer = async () =>
      (await chat.unread("demo", bob)).marks[0]?.pointer;
    await chat.mark([{ ...mark, pointer: first - 1, forward: true }]);
    t.equal(await pointer(), first, "it would go back");
    await chat.mark([{ ...mark, pointer: first - 1 }]);
    t.equal(await pointer(), first - 1, "as the user wants");
    await chat.mark([{ ...mark, forward: true }]);
    t.equal(await pointer(), first, "it goes on");
    await chat.mark([{ ...mark, pointer: null }]);
    t.equal((await notifications(bob)).length, 1, "nothing was read");
    await chat.mark([{ ...mark, pointer: 2 ** 53 }]);
    t.strictSame(await notifications(bob), []);
    t.equal((await notifications(cy)).length, 2, "of others");
  });

  await contract("marks are kept", async (t, store, open) => {
    const { room, ada, bob, dan, elsewhere, say } = await chatting(store);
    const { chat } = store;
    const { id: fresh } = (await store.rooms.create("demo", { name: "F" }))
      .value;
    const marksOf = async (user: string, world = "demo") =>
      (await (await open()).chat.unread(world, user)).marks;
    const listed = (await marksOf(ada))[0]!.listed;
    t.type(listed, "number");
    const first = await say("x");
    t.match(await marksOf(ada), [{ listed: null }], "the sender got a notice");
    t.match(await marksOf(bob), [{ pointer: null, listed: Number }]);
    const { id: direct } = (await chat.direct("demo", ada, [ada, bob], true))
      .channel;

    const good = [
      { user: ada, channel: room, pointer: 1, listed: 2 },
      { user: ada, channel: direct, pointer: first.event.id, listed: null },
      { user: ada, channel: fresh, pointer: null, listed: 0 },
      { user: dan, channel: room, pointer: 7, listed: null },
    ];
    const other = { ...good[0]!, user: elsewhere.user };
    await chat.mark(
      [
        ...good,
        { ...other, channel: room },
        { ...good[0]!, channel: elsewhere.room },
        { ...good[0]!, user: ABSENT },
        { ...good[0]!, channel: ABSENT },
      ].map((mark) => ({ world: "demo", ...mark })),
    );
    await chat.mark([{ world: "none", ...good[0]!, pointer: 99 }]);
    await chat.mark([]);
    const sorted = (marks: readonly Mark[]) =>
      marks.toSorted((a, b) => (a.channel < b.channel ? -1 : 1));
    t.strictSame(
      sorted(await marksOf(ada)),
      sorted(good.filter(({ user }) => user === ada)),
    );
    t.strictSame(await marksOf(dan), good.slice(3), "who is no member");
    t.strictSame(await marksOf(ada, "other"), []);
    t.match(await marksOf(elsewhere.user, "other"), [{ pointer: null }]);

    await say("", { content: DELETED, replaces: first.event.id });
    const inRoom = (await marksOf(ada)).find(({ channel }) => channel === room);
    t.match(inRoom, { pointer: 1, listed: null }, "edits tell, too");
    await chat.mark([{ world: "demo", ...good[0]!, pointer: 0, listed: 3 }]);
    t.match(
      (await marksOf(ada)).find(({ channel }) => channel === room),
      { pointer: 0, listed: 3 },
      "back, too",
    );
    await store.users.erase("demo", { user_id: ada });
    await chat.mark([{ world: "demo", ...good[0]! }]);
    t.strictSame(await marksOf(ada), []);
  });
}
