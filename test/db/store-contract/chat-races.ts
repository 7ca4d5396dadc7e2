import type { Test } from "tap";
import type { ChatStore, Delivery } from "../../../db/chat.js";
import type { Store } from "../../../db/store.js";
import { allEvents, chatting, DELETED, message, stored } from "./chat-setup.js";
import type { Contract } from "./setup.js";

/** Follows some channels as a server does: by what its events tell, and by the last id. */
class Reader {
  readonly #chat: ChatStore;
  #baseline = 0;
  /** The ids that were read, by channel. */
  readonly read = new Map<string, number[]>();
  /** What was wrong. */
  readonly faults: string[] = [];
  #over = false;

  constructor(chat: ChatStore) {
    this.#chat = chat;
  }

  /** Begins with what comes from now on. */
  async begin(): Promise<void> {
    this.#baseline = await this.#chat.lastId();
  }

  /** Reads until {@link end}. */
  async follow(): Promise<void> {
    while (!this.#over) {
      await this.#look();
      await new Promise(setImmediate);
    }
    await this.#look();
  }

  end(): void {
    this.#over = true;
  }

  async #look(): Promise<void> {
    const last = await this.#chat.lastId();
    if (last < this.#baseline) this.faults.push(`${last} is in the past`);
    if (last <= this.#baseline) return;
    for (const active of await this.#chat.activeSince(this.#baseline)) {
      await this.#readUpTo(active.world, active.channel, last);
    }
    this.#baseline = last;
  }

  /** Whatever has a greater id is read the next time. */
  async #readUpTo(world: string, channel: string, last: number) {
    const ids = this.read.get(channel) ?? [];
    this.read.set(channel, ids);
    const after = ids.at(-1) ?? this.#baseline;
    const found = await this.#chat.deliveries(world, channel, after, 1000);
    for (const { event, previous } of found) {
      if (event.id > last) break;
      const before = ids.at(-1);
      if (before !== undefined && previous !== before) {
        this.faults.push(`${event.id} follows ${previous}, not ${before}`);
      }
      ids.push(event.id);
    }
  }
}

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
  await contract("nobody misses an event", async (t, store, open) => {
    const { room, ada, bob, elsewhere } = await chatting(store);
    const stores = [store, await open()];
    const { id: fresh } = (await store.rooms.create("demo", { name: "F" }))
      .value;
    const readers = [new Reader(store.chat), new Reader((await open()).chat)];
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
      for (const { read } of readers) t.strictSame(read.get(channel), ids);
    }
    t.strictSame(
      readers.flatMap(({ faults }) => faults),
      [],
    );
    const last = Math.max(...sent.map(({ event }) => event.id));
    for (const { chat } of stores) t.equal(await chat.lastId(), last);
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
