import t, { type Test } from "tap";
import {
  crowdOf,
  each,
  faultsOf,
  type Listener,
  numbers,
  speaker,
} from "./crowd.js";
import { startTalk, type Talk } from "./talk.js";

// Events that wait for each other, and are pushed together.

async function readied(t: Test, speakers: number) {
  const talk = await startTalk(t);
  const channel = await talk.room();
  const { port } = talk.live;
  const ears = await crowdOf(4, port, (i) => ({ client_id: `ear-${i}` }));
  const [early, late] = [ears.slice(0, 2), ears.slice(2)];
  await each(early, (ear) => ear.do("chat.subscribe", { channel }));
  const people = await each(numbers(speakers), (i) =>
    speaker(talk.live, `speaker ${i}`, channel),
  );
  const all = [...ears, ...people];
  t.teardown(() => all.forEach(({ ws }) => ws.terminate()));
  return { talk, channel, early, late, people };
}

/** Holds up the next event on its way, and so those behind it. */
function holdNext({ live }: Talk) {
  const { users } = live.app.store;
  const getMany = users.getMany.bind(users);
  let go = () => {};
  const gone = new Promise<void>((resolve) => (go = resolve));
  let hold = () => {};
  const held = new Promise<void>((resolve) => (hold = resolve));
  users.getMany = async (...args) => {
    users.getMany = getMany;
    hold();
    await gone;
    return getMany(...args);
  };
  return { held, go };
}

/**
 * Stores a message of somebody. Whoever sends one by a websocket waits for what it causes
 * before the next.
 * @returns the id of its event.
 */
async function write(
  { live }: Talk,
  channel: string,
  sender: Listener,
  body: string,
  mentioned: string[] = [],
): Promise<number> {
  const content = { type: "text", body };
  const draft = { sender: sender.id, content, mentioned };
  const { event } = await live.app.store.chat.send("demo", channel, draft);
  return event.id;
}

async function truthOf({ live }: Talk, channel: string): Promise<number[]> {
  const page = { after: 0, limit: 1000 };
  const found = await live.app.store.chat.events("demo", channel, page);
  return found.map(({ id }) => id);
}

void t.test("who subscribes in the middle is told of senders", async (t) => {
  const { talk, channel, early, late, people } = await readied(t, 2);
  const [ann, bob] = people as [Listener, Listener];
  const [one, other] = late as [Listener, Listener];
  const { held, go } = holdNext(talk);
  await write(talk, channel, ann, "the first");
  await held;
  await write(talk, channel, ann, "before the subscription");
  await one.do("chat.subscribe", { channel });
  await write(talk, channel, ann, "after it");
  await write(talk, channel, bob, "after it");
  await other.do("chat.subscribe", { channel });
  await write(talk, channel, ann, "again");
  const last = await write(talk, channel, bob, "again");
  go();
  for (const ear of [...early, ...late]) {
    await ear.reached(channel, last);
    const known = new Set<string>();
    const unknown: string[] = [];
    for (const { sender, users, content } of ear.events(channel)) {
      for (const id of Object.keys(users as object)) known.add(id);
      if (!known.has(sender)) unknown.push(content.body);
    }
    t.strictSame(unknown, [], "all senders are known");
  }
});

void t.test(
  "events that come before the answer to a subscription",
  async (t) => {
    const { talk, channel, early, late, people } = await readied(t, 1);
    const [ann] = people as [Listener];
    const [one] = late as [Listener];
    const { chat } = talk.live.app.store;
    const read = chat.channel.bind(chat);
    const { held, go } = holdNext(talk);
    await write(talk, channel, ann, "the first");
    await held;
    await write(talk, channel, ann, "before the subscription");
    let answer = () => {};
    const answering = new Promise<void>((resolve) => (answer = resolve));
    const began = new Promise<void>((resolve) => {
      chat.channel = async (...args) => {
        chat.channel = read;
        resolve();
        await answering;
        return read(...args);
      };
    });
    const subscribed = one.do("chat.subscribe", { channel });
    await began;
    const last = await write(talk, channel, ann, "after it");
    go();
    await early[0]!.reached(channel, last);
    answer();
    await subscribed;
    await one.reached(channel, last);
    const events = one.events(channel);
    t.strictSame(
      events.map(({ content }) => content.body),
      ["after it"],
    );
    t.strictSame(Object.keys(events[0].users as object), [ann.id]);
  },
);

void t.test("whoever reads stays, however much comes at once", async (t) => {
  const { talk, channel, early, people } = await readied(t, 25);
  const { held, go } = holdNext(talk);
  await write(talk, channel, people[0]!, "the first");
  await held;
  const long = "漢".repeat(9900);
  const ids = await each(numbers(100), (i) =>
    write(talk, channel, people[i % people.length]!, long),
  );
  go();
  const last = ids.at(-1)!;
  for (const ear of [...early, ...people]) await ear.reached(channel, last);
  const truth = await truthOf(talk, channel);
  const faults = [...early, ...people].flatMap((ear) =>
    faultsOf(ear, channel, truth),
  );
  t.strictSame(faults, []);
});

void t.test("a mark hides no message that comes after it", async (t) => {
  const { talk, channel, early, people } = await readied(t, 3);
  const [ann, bob, away] = people as [Listener, Listener, Listener];
  await away.do("chat.unsubscribe", { channel });
  await write(talk, channel, ann, "unread");
  const name = "chat.unread_pointers";
  await away.until("a pointer", () => away.pushes(name).length > 0);
  const { held, go } = holdNext(talk);
  await write(talk, channel, ann, "the first");
  await held;
  const read = await write(talk, channel, ann, `for @${bob.id}`, [bob.id]);
  const last = await write(talk, channel, ann, "the third");
  const { users } = talk.live.app.store;
  const get = users.get.bind(users);
  let notify = () => {};
  const notified = new Promise<void>((resolve) => (notify = resolve));
  const began = new Promise<void>((resolve) => {
    users.get = async (...args) => {
      if (args[1] !== ann.id) return get(...args);
      users.get = get;
      resolve();
      await notified;
      return get(...args);
    };
  });
  go();
  await began;
  const from = away.frames.length;
  await away.do("chat.mark_read", { channel, id: read });
  notify();
  await early[0]!.reached(channel, last);
  await talk.settle(channel);
  await away.call("user.list.blocked");
  t.strictSame(away.pushes(name, from), [{ [channel]: last }]);
});
