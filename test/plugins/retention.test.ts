import { openStoreIn } from "../stack.js";
import Fastify from "fastify";
import t, { type Test } from "tap";
import type { Engines } from "../../db/contract/engines.js";
import { type Store, StoreError } from "../../db/contract/store.js";
import engines from "../../plugins/engines.js";
import retention, {
  applyRetention,
  ClockTrust,
} from "../../plugins/retention.js";
import { textsBelow } from "../files.js";
import { until, worldOf } from "../helper.js";
import { testdir } from "../testdir.js";

const DAY = 24 * 60 * 60_000;

/** A store with a world with messages in two rooms. */
async function chatted(t: Test) {
  const dataDir = testdir(t);
  const store = await openStoreIn(t, dataDir);
  await store.worlds.create(worldOf("demo"));
  const traits = new Set<string>();
  const { id: user } = await store.users.enter("demo", {
    clientId: "x",
    traits,
  });
  const rooms: string[] = [];
  for (const name of ["a", "b"]) {
    const { value } = await store.rooms.create("demo", { name });
    rooms.push(value.id);
    await store.chat.join("demo", value.id, user);
    const content = { type: "text", body: `said in ${name}` };
    await store.chat.send("demo", value.id, { sender: user, content });
  }
  const keep = (chat: unknown) =>
    store.worlds.configure("demo", { config: { chat } });
  const count = async () => {
    const lists = rooms.map((room) =>
      store.chat.events("demo", room, { after: 0, limit: 99 }),
    );
    return (await Promise.all(lists)).flat().length;
  };
  return { dataDir, store, keep, count };
}

/** A store that answers the expiry of chat differently. */
const expiring = (store: Store, expire: Store["chat"]["expire"]): Store => ({
  ...store,
  chat: { ...store.chat, expire },
});

void t.test("a world keeps its chat as long as it says", async (t) => {
  const { dataDir, store, keep, count } = await chatted(t);
  const later = Date.now() + 3 * DAY;
  for (const chat of [
    ...[undefined, null, 1, "2", [], {}],
    ...["2", 0, -2, null, true, [2], {}, 1e300].map((retention_days) => ({
      retention_days,
    })),
    { retention_days: 3.5 },
  ]) {
    await keep(chat);
    await applyRetention(store, later);
    t.equal(await count(), 4, JSON.stringify(chat));
  }
  await keep({ retention_days: 2.5 });
  await applyRetention(store, Date.now() + 2 * DAY);
  t.equal(await count(), 4, "not yet");
  await Promise.all([
    applyRetention(store, later),
    applyRetention(store, later),
  ]);
  t.equal(await count(), 0, "by two at once");
  await store.close();
  t.strictSame(await textsBelow(dataDir, ["said in"]), [], "with its bytes");
});

void t.test("the log of a world is kept for some days", async (t) => {
  const { store } = await chatted(t);
  const now = Date.now();
  const typesAfter = async (seq: number) => {
    const { entries } = await store.log.since("demo", seq, 100);
    return entries.map(({ type }) => type);
  };
  const [head] = await store.log.heads(["demo"]);
  const before = await typesAfter(0);
  await applyRetention(store, now + 9 * DAY, { logDays: 10 });
  t.strictSame(await typesAfter(0), before, "not yet");
  await applyRetention(store, now + 11 * DAY, { logDays: 10 });
  t.ok((await typesAfter(0)).every((type) => type === "chat.event"));
  t.strictSame(await store.log.heads(["demo"]), [head]);
  await store.rooms.create("demo", { name: "c" });
  t.strictSame(await typesAfter(head!.seq), ["room.created"]);
  t.equal((await store.log.since("demo", head!.seq, 1)).entries.length, 1);
});

void t.test(
  "a world keeps no attendance that it does not ask for",
  async (t) => {
    const { store } = await chatted(t);
    const now = Date.now();
    const { value: room } = await store.rooms.create("demo", { name: "c" });
    const [user] = (await store.users.list("demo", { page: 1, pageSize: 1 }))
      .users;
    const { attendance } = store;
    const keep = (attendance: string) =>
      store.worlds.configure("demo", { config: { attendance } });
    const kept = async (attendanceDays: number) => {
      await applyRetention(store, now, { attendanceDays });
      const all = { from: 0, span: 60_000, limit: 9 };
      return [
        (await attendance.counts("demo", room.id, all)).length,
        (await attendance.visits("demo", room.id, undefined, 9)).length,
      ];
    };
    const at = now - 3 * DAY;
    await attendance.sample("demo", at, [{ room: room.id, people: 1 }]);
    const stay = { user: user!.id, room: room.id, from: at, to: at + 1 };
    await attendance.note("demo", [stay]);
    await keep("people");
    t.strictSame(await kept(4), [1, 1]);
    await store.worlds.update("demo", { config: worldOf("demo").config });
    t.strictSame(await kept(4), [1, 1], "a config that forgets it");
    await keep("numbers");
    t.strictSame(await kept(4), [1, 0]);
    t.strictSame(await kept(2), [0, 0]);
    await attendance.sample("demo", at, [{ room: room.id, people: 1 }]);
    await keep("off");
    t.strictSame(await kept(4), [0, 0]);
  },
);

void t.test("a world that fails keeps no other from its turn", async (t) => {
  const { store, keep, count } = await chatted(t);
  await keep({ retention_days: 1 });
  for (const id of ["absent", "broken"]) {
    const world = worldOf(id);
    world.config.chat = { retention_days: 1 };
    await store.worlds.create(world);
  }
  const failing = expiring(store, (world, before) => {
    if (world === "demo") return store.chat.expire(world, before);
    if (world === "broken") return Promise.reject(new Error("broken"));
    return Promise.reject(new StoreError("absent", "There is no such world."));
  });
  const faults: string[] = [];
  const now = Date.now() + 3 * DAY;
  await applyRetention(failing, now, {
    onFault: (error, world) => faults.push(`${world}: ${String(error)}`),
  });
  t.strictSame(faults, ["broken: Error: broken"]);
  t.equal(await count(), 0);
  await t.rejects(applyRetention(failing, now), { message: "broken" });
});

void t.test("which clock is believed", (t) => {
  const hour = DAY / 24;
  type Step = [passed: number, jump: number, isTrusted: boolean];
  const steady: Step[] = [
    [0, 0, true],
    [hour, 0, true],
  ];
  const back: Step[] = [
    [0, 0, true],
    [hour, 400 * DAY, false],
    [hour, 0, false],
    [hour, -400 * DAY, false],
    [23 * hour, 0, false],
    [hour, 0, true],
  ];
  const late: Step[] = [
    [0, 0, false],
    [23 * hour, 0, false],
    [hour, 0, true],
  ];
  const cases: [name: string, ahead: number, steps: Step[]][] = [
    ["a steady clock", 0, steady],
    ["one that is corrected a little", 0, [[hour, 9 * 60_000, true]]],
    ["one that jumps and comes back", 0, back],
    ["one that is far ahead of the log at the start", 400 * DAY, late],
    ["a start after some days", 6 * DAY, steady],
    ["an empty log", -Infinity, steady],
  ];
  for (const [name, ahead, steps] of cases) {
    let [now, date] = [0, 0];
    const trust = new ClockTrust({ now: () => now, date: () => date });
    trust.compare(-ahead);
    for (const [i, [passed, jump, isTrusted]] of steps.entries()) {
      now += passed;
      date += passed + jump;
      t.equal(trust.isTrusted(), isTrusted, `${name}, ${i}`);
    }
  }
  t.end();
});

/** Starts an application that applies retention again and again. */
async function retaining(store: Store, ahead = 0) {
  const app = Fastify();
  app.register(engines, {
    engines: { store, close: async () => {} } as Engines,
  });
  let looks = 0;
  const date = () => {
    looks++;
    return Date.now() + ahead;
  };
  const clock = { now: () => performance.now(), date };
  app.register(retention, { first: 1, interval: 1, clock });
  await app.ready();
  return { app, looked: () => looks };
}

void t.test("a server with a clock far ahead deletes nothing", async (t) => {
  const { store, keep, count } = await chatted(t);
  await keep({ retention_days: 1 });
  const { app, looked } = await retaining(store, 400 * DAY);
  await until(() => looked() > 9);
  await app.close();
  t.equal(await count(), 4);
});

void t.test(
  "it runs again and again, until the application closes",
  async (t) => {
    const { store, keep } = await chatted(t);
    await keep({ retention_days: 1 });
    let calls = 0;
    const counting = expiring(store, async () => ++calls % 3 > 0);
    const { app } = await retaining(counting);
    await until(() => calls > 8);
    await app.close();
    const then = calls;
    await new Promise((resolve) => setTimeout(resolve, 100));
    t.equal(calls, then);
  },
);
