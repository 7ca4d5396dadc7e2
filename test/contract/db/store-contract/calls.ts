import type { EngineDevice, IssuedDevice } from "../../../../db/contract/call-store.js";
import type { Store } from "../../../../db/contract/store.js";
import type { Change } from "../../../../db/log/entries.js";
import { worldOf } from "../../../support/helper.js";
import { chatting } from "./chat-setup.js";
import { ABSENT, allFail, type Contract, enter, fails, headOf } from "./setup.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** The time at which each test begins. */
const T0 = Date.UTC(2027, 4, 1, 9);

/** Creates a room, two people, and shorthands for store calls. */
async function conference(store: Store) {
  const { calls } = store;
  const room = (await store.rooms.create("demo", { name: "Stage" })).value.id;
  const [ada, bob, cy] = [
    await enter(store, "ada"),
    await enter(store, "bob"),
    await enter(store, "cy"),
  ];
  let head = await headOf(store);

  const device = (user: string, random: string, more: Partial<IssuedDevice> = {}) => ({
    identity: `${user}:${random}`,
    user,
    hidden: false,
    access: { traits: ["a"], expires: 99 },
    ends: T0 + 10 * MINUTE,
    ...more,
  });
  const issue = (
    user: string,
    random = "1",
    { now = T0, limit, ...more }: Partial<IssuedDevice> & { now?: number; limit?: number } = {},
    channel = room,
  ) => calls.issued("demo", channel, device(user, random, more), { now, limit });
  const visit = (user: string, random = "1", session = "s1") => ({
    identity: `${user}:${random}`,
    session,
  });
  const at = (now: number) => ({ at: now, now });
  const join = (user: string, now = T0, random = "1", session = "s1") =>
    calls.joined("demo", room, visit(user, random, session), at(now));
  const leave = (user: string, now = T0, random = "1", session = "s1") =>
    calls.left("demo", room, visit(user, random, session), at(now));
  const listed = (user: string, more: Partial<EngineDevice> = {}): EngineDevice => ({
    ...visit(user),
    joined: T0,
    sources: [],
    ...more,
  });
  const reconcile = (devices: EngineDevice[], now: number, asked = now) =>
    calls.reconciled("demo", room, devices, { asked, now });
  /** Returns the entries since the last call, without call ids. */
  const entries = async () => {
    const found = await store.log.since("demo", head, 1000);
    head = await headOf(store);
    return found.entries.map((entry) => {
      const { type, user, on } = entry as Change & { user?: string; on?: boolean };
      return [type, ...(user ? [user] : []), ...(on === undefined ? [] : [on])];
    });
  };
  const state = async () => {
    const { call, devices } = await calls.get("demo", room);
    const there = devices.filter(({ joined }) => joined !== null);
    return [call?.people ?? 0, there.map(({ identity }) => identity).sort()];
  };
  return {
    ...{ calls, room, ada, bob, cy, device, issue, visit, join, leave, listed, reconcile },
    ...{ entries, state, at },
  };
}

export async function callContract(contract: Contract): Promise<void> {
  await contract("the first person starts a call, and the last one ends it", async (t, store) => {
    const { calls, room, ada, bob, issue, join, leave, entries } = await conference(store);
    const screen = {
      hidden: true,
      access: { traits: [], scope: { kind: "kiosk" as const, room } },
    };
    await issue(ada);
    await issue(ada, "2", { now: T0 + 1 });
    await issue(bob, "1", { now: T0 + 2 });
    await issue(bob, "screen", { ...screen, now: T0 + 3 });
    t.strictSame(await entries(), [], "a token is nothing that others see");
    t.equal((await calls.get("demo", room)).call, undefined);

    t.strictSame(await join(bob, T0, "screen"), { isKnown: true });
    t.equal((await calls.get("demo", room)).call, undefined, "a screen starts nothing");
    await join(ada, T0);
    await join(bob, T0 + MINUTE);
    await join(ada, T0 + MINUTE, "2");
    t.strictSame(await entries(), [["call.started"], ["call.joined", ada], ["call.joined", bob]]);
    const { call, devices } = await calls.get("demo", room);
    t.match(call, { started: T0, people: 2, mostPeople: 2, caller: null, event: null });
    t.match(
      devices.map(({ user, hidden, joined }) => [user, hidden, joined]),
      [
        [ada, false, T0],
        [ada, false, T0 + MINUTE],
        [bob, false, T0 + MINUTE],
        [bob, true, T0],
      ],
    );
    t.strictSame(devices[0]!.access, { traits: ["a"], expires: 99 });
    t.strictSame(devices[3]!.access, screen.access);
    t.strictSame(await calls.open(), [{ world: "demo", channel: room }]);

    await leave(ada, T0 + 2 * MINUTE);
    t.strictSame(await entries(), [], "the other device is still there");
    await leave(ada, T0 + 2 * MINUTE, "2");
    const { ended } = await leave(bob, T0 + 3 * MINUTE);
    t.strictSame(await entries(), [["call.left", ada], ["call.left", bob], ["call.ended"]]);
    t.match(ended, { id: call!.id, channel: room, ended: T0 + 3 * MINUTE, mostPeople: 2 });
    t.equal(ended!.personMs, 4 * MINUTE, "two minutes each");
    const past = { id: call!.id, started: T0, ended: T0 + 3 * MINUTE, mostPeople: 2 };
    const history = await calls.history("demo", room, { limit: 9 });
    t.match(history, [{ ...past, personMs: 4 * MINUTE }]);
    t.strictSame(await calls.history("demo", room, { after: history[0]!.number, limit: 9 }), []);
    t.strictSame(await calls.history("demo", ABSENT, { limit: 9 }), []);
    await calls.prune("demo", T0);
    t.equal((await calls.history("demo", room, { limit: 9 })).length, 1);
    t.equal(await calls.prune("demo", T0 + HOUR), true);
    t.strictSame(await calls.history("demo", room, { limit: 9 }), []);
  });

  await contract("events may be doubled, late and in any order", async (t, store) => {
    const { calls, room, ada, issue, visit, state, at } = await conference(store);
    const one = visit(ada, "1", "s1");
    const two = visit(ada, "1", "s2");
    const events = {
      joined: () => calls.joined("demo", room, one, at(T0)),
      left: () => calls.left("demo", room, one, at(T0 + 2000)),
      published: () =>
        calls.published("demo", room, one, { source: "camera", on: true, ...at(T0 + 1000) }),
      again: () => calls.joined("demo", room, two, at(T0 + 3000)),
      leftAgain: () => calls.left("demo", room, two, at(T0 + 4000)),
    };
    const orders = <T>(list: T[]): T[][] =>
      list.length < 2
        ? [list]
        : list.flatMap((first, i) => orders(list.toSpliced(i, 1)).map((rest) => [first, ...rest]));
    const names = Object.keys(events) as (keyof typeof events)[];
    let n = 0;
    for (const [order, present] of [
      ...orders(names.filter((it) => !it.endsWith("gain"))).map((it) => [it, false] as const),
      ...orders(names.filter((it) => it !== "leftAgain")).map((it) => [it, true] as const),
      ...orders(names).map((it) => [it, false] as const),
    ]) {
      const identity = `${ada}:${++n}`;
      one.identity = identity;
      two.identity = identity;
      await issue(ada, String(n));
      for (const name of [...order, ...order]) await events[name]();
      t.strictSame(await state(), present ? [1, [identity]] : [0, []], order.join());
      const { devices } = await calls.get("demo", room);
      t.notOk(devices.some(({ camera }) => camera));
      if (present) await calls.left("demo", room, two, at(T0));
    }
  });

  await contract("what a device publishes", async (t, store) => {
    const { calls, room, ada, bob, issue, visit, join, at, entries } = await conference(store);
    await issue(ada);
    await join(ada);
    await entries();
    const publish = (source: "microphone" | "screen", on: boolean, now: number, session = "s1") =>
      calls.published("demo", room, visit(ada, "1", session), { source, on, ...at(now) });
    const published = async () => {
      const [device] = (await calls.get("demo", room)).devices;
      return (["microphone", "camera", "screen"] as const).filter((source) => device![source]);
    };
    await publish("microphone", true, T0 + 1000);
    await publish("microphone", true, T0 + 1000);
    t.strictSame(await entries(), [["call.published", ada]]);
    await publish("screen", true, T0 + 3000);
    t.strictSame(await published(), ["microphone", "screen"]);
    await publish("screen", false, T0 + 2000);
    t.strictSame(await published(), ["microphone", "screen"], "an earlier event is late");
    await publish("screen", false, T0 + 4000);
    t.strictSame(await published(), ["microphone"]);
    await join(ada, T0 + 5000, "1", "s2");
    t.strictSame(await published(), [], "another visit begins silent");
    t.strictSame(await publish("screen", true, T0 + 6000), { isKnown: true });
    t.strictSame(await published(), [], "nobody hears the one before");
    await entries();

    await issue(bob);
    const first = { source: "camera", on: true, ...at(T0) } as const;
    await calls.published("demo", room, visit(bob), first);
    t.strictSame(
      await entries(),
      [
        ["call.joined", bob],
        ["call.published", bob],
      ],
      "who publishes is there",
    );
  });

  await contract("strangers are not let in", async (t, store, open) => {
    await store.worlds.create(worldOf("other"));
    const { calls, room, ada, issue, visit, at, state } = await conference(store);
    const there = (await store.rooms.create("other", { name: "Stage" })).value.id;
    await issue(ada);
    const unknown = { isKnown: false };
    const events = ["joined", "left"] as const;
    for (const [world, channel, identity] of [
      ["other", there, `${ada}:1`],
      ["other", room, `${ada}:1`],
      ["demo", there, `${ada}:1`],
      ["demo", room, `${ada}:2`],
      ["demo", room, ""],
      ["demo", ABSENT, `${ada}:1`],
      ["none", room, `${ada}:1`],
    ] as const) {
      for (const event of events) {
        t.strictSame(
          await calls[event](world, channel, { identity, session: "s" }, at(T0)),
          unknown,
        );
      }
      const change = { source: "screen", on: true, ...at(T0) } as const;
      const visit = { identity, session: "s" };
      t.strictSame(await calls.published(world, channel, visit, change), unknown);
      const device = { ...visit, joined: T0, sources: [] };
      const times = { asked: T0 + MINUTE, now: T0 + MINUTE };
      const found = await calls.reconciled(world, channel, [device], times);
      t.strictSame(found, { unknown: [identity] });
    }
    t.strictSame(await state(), [0, []]);

    const device = { identity: "x", user: ada, hidden: false, access: { traits: [] }, ends: T0 };
    const now = { now: T0 };
    await fails(t, calls.issued("demo", ABSENT, device, now), "absent", "room");
    await fails(t, calls.issued("other", room, device, now), "absent", "room");
    await fails(t, calls.issued("other", there, device, now), "absent", "user");
    await store.users.moderate("demo", ada, "banned");
    await allFail(
      t,
      [
        calls.issued("demo", room, device, now),
        calls.stage("demo", room, ada, true, T0),
        calls.raise("demo", room, ada, T0),
      ],
      "denied",
    );
    await store.users.moderate("demo", ada, "");
    await store.users.moderate("demo", ada, "silenced");
    await calls.issued("demo", room, device, now);
    const { isKnown } = await (await open()).calls.joined("demo", room, visit(ada), at(T0));
    t.ok(isKnown, "silenced people may listen");
  });

  await contract("a limit counts people", async (t, store, open) => {
    const { ada, bob, cy, room, device, issue, join, leave } = await conference(store);
    const others = [store, await open(), await open()];
    const tried = await Promise.allSettled(
      [ada, bob, cy].map((user, i) =>
        others[i]!.calls.issued("demo", room, device(user, "race"), { now: T0, limit: 2 }),
      ),
    );
    t.equal(tried.filter(({ status }) => status === "fulfilled").length, 2, "of three at once");
    const [late] = [ada, bob, cy].filter((_, i) => tried[i]!.status === "rejected");
    const [one, two] = [ada, bob, cy].filter((_, i) => tried[i]!.status === "fulfilled");
    const limit = 2;
    await fails(t, issue(late!, "a", { limit }), "quota", "people");
    await issue(late!, "screen", { limit, hidden: true });
    await issue(one!, "second", { limit });
    await issue(late!, "b", { limit, now: T0 + 2 * MINUTE });
    t.ok(
      (await join(late!, T0 + 2 * MINUTE, "b")).isKnown,
      "an unused token holds no place for long",
    );
    await join(one!, T0 + 2 * MINUTE, "second");
    await fails(t, issue(two!, "c", { limit, now: T0 + 5 * MINUTE }), "quota", "people");
    await issue(one!, "third", { limit, now: T0 + 5 * MINUTE });
    await leave(late!, T0 + 5 * MINUTE, "b");
    await issue(two!, "c", { limit, now: T0 + 7 * MINUTE });
    await issue(late!, "d", { limit: 3, now: T0 + 7 * MINUTE });
  });

  await contract("a user has few unused tokens", async (t, store) => {
    const { calls, room, ada, bob, issue, join } = await conference(store);
    await issue(bob);
    await issue(ada, "used");
    await join(ada, T0, "used");
    for (let i = 0; i < 30; i++) await issue(ada, `${i}`, { now: T0 + i });
    const { devices } = await calls.get("demo", room);
    t.equal(devices.length, 22);
    t.equal((await join(ada, T0, "9")).isKnown, false);
    t.equal((await join(ada, T0, "10")).isKnown, true);
  });

  await contract("lost events are found by reconciliation", async (t, store) => {
    const { ada, bob, cy, room, calls, issue, join, leave, listed, reconcile, state, entries } =
      await conference(store);
    for (const user of [ada, bob, cy]) await issue(user);
    await join(ada);
    await join(bob);
    await entries();
    const later = T0 + MINUTE;
    // Ada's and Cy's events were lost.
    const there = [listed(bob), listed(cy, { sources: ["microphone"] })];
    const unknown = listed("stranger");
    t.strictSame(await reconcile([...there, unknown], later), { unknown: ["stranger:1"] });
    t.strictSame(await state(), [2, [`${bob}:1`, `${cy}:1`].sort()]);
    t.strictSame(await entries(), [
      ["call.left", ada],
      ["call.joined", cy],
      ["call.published", cy],
    ]);
    for (let i = 0; i < 3; i++) t.strictSame(await reconcile(there, later), { unknown: [] });
    t.strictSame(await entries(), [], "idempotent");
    await join(ada, later + 1000);
    t.strictSame(
      await state(),
      [2, [`${bob}:1`, `${cy}:1`].sort()],
      "the event of a visit that is over",
    );

    await leave(bob, later + 10_000);
    await reconcile(there, later + 11_000, later + 9000);
    t.strictSame((await state())[0], 1, "an answer from before the event brings nobody back");
    await issue(ada, "2", { now: later + 20_000 });
    await join(ada, later + 20_000, "2");
    await reconcile([listed(cy)], later + 21_000, later + 19_000);
    t.strictSame((await state())[0], 2, "nor does it remove who joined since");
    await reconcile(there, later + MINUTE);
    t.strictSame(
      await state(),
      [2, [`${bob}:1`, `${cy}:1`].sort()],
      "the engine is right in the end",
    );

    // Nobody checked for an hour.
    const before = (await calls.get("demo", room)).call!;
    const { ended } = await reconcile([], later + HOUR);
    t.equal(ended?.id, before.id);
    t.ok(ended!.personMs < 20 * MINUTE, "those who are gone do not count for all of it");
    t.strictSame(await calls.open(), [{ world: "demo", channel: room }], "as there are tokens");
    await reconcile([], later + 3 * HOUR);
    t.strictSame(await calls.open(), [], "which end");
    t.equal((await join(cy, later + 3 * HOUR)).isKnown, false);
  });

  await contract("counters stay in their bounds", async (t, store) => {
    const { ada, bob, issue, join, leave, listed, reconcile } = await conference(store);
    for (const user of [ada, bob]) await issue(user);
    await join(ada, T0);
    await join(bob, T0 - HOUR);
    const { ended: none } = await reconcile([listed(ada), listed(bob)], T0 + 30 * MINUTE);
    t.equal(none, undefined);
    await leave(ada, T0 - 2 * HOUR);
    const { ended } = await leave(bob, Number.MAX_SAFE_INTEGER - 1);
    t.equal(ended?.mostPeople, 2);
    t.ok(ended!.personMs >= HOUR && ended!.personMs < 2 * 24 * HOUR, "a clock that jumps");
  });

  await contract("a call that is ended", async (t, store) => {
    const { calls, room, ada, bob, issue, join, leave, entries, state } = await conference(store);
    await issue(ada);
    await join(ada);
    await calls.stage("demo", room, ada, true, T0);
    await calls.raise("demo", room, bob, T0);
    await entries();
    t.equal(await calls.end("demo", room, { now: T0, id: ABSENT }), undefined);
    t.strictSame(await entries(), []);
    const ended = await calls.end("demo", room, { now: T0 + MINUTE });
    t.match(ended, { channel: room, mostPeople: 1, personMs: MINUTE });
    t.strictSame(await entries(), [
      ["call.staged", ada, false],
      ["hand.lowered", bob],
      ["call.ended"],
    ]);
    const { entries: all } = await store.log.since("demo", 0, 1000);
    t.match(all.at(-1), { type: "call.ended", users: [ada] });
    t.strictSame(await state(), [0, []]);
    await leave(ada, T0 + MINUTE);
    await join(ada, T0);
    t.strictSame(await state(), [0, []], "late events");
    t.equal(await calls.end("demo", room, { now: T0 }), undefined);
    t.strictSame(await entries(), []);
    await join(ada, T0 + 2 * MINUTE, "1", "s2");
    t.strictSame((await state())[0], 1, "they may come back");
  });

  await contract("the stage and hands", async (t, store, open) => {
    const { calls, room, ada, bob, cy, issue, join, leave, reconcile, entries } =
      await conference(store);
    const other = (await open()).calls;
    t.equal(await calls.raise("demo", room, bob, T0 + 1), true);
    t.equal(await other.raise("demo", room, bob, T0 + 2), false);
    t.equal(await calls.raise("demo", room, ada, T0), true);
    const { hands } = await other.get("demo", room);
    t.strictSame(hands, [
      { user: ada, raised: T0 },
      { user: bob, raised: T0 + 1 },
    ]);
    t.equal(await calls.lower("demo", room, ada), true);
    t.equal(await other.lower("demo", room, ada), false);
    const none = { isHeld: false, isOnStage: false };
    t.strictSame(await calls.standing("demo", room, bob), none);
    t.equal(await calls.stage("demo", room, bob, true, T0), true);
    t.strictSame(await calls.standing("demo", room, bob), { ...none, isOnStage: true });
    t.strictSame(await calls.standing("demo", room, ada), none);
    t.equal(await other.stage("demo", room, bob, true, T0), false);
    t.strictSame(await entries(), [
      ["hand.raised", bob],
      ["hand.raised", ada],
      ["hand.lowered", ada],
      ["hand.lowered", bob],
      ["call.staged", bob, true],
    ]);
    t.match(await other.get("demo", room), { stage: [bob], hands: [] });
    t.equal(await other.stage("demo", room, bob, false, T0), true);
    t.equal(await calls.stage("demo", room, bob, false, T0), false);
    t.strictSame(await entries(), [["call.staged", bob, false]]);
    await fails(t, calls.raise("demo", ABSENT, ada, T0), "absent", "room");
    await fails(t, calls.raise("demo", room, ABSENT, T0), "absent", "user");
    await fails(t, calls.stage("demo", ABSENT, ada, true, T0), "absent", "room");
    await fails(t, calls.stage("demo", room, ABSENT, true, T0), "absent", "user");
    t.equal(await calls.lower("demo", ABSENT, ABSENT), false);

    // A call that ends by itself.
    await issue(ada, "1", { ends: T0 + HOUR });
    await join(ada);
    await calls.stage("demo", room, ada, true, T0);
    await calls.raise("demo", room, bob, T0);
    await leave(ada, T0 + MINUTE);
    await calls.raise("demo", room, cy, T0 + 2 * MINUTE);
    await reconcile([], T0 + 9 * MINUTE);
    t.match(await calls.get("demo", room), { stage: [ada] }, "people may come back");
    await entries();
    await reconcile([], T0 + 12 * MINUTE);
    t.match(await calls.get("demo", room), { stage: [], hands: [{ user: cy }] });
    t.strictSame(await entries(), [
      ["call.staged", ada, false],
      ["hand.lowered", bob],
    ]);
    t.strictSame(await calls.open(), [{ world: "demo", channel: room }]);
  });

  await contract("a person who is erased while in a call", async (t, store) => {
    const { calls, room, ada, bob, issue, join, leave, entries, state } = await conference(store);
    await issue(ada);
    await issue(bob, "1", { now: T0 + 1 });
    await join(ada);
    await join(bob);
    await calls.stage("demo", room, ada, true, T0);
    await calls.raise("demo", room, ada, T0);
    await entries();
    await store.users.erase("demo", { user_id: ada });
    t.strictSame(await entries(), [
      ["user.erased", ada],
      ["call.staged", ada, false],
      ["hand.lowered", ada],
    ]);
    const { devices, stage, hands } = await calls.get("demo", room);
    t.strictSame([stage, hands], [[], []]);
    t.strictSame(devices[0]!.access, { traits: [] }, "nothing but the id is kept");
    t.strictSame(
      await state(),
      [2, [`${ada}:1`, `${bob}:1`].sort()],
      "until the engine removes it",
    );
    await fails(t, issue(ada, "2"), "absent", "user");
    await leave(ada, T0 + MINUTE);
    t.strictSame(await state(), [1, [`${bob}:1`]]);
  });

  await contract("a deleted room has no call", async (t, store) => {
    const { calls, room, ada, bob, issue, join, listed, reconcile } = await conference(store);
    await issue(ada);
    await join(ada);
    await join(ada, T0, "2");
    await calls.stage("demo", room, ada, true, T0);
    await calls.raise("demo", room, bob, T0);
    await store.rooms.delete("demo", room);
    const nothing = { call: undefined, devices: [], stage: [], hands: [] };
    t.strictSame(await calls.get("demo", room), nothing);
    t.strictSame(await calls.open(), []);
    t.strictSame(await join(ada, T0 + 1000, "1", "s2"), { isKnown: false });
    t.strictSame(await reconcile([listed(ada)], T0 + MINUTE), { unknown: [`${ada}:1`] });
    t.strictSame(await calls.get("demo", room), nothing);
    t.equal(await calls.end("demo", room, { now: T0 }), undefined);
  });

  await contract("a deleted world has no call", async (t, store) => {
    const { calls, ada, issue, join, listed, reconcile } = await conference(store);
    await issue(ada);
    await join(ada);
    await store.worlds.delete("demo");
    t.strictSame(await calls.open(), []);
    t.strictSame(await reconcile([listed(ada)], T0), { unknown: [`${ada}:1`] });
  });

  await contract("direct calls ring, and leave nothing behind", async (t, store) => {
    const { ada, bob } = await chatting(store);
    const { calls } = store;
    const { channel } = await store.chat.direct("demo", ada, [ada, bob], false);
    const { id } = channel;
    const device = (user: string): IssuedDevice => ({
      identity: `${user}:1`,
      user,
      hidden: false,
      access: { traits: [] },
      ends: T0 + HOUR,
    });
    const at = { at: T0, now: T0 };
    const visit = (user: string) => ({ identity: `${user}:1`, session: "s" });
    const now = { now: T0 };
    await fails(t, calls.issued("demo", id, device(ada), now), "absent", "room");
    const call = { caller: ada, event: 7, now: T0 };
    await fails(t, calls.ring("demo", ABSENT, call), "absent", "room");
    await fails(t, calls.ring("demo", id, { ...call, caller: ABSENT }), "absent", "user");
    const rung = await calls.ring("demo", id, call);
    t.match(rung, { isNew: true, call: { people: 0, caller: ada, event: 7, started: T0 } });
    const again = await calls.ring("demo", id, { ...call, caller: bob });
    t.strictSame(again, { ...rung, isNew: false });
    await calls.reconciled("demo", id, [], { asked: T0 + MINUTE, now: T0 + MINUTE });
    t.ok((await calls.get("demo", id)).call, "it rings on");
    for (const user of [ada, bob]) {
      await calls.issued("demo", id, device(user), now);
      t.ok((await calls.joined("demo", id, visit(user), at)).isKnown);
    }
    t.equal(await calls.decline("demo", id, ABSENT, bob), false);
    t.equal(await calls.decline("demo", id, rung.call.id, bob), true);
    await calls.left("demo", id, visit(ada), at);
    const { ended } = await calls.left("demo", id, visit(bob), { at: T0, now: T0 + 2 * MINUTE });
    t.match(ended, { id: rung.call.id, mostPeople: 2, caller: ada, event: 7, started: T0 });
    t.strictSame(await calls.history("demo", id, { limit: 9 }), []);
    const late = { identity: `${bob}:1`, session: "s2" };
    t.strictSame(await calls.joined("demo", id, late, at), { isKnown: false }, "it is over");
    const devices = [{ ...late, joined: T0, sources: [] }];
    const times = { asked: T0 + HOUR, now: T0 + HOUR };
    t.strictSame(await calls.reconciled("demo", id, devices, times), { unknown: [`${bob}:1`] });
    t.strictSame(await calls.open(), []);
    const { call: missed } = await calls.ring("demo", id, call);
    t.match(await calls.end("demo", id, { now: T0 + MINUTE, id: missed.id }), { mostPeople: 0 });
  });
}
