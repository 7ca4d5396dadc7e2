import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import type { BusMessage } from "../../db/bus/bus.js";
import { keyOf, tokenOf } from "../helper.js";
import { type Json, soon } from "../live/client.js";
import {
  burst,
  crowdOf,
  each,
  faultsOf,
  type Listener,
  listen,
  numbers,
  speaker,
} from "./crowd.js";
import { isChat, startPair } from "./pair.js";
import { startTalk, type Talk } from "./talk.js";

// What goes wrong around a crowd: clients that do not read, processes that end.

/** Passes begin at 200 connections. */
const SIZE = 205;

const guests = (name: string) => (i: number) => ({ client_id: `${name}-${i}` });

/** A crowd that has subscribed to a room with people who speak. */
async function readied(talk: Talk, speakers: number) {
  const { live } = talk;
  const channel = await talk.room();
  const ears = await crowdOf(SIZE, live.port, guests("ear"));
  await each(ears, (ear) => ear.do("chat.subscribe", { channel }));
  const people = await each(numbers(speakers), (i) =>
    speaker(live, `speaker ${i}`, channel),
  );
  const all = [...ears, ...people];
  const end = () => all.forEach(({ ws }) => ws.terminate());
  return { channel, ears, people, end };
}

/** The socket below a websocket of a client. */
const socketOf = ({ ws }: Listener) =>
  (ws as unknown as { _socket: Json })._socket;

/** Makes a client get one byte at a time. */
function getBytes(listener: Listener): void {
  const socket = socketOf(listener);
  const push = socket.push.bind(socket);
  socket.push = (chunk: Buffer | null) => {
    if (chunk === null) return push(null);
    let more = true;
    for (let i = 0; i < chunk.length; i++)
      more = push(chunk.subarray(i, i + 1));
    return more;
  };
}

/** Waits until somebody gets one more event. */
async function hears(listener: Listener, channel: string): Promise<void> {
  const from = listener.frames.length;
  await listener.until(
    "one more event",
    () => listener.events(channel, from).length > 0,
  );
}

async function idsIn({ live }: Talk, channel: string): Promise<number[]> {
  const page = { after: 0, limit: 1000 };
  const found = await live.app.store.chat.events("demo", channel, page);
  return found.map(({ id }) => id);
}

void t.test("clients of all kinds in a crowd", async (t) => {
  const talk = await startTalk(t, { maxUnsent: 64 * 1024 });
  const { live } = talk;
  const { channel, ears, people, end } = await readied(talk, 5);
  t.teardown(end);
  const [stopped, bytewise, waiting] = ears as [Listener, Listener, Listener];
  const connection = [...live.app.live.sockets.values()].find(
    ({ login }) => login?.user === stopped.id,
  )!;
  const aside = await talk.room();
  await stopped.do("chat.subscribe", { channel: aside });
  await people[0]!.do("chat.join", { channel: aside });
  socketOf(stopped).pause();
  // The operating system takes some megabytes first, and some of them late.
  const isFull = async () => {
    if (connection.unsent < 50_000) return connection.ended;
    await delay(100);
    return connection.unsent >= 50_000 || connection.ended;
  };
  while (!(await isFull())) {
    const extra = "x".repeat(connection.unsent > 0 ? 8_000 : 60_000);
    await people[0]!.say(aside, "x", {
      content: { type: "text", body: "x", extra },
    });
  }
  getBytes(bytewise);
  const { users } = live.app.store;
  const blocked = users.blocked.bind(users);
  t.teardown(() => (users.blocked = blocked));
  let go = () => {};
  const held = new Promise<void>((resolve) => (go = resolve));
  users.blocked = async (...args) => {
    await held;
    return blocked(...args);
  };
  const answer = waiting.call("user.list.blocked");
  const before = waiting.frames.length;
  const long = "y".repeat(200);
  await burst(people, channel, 100, () => long);
  const last = await people[0]!.say(channel, "the end");
  const others = ears.slice(3);
  await Promise.all(others.map((ear) => ear.reached(channel, last)));
  t.equal(waiting.frames.length, before, "pushes wait for the answer");
  go();
  await answer;
  for (const ear of [bytewise, waiting]) await ear.reached(channel, last);
  t.match(waiting.frames[before], ["success"], "which comes first");
  t.ok(connection.ended, "who does not read is dropped");
  const truth = await idsIn(talk, channel);
  const faults = ears.slice(1).flatMap((ear) => faultsOf(ear, channel, truth));
  t.strictSame(faults.slice(0, 5), []);
  t.equal(live.app.live.hub.of("demo", stopped.id).size, 0);
});

void t.test("a crowd in each of two processes", async (t) => {
  const pair = await startPair(t);
  const { value: room } = await pair.one.store.rooms.create("demo", {
    name: "Stage",
    module_config: [{ type: "chat.native" }],
  });
  const channel = room.id;
  const halves = await each([pair.one, pair.two], async ({ app }, half) => {
    const { port } = app.server.address() as AddressInfo;
    const ears = await crowdOf(SIZE, port, guests(`ear-${half}`));
    await each(ears, (ear) => ear.do("chat.subscribe", { channel }));
    const exp = Math.floor(Date.now() / 1000) + 3600;
    const people = await each(numbers(10), async (i) => {
      const uid = `speaker ${half} ${i}`;
      const claims = { uid, exp, profile: { display_name: uid } };
      const token = tokenOf(keyOf("demo"), claims);
      const person = await listen(port, { token });
      await person.do("chat.join", { channel });
      return person;
    });
    return { ears, people };
  });
  const all = halves.flatMap(({ ears, people }) => [...ears, ...people]);
  t.teardown(() => all.forEach(({ ws }) => ws.terminate()));
  const [one, two] = halves as [(typeof halves)[0], (typeof halves)[0]];
  const check = async (listeners: Listener[], last: number) => {
    for (const ear of listeners) await ear.reached(channel, last);
    const page = { after: 0, limit: 1000 };
    const found = await pair.one.store.chat.events("demo", channel, page);
    const truth = found.map(({ id }) => id);
    const faults = listeners.flatMap((ear) => faultsOf(ear, channel, truth));
    return faults.slice(0, 5);
  };
  let count = 0;
  const links: [name: string, link: (event: BusMessage) => BusMessage[]][] = [
    ["as it is", (event) => [event]],
    ["loses some", (event) => (++count % 3 === 0 ? [] : [event])],
    ["says all twice", (event) => [event, event]],
    [
      "is late, and in another order",
      (event) => {
        setTimeout(
          () => [pair.one, pair.two].forEach((to) => pair.hand(to, event)),
          ++count % 7,
        );
        return [];
      },
    ],
  ];
  for (const [name, link] of links) {
    pair.link = (event) => (isChat(event) ? link(event) : [event]);
    const sent = await Promise.all([
      burst(one.people, channel, 20),
      burst(two.people, channel, 20),
    ]);
    t.strictSame(await check(all, Math.max(...sent.flat())), [], name);
  }
  pair.link = (event) => [event];
  const sent = Promise.all([
    burst(one.people, channel, 60),
    burst(two.people, channel, 60),
  ]);
  await hears(one.ears[0]!, channel);
  two.people.forEach(({ ws }) => ws.terminate());
  await soon(pair.two.app.close());
  await sent;
  const last = await one.people[0]!.say(channel, "still here");
  t.strictSame(await check([...one.ears, ...one.people], last), []);
});

void t.test("single messages, and the end", async (t) => {
  const talk = await startTalk(t);
  const { channel, ears, people, end } = await readied(talk, 10);
  t.teardown(end);
  // Passes end a tenth of a second after the last message.
  const quiet = () => delay(250);
  const [ann, bob] = people as [Listener, Listener];
  for (const wait of [quiet, async () => {}, quiet]) {
    await wait();
    const id = await ann.say(channel, "alone");
    await Promise.all(ears.map((ear) => ear.reached(channel, id)));
    const next = bob.say(channel, "during the pass");
    const more = await ann.say(channel, "and one more");
    const last = Math.max(await next, more);
    await Promise.all(ears.map((ear) => ear.reached(channel, last)));
  }
  const truth = await idsIn(talk, channel);
  const faults = ears.flatMap((ear) => faultsOf(ear, channel, truth));
  t.strictSame(faults.slice(0, 5), []);
  let confirmed = 0;
  const talking = each(people, async (person) => {
    while (!person.closed) {
      const isSent = person.say(channel, "on and on").then(
        () => true,
        () => false,
      );
      if (await isSent) confirmed++;
    }
  });
  await hears(ears[0]!, channel);
  await soon(talk.live.close(), 10_000);
  await talking;
  t.ok(confirmed > 0, "in the middle of it");
  for (const ear of ears) await ear.until("the end", () => ear.closed);
  for (const ear of ears) {
    const ids = ear.events(channel).map(({ event_id }) => event_id as number);
    const isOrdered = ids.every((id, i) => i === 0 || id > ids[i - 1]!);
    if (!isOrdered) t.fail(`not in order: ${ids.join()}`);
  }
});
