import { exported } from "../../exported.js";
import type { WorldCopy } from "../../../schemas/documents/world-document.js";
import { worldOf } from "../../helper.js";
import { allEvents, chatting, DELETED, message } from "./chat-setup.js";
import { ABSENT, type Contract, fails, headOf } from "./setup.js";

/** What every store keeps to when chat is exported and imported. */
export async function chatCopyContract(contract: Contract): Promise<void> {
  await contract("chat moves with its world", async (t, store) => {
    const { room, ada, bob, cy, elsewhere, say } = await chatting(store);
    const { chat, users, worlds } = store;
    const { rows } = await exported(store, "demo");
    t.notOk(rows.chat_events, "only if it is asked for");
    const first = (await say("one\0", { mentioned: [bob, cy] })).event.id;
    const second = (await say("two")).event.id;
    const third = (await say("three")).event.id;
    await say("two again", { replaces: second });
    await say("", { content: DELETED, replaces: third });
    const lasting = { remove: false, volatile: false };
    for (const [user, reaction] of [
      [cy, "b"],
      [ada, "a"],
      [bob, "b"],
      [cy, "a"],
    ] as const) {
      await chat.react("demo", room, first, { user, reaction, ...lasting });
    }
    const { channel } = await chat.direct("demo", ada, [bob, cy, ada], true);
    const direct = channel.id;
    await chat.send("demo", direct, message(bob));
    await chat.leave("demo", direct, ada, false);
    const mark = { world: "demo", user: ada, channel: room };
    await chat.mark([{ ...mark, pointer: first, listed: 0 }]);
    await users.erase("demo", { user_id: cy });

    const copy = await exported(store, "demo", { history: true });
    t.match(copy.rows, { chat_events: { length: 12 } });
    t.match(
      copy.rows.users!.find(({ id }) => id === cy),
      { token_id: null, client_id: null, profile: null },
    );
    const view = async () => ({
      events: (
        await Promise.all([room, direct].map((id) => allEvents(store, id)))
      ).map((events) =>
        events.map(({ id: _id, replaces: _replaces, ...event }) => event),
      ),
      members: await Promise.all(
        [room, direct].map((id) => chat.members("demo", id, 9)),
      ),
      hidden: (await chat.memberships("demo", ada)).map(({ hidden }) => hidden),
      notified: (await chat.unread("demo", bob)).notifications.length,
    });
    const before = await view();
    const last = await headOf(store);

    await worlds.delete("demo");
    await worlds.import(copy, { dryRun: true });
    t.equal(await headOf(store), last + 1, "a dry run");
    await chat.send("other", elsewhere.room, message(elsewhere.user));
    await worlds.import(copy);
    t.strictSame(await view(), before);
    const again = await exported(store, "demo", { history: true });
    t.strictSame(again, copy, "the same document");
    const ids = (await allEvents(store, direct)).map(({ id }) => id);
    t.ok(ids[0]! > last + 1, "no id is used again");
    t.equal(await headOf(store), last + 1 + 12 + 1);
    const { lastMessage } = (await chat.channel("demo", room))!;
    t.match(await say("next"), { previousMessage: lastMessage });
    t.match(await users.get("demo", cy), { deleted: true });

    const other = "twin";
    const twin = worldOf(other);
    const taken = { id: direct, direct: [ABSENT, `1${ABSENT.slice(1)}`] };
    const documents: [field: string, chat: WorldCopy["chat"]][] = [
      ["users", { erased: [cy], channels: [], events: [] }],
      ["chat", { channels: [taken], events: [] }],
    ];
    for (const [field, chat] of documents) {
      const document = { world: twin, rooms: [], chat: chat! };
      await fails(t, worlds.import(document), "taken", field);
    }
    t.equal(await worlds.get(other), undefined);
  });
}
