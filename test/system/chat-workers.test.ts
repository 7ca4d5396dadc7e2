import t, { type Test } from "tap";
import { ask, Chatter, eventually } from "./chatter.js";
import { verify, writeUntil } from "./conversation.js";
import { connectTo, isAlive, type Pair, startPair } from "./pair.js";
import { Person } from "./person.js";

type Data = Record<string, unknown>;

/** People in tests do not wait as long as others must. */
const tireless = {
  LIVE_MESSAGES_PER_SECOND: "1000",
  LIVE_COMMANDS_PER_SECOND: "10000",
};

/** How many write at once. */
const WRITERS = 24;

/** Creates a room with a chat. @returns the id of the channel. */
async function makeChat(
  t: Test,
  pair: Pair,
  config: Data = {},
): Promise<string> {
  const admin = await Person.connect(t, pair.server.port);
  await admin.logIn(pair.sign("admin", "admin"));
  const room = await ask(admin, "room.create", {
    name: `Talk ${Math.random()}`,
    description: "",
    modules: [{ type: "chat.native", config }],
  });
  admin.ws.terminate();
  return room.channel as string;
}

/** Starts somebody for each process who reads, and many who write through all of them. */
async function crowd(t: Test, pair: Pair, channel: string) {
  const { port } = pair.server;
  const readers: Chatter[] = [];
  for (const [i, pid] of pair.workers().entries()) {
    const reader = new Chatter(t, `reader-${i}`, channel, port);
    await reader.join();
    readers.push(await reader.connect(() => connectTo(t, pair, pid)));
  }
  const writers = await Promise.all(
    Array.from({ length: WRITERS }, async (_, i) => {
      const writer = new Chatter(t, `writer-${i}`, channel, port);
      return (await writer.join()).connect();
    }),
  );
  const acknowledged = () =>
    writers.reduce((sum, writer) => sum + writer.acknowledged.size, 0);
  return {
    readers,
    writers,
    everybody: [...readers, ...writers],
    acknowledged,
  };
}

void t.test("many write through two processes at once", async (t) => {
  const pair = await startPair(t, tireless);
  const channel = await makeChat(t, pair);
  const { writers, everybody, acknowledged } = await crowd(t, pair, channel);
  await writeUntil(writers, () => acknowledged() >= 400);
  await verify(t, writers, everybody);
  t.ok(everybody.every(({ connections }) => connections === 1));
});

void t.test("A5 a subscription goes on when its owner joins", async (t) => {
  const pair = await startPair(t, tireless);
  const channel = await makeChat(t, pair);
  const { writers, readers, everybody } = await crowd(t, pair, channel);
  let isOver = false;
  const writing = writeUntil(writers, () => isOver);
  for (let i = 0; i < 30; i++) {
    for (const { person } of readers) {
      await ask(person, "chat.join", { channel });
      await ask(person, "chat.subscribe", { channel });
    }
  }
  isOver = true;
  await writing;
  await verify(t, writers, everybody);
});

void t.test("kill -9 of either process during a conversation", async (t) => {
  const pair = await startPair(t, tireless);
  const channel = await makeChat(t, pair);
  const { writers, everybody, acknowledged } = await crowd(t, pair, channel);
  const [first, second] = pair.workers();
  let goal = Infinity;
  const writing = writeUntil(writers, () => acknowledged() >= goal);
  const kill = async (pid: number, processes: number) => {
    const before = acknowledged();
    await eventually("a conversation", () => acknowledged() >= before + 100);
    process.kill(pid, "SIGKILL");
    await eventually("its successor", () => {
      return pair.workers().length === processes;
    });
  };
  await kill(first!, 3);
  await kill(second!, 4);
  goal = acknowledged() + 100;
  await writing;
  await verify(t, writers, everybody);
  t.ok(
    everybody.every(({ connections }) => connections >= 2),
    "everybody was thrown out",
  );
});

void t.test("kill -9 of the whole server, and a restart", async (t) => {
  const pair = await startPair(t, tireless);
  const channel = await makeChat(t, pair);
  const { writers, everybody, acknowledged } = await crowd(t, pair, channel);
  let goal = Infinity;
  const writing = writeUntil(writers, () => acknowledged() >= goal);
  await eventually("a conversation", () => acknowledged() >= 150);
  pair.server.signal("SIGKILL");
  const workers = pair.workers();
  for (const pid of workers) if (isAlive(pid)) process.kill(pid, "SIGKILL");
  await pair.server.finished;
  await eventually("the end", () => !workers.some(isAlive));
  const before = writers.flatMap(({ acknowledged }) => [
    ...acknowledged.values(),
  ]);
  const known = acknowledged();
  const env = { ...tireless, PORT: String(pair.server.port) };
  await startPair(t, env, pair.dataDir);
  await eventually("they go on", () => acknowledged() >= known + 100);
  goal = 0;
  await writing;
  const last = await verify(t, writers, everybody);
  t.ok(last > Math.max(...before), "ids go on increasing");
  const later = writers.flatMap(({ acknowledged }) => [
    ...acknowledged.values(),
  ]);
  t.equal(new Set(later).size, later.length, "no id is used again");
});

void t.test("what concerns one user reaches them everywhere", async (t) => {
  const pair = await startPair(t, tireless);
  const [here, there] = pair.workers();
  const channel = await makeChat(t, pair);
  const enter = async (uid: string, pid: number) => {
    const person = await connectTo(t, pair, pid);
    await person.logIn(pair.sign(uid));
    const profile = { display_name: uid };
    await ask(person, "user.update", { profile });
    return person;
  };
  const send = async (person: Person, where: string, body: string) => {
    const content = { type: "text", body };
    const event_type = "channel.message";
    const payload = { channel: where, event_type, content };
    return (await ask(person, "chat.send", payload)).event as {
      event_id: number;
    };
  };
  const ann = await enter("ann", here!);
  const annThere = await enter("ann", there!);
  const bob = await enter("bob", there!);
  await ask(bob, "chat.join", { channel });

  await t.test("joining", async (t) => {
    await ask(ann, "chat.join", { channel });
    const list = await annThere.pushed("chat.channels");
    t.match(list, { channels: [{ id: channel }] });
    const join = await bob.pushed(
      "chat.event",
      ({ sender }) => sender === ann.user,
    );
    t.match(join, { content: { membership: "join" } });
    t.same(ann.all("chat.channels"), [], "not to the one that joined");
  });

  await t.test("notifications and pointers", async (t) => {
    const { event_id: id } = await send(bob, channel, `@${ann.user}`);
    for (const person of [ann, annThere]) {
      const notice = await person.pushed("chat.notification");
      t.match(notice, { event: { event_id: id }, sender: { id: bob.user } });
      const pointers = await person.pushed("chat.unread_pointers");
      t.same(pointers, { [channel]: id });
    }
    await ask(ann, "chat.mark_read", { channel, id });
    const read = await annThere.pushed("chat.read_pointers");
    t.same(read, { [channel]: id });
    t.same(await annThere.pushed("chat.notification_counts"), {});
    const { event_id } = await send(bob, channel, "more");
    for (const person of [ann, annThere]) {
      await person.pushed("chat.unread_pointers", (data) => {
        return data[channel] === event_id;
      });
      t.equal(person.all("chat.unread_pointers").length, 2);
    }
    const late = await enter("ann", there!);
    const hello = await late.pushed("authenticated");
    t.same(hello["chat.read_pointers"], { [channel]: id });
    t.same(hello["chat.notification_counts"], {});
  });

  await t.test("reactions", async (t) => {
    const { event_id: event } = await send(bob, channel, "like me");
    const reaction = { channel, event, reaction: "👍" };
    await ask(ann, "chat.react", reaction);
    for (const person of [ann, bob]) {
      const push = await person.pushed("chat.event.reaction");
      t.match(push, { event_id: event, reactions: { "👍": [ann.user] } });
    }
  });

  await t.test("direct channels", async (t) => {
    const { id } = await ask(ann, "chat.direct.create", { users: [bob.user] });
    const dm = id as string;
    const isListed = ({ channels }: Data) =>
      (channels as { id: string }[]).some((one) => one.id === dm);
    await annThere.pushed("chat.channels", isListed);
    t.notOk(bob.all("chat.channels").some(isListed), "hidden");
    const { event_id } = await send(ann, dm, "Hello");
    await bob.pushed("chat.channels", isListed);
    await bob.pushed("chat.unread_pointers", (data) => data[dm] === event_id);
    await bob.pushed("chat.notification", ({ event }) => {
      return (event as { event_id: number }).event_id === event_id;
    });
    await ask(ann, "user.block", { id: bob.user });
    const payload = {
      channel: dm,
      event_type: "channel.message",
      content: { type: "text", body: "x" },
    };
    t.match(await bob.call("chat.send", payload), { code: "chat.denied" });
    await ask(ann, "user.unblock", { id: bob.user });
    t.match(await bob.call("chat.send", payload), { event: {} });
  });

  const may = async (person: Person, where: string) => {
    const content = { type: "text", body: "may I?" };
    const payload = { channel: where, event_type: "channel.message", content };
    return (await person.call("chat.send", payload)).code ?? "ok";
  };

  await t.test("8.1 processes agree on volatile members", async (t) => {
    const volatile = await makeChat(t, pair, { volatile: true });
    const one = await enter("agreed", here!);
    const two = await enter("agreed", there!);
    await ask(one, "chat.join", { channel: volatile });
    await two.pushed("chat.channels");
    await ask(two, "chat.subscribe", { channel: volatile });
    await ask(one, "chat.unsubscribe", { channel: volatile });
    t.equal(await may(two, volatile), "ok", "a subscription was left");
    // The process of the other connection may hear of that a moment later.
    const ends = Date.now() + 60_000;
    let code = await may(one, volatile);
    while (code !== "ok" && Date.now() < ends) code = await may(one, volatile);
    t.equal(code, "ok", "the processes agree");
  });

  await t.test("volatile memberships, and F16 a crash", async (t) => {
    const volatile = await makeChat(t, pair, { volatile: true });
    const one = await enter("vol", here!);
    const two = await enter("vol", there!);
    const watch = await enter("vol", here!);
    await ask(one, "chat.join", { channel: volatile });
    await two.pushed("chat.channels");
    t.equal(await may(two, volatile), "ok", "it is the user's");
    await ask(two, "chat.subscribe", { channel: volatile });
    // What comes from the other process comes in order.
    await ask(two, "room.enter", { room: volatile });
    await one.pushed("world.user_count_change", (data) => {
      return data.room === volatile && data.users === "few";
    });
    await ask(one, "chat.unsubscribe", { channel: volatile });
    t.equal(
      await may(watch, volatile),
      "ok",
      "one subscription is left elsewhere",
    );
    const count = watch.all("chat.channels").length;
    process.kill(there!, "SIGKILL");
    await eventually("the membership ends", () => {
      return watch.all("chat.channels").length > count;
    });
    t.equal(await may(watch, volatile), "chat.denied");
  });
});
