import t, { type Test } from "tap";
import type { UserStore } from "../../db/contract/store.js";
import { bodiesOf, say, startTalk } from "../chat/talk.js";
import type { Client, LiveServer } from "./client.js";

// What reaches people between the news of a ban and the moment when the server has read it.

/** Something that a test holds up until it lets it go on. */
function held() {
  let begin = () => {};
  let go = () => {};
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const gone = new Promise<void>((resolve) => (go = resolve));
  const hold = () => {
    begin();
    return gone;
  };
  return { begun, go, hold };
}

/** Holds up all that the server reads to tell the world of changes. */
function holdReads({ app }: LiveServer) {
  const reads = held();
  app.live.lines.inOrder("demo", reads.hold);
  return reads;
}

/** Holds up the next call of a method, before or after it reads. */
function holdNext<N extends "get" | "getMany">(
  users: UserStore,
  name: N,
  when: "before" | "after",
) {
  const call = held();
  const method = users[name] as (...args: unknown[]) => Promise<unknown>;
  const slow = async (...args: unknown[]) => {
    users[name] = method as UserStore[N];
    if (when === "before") await call.hold();
    const found = await method(...args);
    if (when === "after") await call.hold();
    return found;
  };
  users[name] = slow as UserStore[N];
  return call;
}

/** A room in which somebody listens, and somebody else speaks. */
async function listened(t: Test) {
  const talk = await startTalk(t);
  const { users } = talk.live.app.store;
  const channel = await talk.room();
  const ear = await talk.member("ear", channel);
  const speaker = await talk.member("speaker", channel);
  await talk.calm(channel, ear, speaker);
  /** Says something, and waits until all who listen were sent it. */
  const speak = async (body: string) => {
    const { event_id: id } = await say(speaker, channel, body);
    await speaker.next("chat.event", ({ event_id }) => event_id === id);
  };
  const moderate = (state: "" | "banned") =>
    users.moderate("demo", ear.id, state);
  return { live: talk.live, users, ear, speak, moderate };
}

/** What somebody says next, twice. */
const nextTwo = async (ear: Client) =>
  bodiesOf([await ear.next("chat.event"), await ear.next("chat.event")]);

void t.test("what is said after a ban", async (t) => {
  const { live, ear, speak, moderate } = await listened(t);
  const { go } = holdReads(live);
  await moderate("banned");
  await speak("one");
  go();
  t.strictSame(await ear.frame(), ["connection.reload", {}]);
});

void t.test("a ban while an earlier change is read", async (t) => {
  const { live, users, ear, speak, moderate } = await listened(t);
  const early = holdNext(users, "getMany", "after");
  await moderate("");
  await early.begun;
  const { begun, go } = holdReads(live);
  await moderate("banned");
  early.go();
  await begun;
  await speak("one");
  go();
  t.strictSame(await ear.frame(), ["connection.reload", {}]);
});

void t.test("a ban that is over before it is read", async (t) => {
  const { live, ear, speak, moderate } = await listened(t);
  const { go } = holdReads(live);
  await moderate("banned");
  await speak("one");
  await moderate("");
  await speak("two");
  go();
  t.strictSame(await nextTwo(ear), ["one", "two"], "nothing is lost");
  t.equal(await ear.code("user.list.blocked"), "ok");
});

void t.test("nobody knows whether it was a ban", async (t) => {
  const { live, users, ear, speak, moderate } = await listened(t);
  const { go } = holdReads(live);
  await moderate("");
  await speak("one");
  await speak("two");
  const getMany = users.getMany.bind(users);
  users.getMany = async () => {
    users.getMany = getMany;
    throw new Error("no answer");
  };
  go();
  t.strictSame(await nextTwo(ear), ["one", "two"]);
  t.match(live.log.splice(0), [{ err: { message: "no answer" } }]);
});

for (const moment of ["before", "while"] as const) {
  void t.test(`a login that fails ${moment} a ban is read`, async (t) => {
    const { live } = await startTalk(t);
    const { announcements, users } = live.app.store;
    const login = holdNext(users, "get", "before");
    const late = await live.connect();
    const answer = late.login({ client_id: "x" });
    await login.begun;
    const other = await live.guest("x");
    await announcements.create("demo", { text: "Hello", state: "active" });
    await other.next("announcement.created_or_updated");
    await other.all();
    const read =
      moment === "before"
        ? holdReads(live)
        : holdNext(users, "getMany", "after");
    await users.moderate("demo", other.id, "banned");
    await read.begun;
    login.go();
    t.match(await answer, ["error", { code: "auth.denied" }]);
    read.go();
    t.strictSame(await other.frame(), ["connection.reload", {}]);
    await live.settled();
    t.strictSame(await late.all(), [], "pushes are for those who got in");
  });
}
