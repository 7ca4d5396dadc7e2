import t from "tap";
import { until } from "../helper.js";
import type { Client } from "../live/client.js";
import { history, say, startTalk, text, type Talk } from "./talk.js";

// The table of costs of section 15: what may not grow with the number of listeners.

/** What is asked twice a second, whatever happens. */
const ASKED_BY_TIME = ["heads"];

/** Counts the calls of the store's methods while something is done. */
async function callsOf(
  { live }: Talk,
  work: () => Promise<unknown>,
): Promise<number> {
  const { store } = live.app;
  let calls = 0;
  const restore: (() => void)[] = [];
  for (const part of Object.values(store) as unknown[]) {
    if (typeof part !== "object" || part === null) continue;
    const methods = part as Record<string, unknown>;
    for (const [name, method] of Object.entries(methods)) {
      if (typeof method !== "function") continue;
      if (ASKED_BY_TIME.includes(name)) continue;
      methods[name] = (...args: unknown[]): unknown => {
        calls += 1;
        return (method as (...args: unknown[]) => unknown).apply(part, args);
      };
      restore.push(() => (methods[name] = method));
    }
  }
  if (restore.length === 0) throw new Error("nothing to count");
  try {
    await work();
  } finally {
    for (const undo of restore) undo();
  }
  return calls;
}

/** Counts how often a text is encoded as JSON while something is done. */
async function encodingsOf(
  mark: string,
  work: () => Promise<unknown>,
): Promise<number> {
  const { stringify } = JSON;
  let count = 0;
  JSON.stringify = ((...args: Parameters<typeof stringify>) => {
    const json = stringify(...args);
    if (json?.includes(mark)) count += 1;
    return json;
  }) as typeof stringify;
  try {
    await work();
  } finally {
    JSON.stringify = stringify;
  }
  return count;
}

/** Lets some guests subscribe. */
async function audience(
  { live }: Talk,
  channel: string,
  size: number,
): Promise<Client[]> {
  const guests: Client[] = [];
  for (let i = 0; i < size; i++) {
    const guest = await live.guest();
    await guest.do("chat.subscribe", { channel });
    guests.push(guest);
  }
  return guests;
}

void t.test("costs", async (t) => {
  const talk = await startTalk(t);

  await t.test("a message to N: one encoding, no query per N", async (t) => {
    const costs: [calls: number, encodings: number][] = [];
    for (const size of [2, 25]) {
      const channel = await talk.room({ volatile: true });
      const ann = await talk.member(`ann ${size}`, channel);
      const guests = await audience(talk, channel, size);
      let calls = 0;
      const encodings = await encodingsOf("x-marks-the-spot", async () => {
        calls = await callsOf(talk, async () => {
          await say(ann, channel, "x-marks-the-spot");
          for (const guest of guests) await guest.next("chat.event");
        });
      });
      costs.push([calls, encodings]);
    }
    const [few, many] = costs as [[number, number], [number, number]];
    t.ok(many[0] > 0, "the store is asked");
    t.ok(many[1] > 0, "and the message is encoded");
    t.ok(many[0] <= few[0] + 3, `${many[0]} calls, not ${few[0]}`);
    t.ok(many[1] <= few[1] + 3, `${many[1]} encodings, not ${few[1]}`);
  });

  await t.test("mark_read by N: written in lots", async (t) => {
    const channel = await talk.room();
    const ann = await talk.member("ann", channel);
    const guests = await audience(talk, channel, 40);
    const { event_id: id } = await say(ann, channel, "x");
    await talk.settle(channel);
    const { chat } = talk.live.app.store;
    const mark = chat.mark.bind(chat);
    let writes = 0;
    chat.mark = (marks) => {
      writes += 1;
      return mark(marks);
    };
    for (let round = 0; round < 5; round++) {
      await Promise.all(
        guests.map((guest) => guest.do("chat.mark_read", { channel, id })),
      );
    }
    const guest = guests[0]!;
    for (let round = 0; round < 5; round++) {
      t.same(await guest.next("chat.notification_counts"), {});
    }
    for (const { ws } of guests) ws.terminate();
    const { readStates: readers } = talk.live.app.live.chat;
    await until(() => readers.pending === 0);
    t.ok(writes > 0 && writes <= 40, `${writes} writes of 200 marks`);
  });

  await t.test("a page: no query per event or sender", async (t) => {
    const costs: number[] = [];
    for (const size of [2, 20]) {
      const channel = await talk.room({ volatile: true });
      for (let i = 0; i < size; i++) {
        const client = await talk.member(`s ${i}`, channel);
        const { event_id: event } = await say(client, channel, "x");
        const reaction = { channel, event, reaction: "👍" };
        await client.do("chat.react", reaction);
        await client.do("chat.unsubscribe", { channel });
      }
      const guest = await talk.live.guest();
      let count = 0;
      costs.push(
        await callsOf(talk, async () => {
          count = (await history(guest, channel)).length;
        }),
      );
      t.equal(count, size);
    }
    const [few, many] = costs as [number, number];
    t.ok(many > 0);
    t.ok(many <= few + 2, `${many} calls, not ${few}`);
  });

  await t.test("a page, however large: one read for a crowd", async (t) => {
    const channel = await talk.room();
    const ann = await talk.member("ann", channel);
    const { chat, rooms } = talk.live.app.store;
    const content = { ...text("x"), client: "x".repeat(60_000) };
    for (let i = 0; i < 20; i++) {
      await chat.send("demo", channel, { sender: ann.id, content });
    }
    const guests = await audience(talk, channel, 5);
    const events = chat.events.bind(chat);
    const get = rooms.get.bind(rooms);
    let reads = 0;
    let asked = 0;
    let go = () => {};
    const gate = new Promise<void>((resolve) => (go = resolve));
    chat.events = async (...args) => {
      reads += 1;
      await gate;
      return events(...args);
    };
    rooms.get = (...args) => {
      asked += 1;
      return get(...args);
    };
    const sizes = guests.map(
      async (guest) => (await history(guest, channel)).length,
    );
    await until(() => asked === guests.length && reads > 0);
    go();
    t.strictSame(await Promise.all(sizes), Array(5).fill(21));
    t.equal(reads, 1);
    Object.assign(chat, { events });
    Object.assign(rooms, { get });
    await history(guests[0]!, channel);
    const encodings = await encodingsOf("x".repeat(100), () =>
      history(guests[1]!, channel),
    );
    t.equal(encodings, 0, "nor is it encoded for each");
  });

  await t.test("people told of a message: no query for each", async (t) => {
    const costs: number[] = [];
    for (const size of [2, 20]) {
      const channel = await talk.room();
      const ann = await talk.member("ann", channel);
      const members: Client[] = [];
      for (let i = 0; i < size; i++) {
        members.push(await talk.member(`m ${size} ${i}`, channel));
      }
      await talk.calm(channel, ...members);
      costs.push(
        await callsOf(talk, async () => {
          await say(ann, channel, "x");
          for (const one of members) await one.next("chat.unread_pointers");
        }),
      );
    }
    const [few, many] = costs as [number, number];
    t.ok(many > 0);
    t.ok(many <= few + 3, `${many} calls, not ${few}`);
  });
});
