import type { Test } from "tap";
import type { Delivery } from "../../../db/contract/chat.js";
import type { Store } from "../../../db/contract/store.js";
import { allEvents, chatting, DELETED, message, stored } from "./chat-setup.js";
import { deliveryOf, LogReader } from "./log-reader.js";
import type { Contract } from "./setup.js";

/** Runs writes, `at` at a time. */
async function crowd<T>(writes: (() => Promise<T>)[], at: number) {
  const results: T[] = [];
  const queue = writes.values();
  const work = async () => {
    for (const write of queue) results.push(await write());
  };
  await Promise.all(Array.from({ length: at }, work));
  return results;
}

const ascending = (a: number, b: number) => a - b;

/** What every store keeps to when many chat at once. */
export async function chatRaceContract(contract: Contract): Promise<void> {
  await contract("readers of the log miss no event", async (t, store, open) => {
    const { room, ada, bob, elsewhere } = await chatting(store);
    const stores = [store, await open()];
    const { id: fresh } = (await store.rooms.create("demo", { name: "F" }))
      .value;
    const worlds = ["demo", "other"];
    const readers = [
      new LogReader(store, worlds),
      new LogReader(await open(), worlds),
    ];
    await Promise.all(readers.map((reader) => reader.begin()));
    const following = readers.map((reader) => reader.follow());
    const sent = await crowd(
      writesTo(stores, [
        ["demo", room, ada],
        ["demo", fresh, bob],
        ["other", elsewhere.room, elsewhere.user],
      ]),
      24,
    );
    readers.forEach((reader) => reader.end());
    await Promise.all(following);

    const channels = [
      ["demo", room],
      ["demo", fresh],
      ["other", elsewhere.room],
    ] as const;
    for (const [world, channel] of channels) {
      const all = await allEvents(store, channel, world);
      const ids = all.map(({ id }) => id).slice(-40);
      const own = sent.filter(({ event }) => event.channel === channel);
      t.strictSame(own.map(({ event }) => event.id).toSorted(ascending), ids);
      expectChain(t, own);
      const inOrder = own.toSorted((a, b) => a.event.id - b.event.id);
      for (const reader of readers) {
        const read = reader.of(world).flatMap(deliveryOf);
        const there = read.filter(({ event }) => event.channel === channel);
        t.strictSame(there, inOrder);
      }
    }
    for (const { faults } of readers) t.strictSame(faults, []);
  });

  await contract("crowds react, mark and delete", async (t, store, open) => {
    const { room, ada, bob, cy, say } = await chatting(store);
    const stores = [store, await open()];
    const { event } = await say("x");
    const users = [ada, bob, cy];
    const react = (remove: boolean) =>
      crowd(
        stores.flatMap(({ chat }) =>
          users.flatMap((user) =>
            ["a", "b"].map((reaction) => () => {
              const change = { user, reaction, remove, volatile: false };
              return chat.react("demo", room, event.id, change);
            }),
          ),
        ),
        12,
      );
    await react(false);
    const { reactions } = (await store.chat.event("demo", room, event.id))!;
    for (const reaction of ["a", "b"]) {
      t.strictSame(
        reactions[reaction]?.toSorted(),
        users.toSorted(),
        "each once",
      );
    }
    await react(true);
    t.match(await store.chat.event("demo", room, event.id), { reactions: {} });

    await Promise.all(
      users.map((user, i) =>
        stores[i % 2]!.chat.mark([
          { world: "demo", user, channel: room, pointer: i, listed: null },
        ]),
      ),
    );
    for (const { chat } of stores) {
      for (const [pointer, user] of users.entries()) {
        t.match((await chat.unread("demo", user)).marks, [{ pointer }]);
      }
    }

    const replaced = await Promise.allSettled(
      Array.from({ length: 12 }, (_, i) =>
        stores[i % 2]!.chat.send("demo", room, {
          ...message(ada, `${i}`),
          ...(i === 5 && { content: DELETED }),
          replaces: event.id,
        }),
      ),
    );
    const shown = (await store.chat.event("demo", room, event.id))!;
    t.strictSame(shown.content, stored(DELETED));
    const done = replaced.flatMap((one) =>
      one.status === "fulfilled" ? [one.value] : [],
    );
    const [deletion] = done.toSorted((a, b) => b.event.id - a.event.id);
    t.equal(shown.edited, deletion!.event.timestamp, "nothing comes after it");
    for (const one of replaced) {
      if (one.status === "rejected") t.match(one.reason, { problem: "denied" });
    }
    const edits = (await allEvents(store, room)).filter(
      ({ replaces }) => replaces === event.id,
    );
    t.equal(edits.length, done.length);
    t.ok(edits.every(({ content }) => content === stored(DELETED)));
  });
}

/** Forty messages to each channel, from all stores in turn. */
const writesTo = (
  stores: readonly Store[],
  channels: [world: string, channel: string, sender: string][],
): (() => Promise<Delivery>)[] =>
  Array.from({ length: 40 }, (_, i) =>
    channels.map(([world, channel, sender]) => () => {
      const { chat } = stores[i % stores.length]!;
      const draft = { ...message(sender, `${i}`), volatile: true };
      return chat.send(world, channel, draft);
    }),
  ).flat();

/** Each names the one before it. */
function expectChain(t: Test, sent: readonly Delivery[]): void {
  const inOrder = sent.toSorted((a, b) => a.event.id - b.event.id);
  const broken = inOrder.filter(
    ({ previous, previousMessage }, i) =>
      i > 0 &&
      (previous !== inOrder[i - 1]!.event.id || previousMessage !== previous),
  );
  t.strictSame(broken, []);
}
