import t from "tap";
import type { Stay } from "../../db/contract/attendance.js";
import { Attendance } from "../../live/people/attendance.js";
import { Presence } from "../../live/people/presence.js";
import { until } from "../helper.js";
import { makeRoom, startLive } from "./client.js";
import { Wire } from "./wire.js";

const MINUTE = 60_000;

void t.test("who was where is kept if the world asks for it", async (t) => {
  const live = await startLive(t);
  const { store } = live.app;
  const room = await makeRoom(live, { name: "A" });
  const visits = () => store.attendance.visits("demo", room, undefined, 10);
  await store.worlds.configure("demo", { config: { attendance: "people" } });
  const person = await live.person({ uid: "u" });
  await person.do("room.enter", { room });
  await until(async () => (await visits()).length > 0);
  const [first] = await visits();
  t.equal(first!.user, person.id);
  await person.do("room.leave", { room });
  await until(async () => (await visits())[0]!.last > first!.last);
  const other = await live.person({ uid: "v" });
  await other.do("room.enter", { room });
  await live.app.live.close();
  t.strictSame(
    (await visits()).map(({ user }) => user).sort(),
    [person.id, other.id].sort(),
    "also people who are there when the server ends",
  );
});

void t.test("two processes, of which one is killed", async (t) => {
  const [room, ada, bob, eve] = ["room", "ada", "bob", "eve"] as const;
  const world = { value: { config: { attendance: "people" } } };
  const largest = new Map<number, number>();
  const stays: Stay[] = [];
  const wire = new Wire();
  const faults: unknown[] = [];
  let isBroken = false;
  const start = (name: string) => {
    const process = wire.start(name);
    const { clock, replica } = process;
    void replica.follow("demo");
    const attendance: Attendance = new Attendance({
      ...{ clock, hub: { worlds: () => ["demo"] } },
      log: { warn: (fault: unknown) => faults.push(fault) } as never,
      store: {
        worlds: { get: () => Promise.resolve(world as never) },
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
      ...([clock, replica] as const),
      {
        ...{ counted: silent, isWatched: () => false, opened: silent },
        ...{ entered: silent, left: silent, attended: silent },
      },
      attendance,
    );
    let connections = 0;
    return {
      ...{ clock, kill: () => process.kill() },
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
  /** For how many seconds a user is noted. */
  const secondsOf = (user: string) => {
    const own = stays.filter((stay) => stay.user === user);
    const seconds = own.flatMap(({ from, to }) =>
      Array.from({ length: (to - from) / 1000 }, (_, i) => from + i * 1000),
    );
    return new Set(seconds.map((time) => Math.round(time / 1000))).size;
  };
  const near = (user: string, expected: number, why: string) =>
    t.ok(
      Math.abs(secondsOf(user) - expected) < 5,
      `${why}: ${secondsOf(user)}`,
    );
  near(ada, 120, "a failed write is repeated");
  near(bob, 180, "a user who stays");
  near(eve, 120, "at most a minute is lost");
  t.ok(faults.length > 0);
  const noted = stays.length;
  world.value.config.attendance = "numbers";
  two.come(eve)();
  await wire.wait(2 * MINUTE);
  t.equal(stays.length, noted, "not kept");
  t.equal(counts().length, 5);
  world.value.config.attendance = "off";
  await wire.wait(MINUTE);
  t.equal(counts().length, 5);
});
