import t from "tap";
import type { Stay } from "../../../db/contract/attendance-store.js";
import { Attendance } from "../../../live/people/attendance.js";
import { type CrowdListener, Presence } from "../../../live/people/presence.js";
import { ActivityCounter } from "../../../live/people/snapshots.js";
import { Wire } from "../../support/wire.js";

// How processes learn of each other's people, in simulated time. Changes arrive within two seconds,
// and the people of a process disappear within six seconds of its end.

const world = "demo";
const room = "room";
const RIGHT_MS = 2000;
const GONE_MS = 6000;

/** Starts a process, and records what its presence reports to a listener. */
function present(wire: Wire, name: string) {
  const process = wire.start(name);
  const { clock, snapshots } = process;
  const heard: string[] = [];
  const listener: CrowdListener = {
    counted: () => {},
    opened: (_world, user) => heard.push(`opened ${user}`),
    entered: (_world, _room, user, _by, again) =>
      heard.push(`entered ${user}${again ? " again" : ""}`),
    left: (_world, _room, user) => heard.push(`left ${user}`),
    attended: (_world, user) => heard.push(`attended ${user}`),
  };
  const presence = new Presence(snapshots, listener);
  return {
    process,
    presence,
    activity: new ActivityCounter(clock, snapshots),
    heard,
    follow: () => snapshots.follow(world),
    note: (...step: Parameters<Presence["note"]> extends [string, infer S] ? [S] : never) =>
      presence.note(world, ...step),
    come(user: string, connection = `${name} ${user}`) {
      presence.note(world, { do: "open", connection, user, at: clock.now() });
      presence.note(world, { do: "enter", connection, room });
      return () => presence.note(world, { do: "close", connection });
    },
    /** Returns the counts of the world, and the viewers of the room. */
    seen() {
      const { connections, users, rooms } = presence.in(world);
      const names = presence.usersIn(world, room).sort().join(" ");
      return `${connections} ${users} ${rooms[0]?.viewers ?? 0}: ${names}`;
    },
  };
}

type Present = ReturnType<typeof present>;

/** Starts two processes that follow the world. */
async function startTwo() {
  const wire = new Wire();
  const [one, two] = [present(wire, "one"), present(wire, "two")] as const;
  for (const process of [one, two]) void process.follow();
  await wire.wait(10);
  return { wire, one, two };
}

type Two = Awaited<ReturnType<typeof startTwo>>;

const rows: {
  name: string;
  act: (two: Two) => Promise<unknown> | void;
  within: number;
  /** Expected counts and viewers, as seen by the surviving processes. */
  seen: string;
  heard?: string[];
}[] = [
  {
    name: "people of both processes",
    act: ({ one, two }) => {
      one.come("ada");
      two.come("bob");
    },
    within: RIGHT_MS,
    seen: "2 2 2: ada bob",
    heard: ["opened ada", "entered ada", "entered bob"],
  },
  {
    name: "a user with tabs on both counts once",
    act: ({ one, two }) => {
      one.come("ada");
      two.come("ada");
    },
    within: RIGHT_MS,
    seen: "2 1 1: ada",
    heard: ["opened ada", "entered ada", "opened ada"],
  },
  {
    name: "a user who is in no room",
    act: ({ two }) => two.note({ do: "open", connection: "a", user: "ada", at: 1 }),
    within: RIGHT_MS,
    seen: "1 1 0: ",
    heard: [],
  },
  {
    name: "a user who leaves",
    async act({ wire, one, two }) {
      one.come("ada");
      const leave = two.come("bob");
      await wire.wait(RIGHT_MS);
      leave();
    },
    within: RIGHT_MS,
    seen: "1 1 1: ada",
    heard: ["opened ada", "entered ada", "entered bob", "left bob"],
  },
  {
    name: "a user who moves",
    async act({ wire, one, two }) {
      const leave = two.come("ada");
      await wire.wait(RIGHT_MS);
      leave();
      one.come("ada");
    },
    within: RIGHT_MS,
    seen: "1 1 1: ada",
  },
  {
    name: "up to 5,000 people in a process are known by name",
    act: ({ one, two }) => {
      one.come("ada");
      for (let i = 0; i < 5000; i++) two.come(i === 0 ? "ada" : `p${i}`);
    },
    within: RIGHT_MS,
    seen: `5001 5000 5000: ada ${Array.from({ length: 4999 }, (_, i) => `p${i + 1}`)
      .sort()
      .join(" ")}`,
  },
  {
    name: "a process that is killed while the others hear of it",
    async act({ wire, one, two }) {
      one.come("ada");
      two.come("bob");
      await wire.wait(RIGHT_MS);
      two.process.kill();
    },
    within: 1,
    seen: "1 1 1: ada",
    heard: ["opened ada", "entered ada", "entered bob", "left bob"],
  },
  {
    name: "a process that is killed in silence",
    async act({ wire, one, two }) {
      one.come("ada");
      two.come("bob");
      await wire.wait(RIGHT_MS);
      two.process.kill(true);
    },
    within: GONE_MS,
    seen: "1 1 1: ada",
  },
  {
    name: "people who stay for long",
    async act({ wire, two }) {
      two.come("bob");
      for (let i = 0; i < 20; i++) {
        await wire.wait(1000);
        // Every third snapshot is lost.
        wire.link = (message) => (i % 3 === 0 ? [] : [message]);
      }
    },
    within: RIGHT_MS,
    seen: "1 1 1: bob",
    heard: ["entered bob"],
  },
  {
    name: "a suspended process goes on where it was",
    async act({ wire, one, two }) {
      one.come("ada");
      two.come("bob");
      await wire.wait(RIGHT_MS);
      one.process.clock.pause(4000);
      await wire.wait(4000);
    },
    within: RIGHT_MS,
    seen: "2 2 2: ada bob",
    heard: ["opened ada", "entered ada", "entered bob"],
  },
  {
    name: "messages that come twice and in another order",
    async act({ wire, one, two }) {
      const sent: Parameters<Wire["link"]>[0][] = [];
      wire.link = (message) => {
        sent.push(message);
        return [message, message];
      };
      one.come("ada");
      const leave = two.come("bob");
      await wire.wait(RIGHT_MS);
      leave();
      await wire.wait(RIGHT_MS);
      for (const message of sent.reverse()) {
        if (message.type === "snapshot") one.process.hear(message);
      }
    },
    within: 1,
    seen: "1 1 1: ada",
    heard: ["opened ada", "entered ada", "entered bob", "left bob"],
  },
];

for (const { name, act, within, seen, heard } of rows) {
  void t.test(name, async (t) => {
    const started = await startTwo();
    const { wire, one, two } = started;
    await act(started);
    await wire.wait(within);
    t.equal(one.seen(), seen);
    if (!two.process.clock.isOver) t.equal(two.seen(), seen);
    if (heard) t.strictSame(one.heard, heard);
  });
}

void t.test("of more than 5,000 people, others know the number", async (t) => {
  const { wire, one, two } = await startTwo();
  one.come("ada");
  two.come("ada");
  for (let i = 0; i < 4998; i++) two.come(`p${i}`);
  await wire.wait(RIGHT_MS);
  t.match(one.seen(), /^5000 4999 4999: ada p0 /);
  const extra = ["eve", "eva"].map((user) => two.come(user));
  await wire.wait(RIGHT_MS);
  t.equal(one.seen(), "5002 5002 5002: ada", "a user with tabs on both counts twice");
  t.match(two.seen(), /^5002 5001 5001: ada eva eve /, "it knows its own");
  t.equal(one.presence.isOnline(world, "eve"), false);
  for (const leave of extra) leave();
  await wire.wait(RIGHT_MS);
  t.equal(one.seen(), "5000 5000 5000: ada", "names do not come back for one who left");
  two.process.kill();
  await wire.wait(1);
  t.equal(one.seen(), "1 1 1: ada");
});

void t.test("who follows later asks, and knows all when the others answered", async (t) => {
  const { wire, two } = await startTwo();
  two.come("bob");
  two.activity.count(world, "messages");
  await wire.wait(1100);
  const late = present(wire, "late");
  let isReady = false;
  void late.follow().then(() => (isReady = true));
  await wire.wait(5);
  t.ok(isReady);
  t.equal(late.seen(), "1 1 1: bob");
  t.equal(late.activity.of(world).messages, 1);
  wire.link = () => [];
  const alone = present(wire, "alone");
  void alone.follow().then(() => (isReady = false));
  await wire.wait(300);
  t.notOk(isReady, "it does not wait for long");
  t.equal(alone.seen(), "0 0 0: ");
});

void t.test("a world costs one message a second at most, and none without people", async (t) => {
  const { wire, one, two } = await startTwo();
  let sent = 0;
  wire.link = (message) => {
    sent++;
    return [message];
  };
  const sentIn = async (duration: number) => {
    sent = 0;
    await wire.wait(duration);
    return sent;
  };
  await wire.wait(2000);
  const leave = one.come("ada");
  t.equal(await sentIn(10), 1, "at once when it is quiet");
  t.equal(two.seen(), "1 1 1: ada");
  const leaves = Array.from({ length: 40 }, (_, i) => one.come(`p${i}`));
  t.equal(await sentIn(900), 0);
  t.equal(await sentIn(400), 1, "then together");
  t.equal(two.presence.in(world).users, 41);
  const rest = await sentIn(30_000);
  t.ok(rest >= 10 && rest <= 15, `${rest} in half a minute in which nothing changes`);
  for (const gone of [leave, ...leaves]) gone();
  t.equal(await sentIn(1300), 1);
  t.equal(two.seen(), "0 0 0: ");
  t.equal(await sentIn(30_000), 0);
});

void t.test("a world that nobody follows is forgotten after a while", async (t) => {
  const { wire, one, two } = await startTwo();
  two.come("bob");
  await wire.wait(RIGHT_MS);
  one.process.snapshots.unfollow(world);
  await wire.wait(RIGHT_MS);
  t.equal(one.seen(), "1 1 1: bob");
  await wire.wait(11_000);
  t.equal(one.seen(), "0 0 0: ");
  await Promise.all([one.presence.visit(world), wire.wait(5)]);
  t.equal(one.seen(), "1 1 1: bob", "a visit asks again");
});

void t.test("activity is the sum over all processes that live", async (t) => {
  const { wire, one, two } = await startTwo();
  const all = [one, two];
  const leave = two.come("bob");
  for (const { activity } of all) activity.count(world, "messages");
  two.activity.count(world, "slowReaders");
  await wire.wait(RIGHT_MS);
  leave();
  await wire.wait(30_000);
  const { since } = one.activity.of(world);
  const sum = { messages: 2, slowReaders: 1, since };
  for (const { activity } of all) t.strictSame(activity.of(world), sum, "without people, too");
  one.activity.forget(world);
  t.match(one.activity.of(world), { messages: 1 });
  two.process.kill();
  await wire.wait(1);
  t.match(one.activity.of(world), { messages: 0, slowReaders: 0 });
});

void t.test("a user of two processes has the connections and channels of both", async (t) => {
  const { wire, one, two } = await startTwo();
  const channel = "hall";
  const attends = () => [one, two].map(({ presence }) => presence.attends(world, channel, "ada"));
  const listening = (process: Present, connection: string) => {
    process.come("ada", connection);
    process.note({ do: "subscribe", connection, channel });
  };
  listening(one, "a");
  await wire.wait(RIGHT_MS);
  listening(two, "b");
  await wire.wait(RIGHT_MS);
  for (const { presence } of [one, two]) {
    const known = presence.connectionsOf(world, "ada");
    t.strictSame(
      known.map(({ connection }) => connection),
      ["b", "a"],
      "the newest first",
    );
  }
  one.note({ do: "attend", connection: "a", channel });
  await wire.wait(RIGHT_MS);
  t.strictSame(attends(), [true, true]);
  one.note({ do: "close", connection: "a" });
  await wire.wait(RIGHT_MS);
  t.strictSame(attends(), [false, true], "she goes on listening there");
  listening(one, "c");
  await wire.wait(RIGHT_MS);
  t.strictSame(attends(), [true, true]);
  one.note({ do: "absent", connection: "c", channel, silent: false });
  await wire.wait(RIGHT_MS);
  t.strictSame(attends(), [false, false], "she left, with all connections");
  for (const { heard } of [one, two]) t.equal(heard.at(-1), "attended ada");
});

const MINUTE = 60_000;

void t.test("two processes, of which one is killed", async (t) => {
  const [ada, bob, eve] = ["ada", "bob", "eve"] as const;
  const configured = { value: { config: { attendance: "people" } } };
  const largest = new Map<number, number>();
  const stays: Stay[] = [];
  const wire = new Wire();
  const faults: unknown[] = [];
  let isBroken = false;
  const start = (name: string) => {
    const process = wire.start(name);
    const { clock, snapshots } = process;
    void snapshots.follow("demo");
    const attendance: Attendance = new Attendance({
      clock,
      hub: { worlds: () => ["demo"] },
      log: { warn: (fault: unknown) => faults.push(fault) } as never,
      store: {
        worlds: { get: () => Promise.resolve(configured as never) },
        attendance: {
          async sample(_world, at, [count]) {
            const before = largest.get(at) ?? 0;
            largest.set(at, Math.max(before, count!.people));
          },
          async note(_world, noted) {
            if (isBroken) throw new Error("broken");
            stays.push(...noted);
          },
        },
      },
      numbersIn: (id) => presence.in(id),
    });
    const silent = () => {};
    const presence: Presence = new Presence(
      snapshots,
      {
        counted: silent,
        opened: silent,
        entered: silent,
        left: silent,
        attended: silent,
      },
      attendance,
    );
    let connections = 0;
    return {
      clock,
      kill: () => process.kill(),
      come(user: string) {
        const connection = `${name}${connections++}`;
        presence.note("demo", { do: "open", connection, user, at: 1 });
        presence.note("demo", { do: "enter", connection, room });
        return () => presence.note("demo", { do: "close", connection });
      },
    };
  };
  const [one, two] = [start("one"), start("two")];
  await wire.wait(MINUTE - (one.clock.date() % MINUTE) + 1000);
  one.come(ada);
  const leave = two.come(ada);
  two.come(bob);
  one.come(eve);
  await wire.wait(2 * MINUTE);
  const counts = () => [...largest.values()];
  t.strictSame(counts(), [3, 3], "a user in two processes counts once");
  isBroken = true;
  leave();
  await wire.wait(30_000);
  isBroken = false;
  one.kill();
  await wire.wait(MINUTE);
  t.strictSame(counts(), [3, 3, 1]);
  /** Returns for how many seconds a user is recorded as present. */
  const secondsOf = (user: string) => {
    const own = stays.filter((stay) => stay.user === user);
    const seconds = own.flatMap(({ from, to }) =>
      Array.from({ length: (to - from) / 1000 }, (_, i) => from + i * 1000),
    );
    return new Set(seconds.map((time) => Math.round(time / 1000))).size;
  };
  const near = (user: string, expected: number, why: string) =>
    t.ok(Math.abs(secondsOf(user) - expected) < 5, `${why}: ${secondsOf(user)}`);
  near(ada, 120, "a failed write is repeated");
  near(bob, 180, "a user who stays");
  near(eve, 120, "at most a minute is lost");
  t.ok(faults.length > 0);
  const noted = stays.length;
  configured.value.config.attendance = "numbers";
  two.come(eve)();
  await wire.wait(2 * MINUTE);
  t.equal(stays.length, noted, "not kept");
  t.equal(counts().length, 5);
  configured.value.config.attendance = "off";
  await wire.wait(MINUTE);
  t.equal(counts().length, 5);
});
