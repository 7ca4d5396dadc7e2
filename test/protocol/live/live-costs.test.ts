import { once } from "node:events";
import t from "tap";
import type { Program } from "../../../db/contract/program-store.js";
import type { Bearer } from "../../../live/rules/rights.js";
import type { View } from "../../../live/rules/world-state.js";
import { until } from "../../support/helper.js";
import {
  chatRoom,
  type Client,
  codesOf,
  history,
  type Json,
  limited,
  member,
  openWorld,
  type OpenWorld,
  say,
  soon,
  text,
} from "../../support/open-world.js";
import { startServer } from "../../support/server.js";

// Costs that must not grow with the number of listeners, and bounds on what one user can cause for
// everyone.

const server = await startServer(t);

/** Store calls made by timers, not by user actions. */
const TIMED = ["heads"];

/** Counts the store calls made during some work. */
async function callsOf({ store }: OpenWorld, work: () => Promise<unknown>): Promise<number> {
  let calls = 0;
  const restore: (() => void)[] = [];
  for (const part of Object.values(store) as Record<string, unknown>[]) {
    if (typeof part !== "object" || part === null) continue;
    for (const [name, method] of Object.entries(part)) {
      if (typeof method !== "function" || TIMED.includes(name)) continue;
      part[name] = (...args: unknown[]): unknown => {
        calls += 1;
        return (method as (...args: unknown[]) => unknown).apply(part, args);
      };
      restore.push(() => (part[name] = method));
    }
  }
  if (restore.length === 0) throw new Error("nothing to count");
  await work().finally(() => restore.forEach((undo) => undo()));
  return calls;
}

/**
 * Counts how often JSON that contains a given text is encoded, and how often the server parses or
 * freezes it, during some work.
 */
async function workOn(mark: string, work: () => Promise<unknown>) {
  const { parse, stringify } = JSON;
  const { freeze } = Object;
  const count = { encoded: 0, taken: 0 };
  JSON.parse = ((text: string, ...rest: []) => {
    // The test's own client parses frames.
    if (!text.startsWith('["') && text.includes(mark)) count.taken += 1;
    return parse(text, ...rest) as unknown;
  }) as typeof parse;
  JSON.stringify = ((...args: Parameters<typeof stringify>) => {
    const json = stringify(...args);
    if (json?.includes(mark)) count.encoded += 1;
    return json;
  }) as typeof stringify;
  Object.freeze = (value: object) => {
    if (Object.hasOwn(value, mark)) count.taken += 1;
    return freeze(value);
  };
  try {
    await work();
  } finally {
    Object.assign(JSON, { parse, stringify });
    Object.freeze = freeze;
  }
  return count;
}

void t.test("costs", async (t) => {
  const world = await openWorld(server);
  const { chat, rooms } = world.store;

  /** Subscribes a number of guests. */
  const audience = async (channel: string, size: number) => {
    const guests = await Promise.all(Array.from({ length: size }, () => world.guest()));
    for (const guest of guests) await guest.do("chat.subscribe", { channel });
    return guests;
  };
  /** Checks that the cost for many is about the same as for few. */
  const isFlat = async (
    few: number,
    many: number,
    more: number,
    cost: (size: number) => Promise<number>,
  ) => {
    const [least, most] = [await cost(few), await cost(many)];
    t.ok(most > 0 && most <= least + more, `${most}, not ${least}`);
  };

  await t.test("a message to N: one encoding, no query per N", async () => {
    const mark = "x-marks-the-spot";
    const sent = (count: (ann: Client, work: () => Promise<unknown>) => Promise<number>) =>
      isFlat(2, 25, 3, async (size) => {
        const channel = await chatRoom(world, { volatile: true });
        const ann = await member(world, `ann ${size}`, channel);
        const guests = await audience(channel, size);
        return count(ann, async () => {
          await say(ann, channel, mark);
          for (const guest of guests) await guest.next("chat.event");
        });
      });
    await sent((_, work) => callsOf(world, work));
    await sent(async (_, work) => (await workOn(mark, work)).encoded);
  });

  await t.test("mark_read by N: written in lots", async (t) => {
    const channel = await chatRoom(world);
    const ann = await member(world, "ann", channel);
    const guests = await audience(channel, 40);
    const { event_id: id } = await say(ann, channel, "x");
    await world.settled(channel);
    const mark = chat.mark.bind(chat);
    let writes = 0;
    chat.mark = (marks) => {
      writes += 1;
      return mark(marks);
    };
    for (let round = 0; round < 5; round++) {
      await Promise.all(guests.map((guest) => guest.do("chat.mark_read", { channel, id })));
    }
    for (let round = 0; round < 5; round++) {
      t.same(await guests[0]!.next("chat.notification_counts"), {});
    }
    for (const { ws } of guests) ws.terminate();
    await until(() => world.live.chat.readStates.pending === 0);
    chat.mark = mark;
    t.ok(writes > 0 && writes <= 40, `${writes} writes of 200 marks`);
  });

  await t.test("a page: no query per event or sender", (t) =>
    isFlat(2, 20, 2, async (size) => {
      const channel = await chatRoom(world, { volatile: true });
      for (let i = 0; i < size; i++) {
        const client = await member(world, `s ${i}`, channel);
        const { event_id: event } = await say(client, channel, "x");
        await client.do("chat.react", { channel, event, reaction: "👍" });
        await client.do("chat.unsubscribe", { channel });
      }
      const guest = await world.guest();
      return callsOf(world, async () => t.equal((await history(guest, channel)).length, size));
    }),
  );

  await t.test("a page, however large: one read for a crowd", async (t) => {
    const channel = await chatRoom(world);
    const ann = await member(world, "ann", channel);
    const content = { ...text("x"), client: "x".repeat(60_000) };
    for (let i = 0; i < 20; i++) {
      await chat.send(world.id, channel, { sender: ann.id, content });
    }
    const guests = await audience(channel, 5);
    const [events, get] = [chat.events.bind(chat), rooms.get.bind(rooms)];
    let [reads, asked] = [0, 0];
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
    const sizes = guests.map(async (guest) => (await history(guest, channel)).length);
    await until(() => asked === guests.length && reads > 0);
    go();
    t.strictSame(await Promise.all(sizes), Array(5).fill(21));
    t.equal(reads, 1);
    Object.assign(chat, { events });
    Object.assign(rooms, { get });
    await history(guests[0]!, channel);
    const { encoded } = await workOn("x".repeat(100), () => history(guests[1]!, channel));
    t.equal(encoded, 0, "nor is it encoded for each");
  });

  await t.test("people told of a message: no query for each", () =>
    isFlat(2, 20, 3, async (size) => {
      const channel = await chatRoom(world);
      const ann = await member(world, "ann", channel);
      const members: Client[] = [];
      for (let i = 0; i < size; i++) members.push(await member(world, `m ${size} ${i}`, channel));
      await world.calm(channel, ...members);
      return callsOf(world, async () => {
        await say(ann, channel, "x");
        for (const one of members) await one.next("chat.unread_pointers");
      });
    }),
  );
});

const large = { display_name: "Big", text: "x".repeat(16_000) };

void t.test("entering again and again", async (t) => {
  // The default limits.
  const limits = { commandsPerSecond: 50, messagesPerSecond: 5 };
  const world = await openWorld(await startServer(t, { limits }));
  const room = await world.room();
  const admin = await world.admin();
  await admin.do("room.enter", { room });
  const pushed = async () => {
    await world.settled();
    return (await admin.names()).filter((name) => name === "room.viewer.added").length;
  };
  const started = performance.now();
  // About two pushes per second, in addition to those sent immediately.
  const isFew = async (what: string) => {
    const most = 20 + (2 * (performance.now() - started)) / 1000;
    const count = await pushed();
    t.ok(count >= 1 && count <= most, `${count} pushes for ${what}`);
  };
  const enter: [string, object] = ["room.enter", { room }];
  const leave: [string, object] = ["room.leave", { room }];
  const [guest, other] = [await world.guest(), await world.guest()];
  for (const client of [guest, other]) await client.do("user.update", { profile: large });
  const same = await codesOf(guest, Array(200).fill(enter));
  t.same([...new Set(same)], ["ok"], "who is there may enter again");
  await isFew("200 entries");
  const codes = await codesOf(other, Array(100).fill([enter, leave]).flat());
  t.ok(codes.includes(limited), "in and out is limited");
  await isFew("100 in and out");
  for (const user of ["other users are", "and so is their second browser"]) {
    await (await world.guest("second")).do("room.enter", { room });
    t.equal(await pushed(), 1, `${user} still in the push`);
  }
});

void t.test("answers about users with large profiles", async (t) => {
  const world = await openWorld(server, { config: { user_list: { page_size: 1000 } } });
  const ids = await world.users(600, "Big", large);
  const isBounded = (list: Json[], name: string) => {
    const size = JSON.stringify(list).length;
    t.ok(list.length > 50 && size < 1.1 * 2 ** 20, `${name}: ${list.length} in ${size} bytes`);
  };
  const [guest, admin] = [await world.guest(), await world.admin()];
  await codesOf(
    guest,
    ids.slice(0, 80).map((id) => ["user.block", { id }]),
  );
  isBounded((await guest.do("user.list.blocked")).users, "blocked users");
  t.equal(await admin.code("user.list"), "server.too_large");
  const search = { search_term: "big", page: 1 };
  t.equal(await guest.code("user.list.search", search), "server.too_large");
  const room = await world.room();
  for (const [i, user] of ids.slice(0, 100).entries()) {
    const connection = `connection-${i}`;
    world.live.presence.note(world.id, { do: "open", connection, user, at: i });
    world.live.presence.note(world.id, { do: "enter", connection, room });
  }
  const { viewers } = await admin.do("room.enter", { room });
  isBounded(viewers, "viewers");
  t.equal(viewers.at(-1).id, admin.id, "self included, who came last");
});

void t.test("a user blocks a thousand others at most", async (t) => {
  const world = await openWorld(server);
  const guest = await world.guest();
  const [last, ...others] = (await world.users(1001)) as [string, ...string[]];
  await Promise.all(others.map((id) => world.store.users.block(world.id, guest.id, id)));
  const block = (id: string | undefined) => guest.code("user.block", { id });
  t.equal(await block(last), "user.block.limit");
  t.equal(await block(others[0]), "ok", "who is blocked already");
  await guest.do("user.unblock", { id: others[0] });
  t.equal(await block(last), "ok");
});

void t.test("searches of a user", async (t) => {
  const world = await openWorld(server);
  const { users } = world.store;
  const search = users.search.bind(users);
  t.teardown(() => Object.assign(users, { search }));
  const signals: AbortSignal[] = [];
  const waiting: (() => void)[] = [];
  users.search = async (world, selection, signal) => {
    signals.push(signal!);
    await new Promise<void>((resolve) => waiting.push(resolve));
    return search(world, selection, signal);
  };
  const [one, two, other] = [await world.guest("a"), await world.guest("a"), await world.guest()];
  const payload = { search_term: "", page: 1 };
  /** Starts a search, and waits until it has reached the store. */
  const begin = async (client: Client) => {
    const before = waiting.length;
    client.sendFrame("user.list.search", 1, payload);
    await until(() => waiting.length > before);
  };
  await begin(one);
  const code = await two.code("user.list.search", payload);
  t.equal(code, limited, "one at a time, over all connections");
  await begin(other);
  t.equal(waiting.length, 2, "others are not held up");
  one.close();
  await soon(one.closed);
  if (!signals[0]!.aborted) await soon(once(signals[0]!, "abort") as Promise<unknown>);
  await begin(two);
  t.notOk(signals[1]!.aborted);
  for (const go of waiting) go();
  for (const client of [two, other]) t.match(await client.answered(1), ["success", 1, {}]);
});

void t.test("a crowd that opens the program costs one encoding", async (t) => {
  const world = await openWorld(server);
  const titles = ["One", "Two", "Three"];
  for (const title of titles) await world.rest("POST", "sessions/", { title });
  const { program } = world.store;
  const get = program.get.bind(program);
  t.teardown(() => Object.assign(program, { get }));
  let encoded = 0;
  const counting = new Map<Program, Program>();
  program.get = async (id) => {
    const found = await get(id);
    const counted = counting.get(found) ?? {
      ...found,
      sessions: found.sessions.map((session) => ({
        value: session.value,
        version: session.version,
        get json() {
          encoded++;
          return session.json;
        },
      })),
    };
    counting.set(found, counted);
    return counted;
  };
  const crowd = await Promise.all(Array.from({ length: 30 }, () => world.guest()));
  for (const guest of crowd) {
    t.equal((await guest.do("program.get", {})).sessions.length, titles.length);
  }
  t.equal(encoded, titles.length);
  await (await world.admin()).do("program.get", {});
  t.equal(encoded, 2 * titles.length, "once more for people who see more");
});

const stateOf = async (world: OpenWorld) => (await world.live.states.get(world.id))!;

void t.test("a world without connections", async (t) => {
  const world = await openWorld(server);
  const { states } = world.live;
  const [one, two] = [await world.guest(), await world.guest()];
  one.close();
  await soon(one.closed);
  await two.all();
  t.ok(states.present(world.id), "a connection is still there");
  two.close();
  await until(() => !states.present(world.id));
  t.ok(await states.get(world.id));
  t.notOk(states.present(world.id), "it is forgotten, and stays so after reads");
});

void t.test("only people with the same rights share what is sent", async (t) => {
  const world = await openWorld(server);
  const room = await world.room({ permission_config: { "room.view": [["crew", "lead"]] } });
  const state = await stateOf(world);
  const of = (traits: string[], more: Partial<Bearer> = {}) =>
    state.view({ traits: new Set(traits), state: "", ...more });
  const groups: View[][] = [
    // Traits that no rule of the world names make no difference.
    [of([]), of(["nobody-asks"]), of(["crew lead"]), of(["crew\nlead"])],
    [of(["crew"]), of(["crew", "nobody-asks"])],
    [of(["lead"])],
    [of(["crew", "lead"]), of(["lead", "crew"])],
    [of([], { state: "silenced" })],
    [of(["crew"], { state: "silenced" })],
    [of([], { scope: { kind: "anonymous", room, token: "a" } })],
    [of([], { scope: { kind: "anonymous", room: "another", token: "a" } })],
    [of([], { scope: { kind: "kiosk", room } })],
  ];
  const views = groups.flatMap((views) => [...new Set(views)]);
  t.equal(views.length, groups.length, "one for all of a group");
  t.equal(new Set(views).size, groups.length, "and none for two groups");
});

void t.test("what all see of a world is made once, and framed for each", async (t) => {
  // Frames from the shortest to the longest length encoding (RFC 6455, section 5.2).
  for (const [size, rooms] of [
    [10, 1],
    [20_000, 2],
    [20_000, 20],
  ] as const) {
    const world = await openWorld(server);
    const description = "ü".repeat(size) + "🌍";
    for (let i = 0; i < rooms; i++) await world.room({ description });
    const people = await Promise.all([world.guest(), world.guest(), world.guest()]);
    const view = (await stateOf(world)).view({ traits: new Set(), state: "" });
    const shared = () => view.json(world.live.crowds.in(world.id, "words"));
    t.equal(shared(), shared(), "one buffer for all");
    for (const { hello } of people) {
      t.same(hello["world.config"], JSON.parse(shared().toString()));
      t.same(hello.announcements, [], "what follows it is whole");
    }
  }
});
