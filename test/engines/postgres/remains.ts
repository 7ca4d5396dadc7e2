import { Database } from "../../../db/postgres/engine/database.js";
import { postgresStore } from "../../../db/postgres/index.js";
import type { Store } from "../../../db/contract/store.js";
import { until, worldOf } from "../../helper.js";
import {
  type Chatting,
  chatting,
  message,
} from "../../db/store-contract/chat-setup.js";
import { emptyDatabase, type Part } from "./setup.js";

/** What is erased from chat is soon in no version of a row, whichever node sees to it. */
export const remains: Part = async (t, server) => {
  const url = await emptyDatabase(server);
  const name = new URL(url).pathname.slice(1);
  const open = async () => {
    const store = postgresStore(
      await Database.open({ url, pool: 4 }, { create: true }),
    );
    t.teardown(() => store.close());
    return store;
  };
  const store = await open();
  await store.worlds.create(worldOf("demo"));
  const { room, ada, bob } = await chatting(store);
  const say: Chatting["say"] = (body, more) =>
    store.chat.send("demo", room, { ...message(ada, body), ...more });

  await server.run("CREATE EXTENSION pageinspect", name);

  /** Which of some texts are in a version of a row, dead or alive. */
  async function left(...texts: string[]): Promise<string[]> {
    const found = await server.run(
      `SELECT text FROM unnest(ARRAY['${texts.join("', '")}']) AS text WHERE EXISTS (
         SELECT 1 FROM generate_series(0, pg_relation_size('chat_events') / 8192 - 1) AS page,
           heap_page_items(get_raw_page('chat_events', page::int)) AS item
         WHERE position(text::bytea IN item.t_data) > 0)`,
      name,
    );
    return (found as { text: string }[]).map(({ text }) => text);
  }
  const isGone = (text: string) =>
    until(async () => (await left(text)).length === 0);

  const edited = await say("edited away");
  await say("an edit between", { replaces: edited.event.id });
  await say("the edit", { replaces: edited.event.id });
  const deleted = await say("deleted soon");
  await say("", {
    content: { type: "deleted" },
    replaces: deleted.event.id,
  });
  await store.chat.send("demo", room, message(bob, "of bob"));
  await say("kept for now");
  await isGone("edited away");
  await isGone("an edit between");
  await isGone("deleted soon");
  t.strictSame(await left("the edit", "of bob", "kept for now"), [
    "the edit",
    "of bob",
    "kept for now",
  ]);
  await store.chat.empty("demo", bob, 0);
  await isGone("of bob");

  const { channel } = await store.chat.direct("demo", ada, [ada, bob], true);
  await store.chat.send("demo", channel.id, message(ada, "in private"));
  const events = Array.from({ length: 2500 }, () => say("one of many"));
  await Promise.all(events);
  const lastId = async (one: Store) => (await one.log.heads(["demo"]))[0]!.seq;
  const last = await lastId(store);
  const other = await open();
  await store.rooms.delete("demo", room);
  for (const user_id of [ada, bob]) {
    await store.users.erase("demo", { user_id });
  }
  await isGone("one of many");
  await isGone("in private");
  t.strictSame(await left("the edit", "kept for now"), []);
  const counts = await server.run(
    `SELECT (SELECT count(*)::int FROM chat_events WHERE world_id = 'demo') AS events,
       (SELECT count(*)::int FROM chat_remains) AS remains`,
    name,
  );
  t.strictSame(counts, [{ events: 0, remains: 0 }]);
  const entries = ["room.deleted", "user.erased", "user.erased"];
  t.equal(await lastId(other), last + entries.length, "no id is used again");

  await store.worlds.delete("other");
  await store.close();
  const [found] = (await server.run(
    "SELECT count(*)::int AS events FROM chat_events",
    name,
  )) as [{ events: number }];
  t.equal(found.events, 0, "who ends does what is left");
};
