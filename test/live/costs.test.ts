import { once } from "node:events";
import t from "tap";
import type { Program } from "../../db/contract/program.js";
import {
  codesOf,
  demo,
  type LiveServer,
  makeRoom,
  soon,
  startLive,
} from "./client.js";

// What one user asks for again and again, and what it costs everybody else.

const large = { display_name: "Big", text: "x".repeat(16_000) };

void t.test("entering again and again", async (t) => {
  const live = await startLive(t);
  const room = await makeRoom(live);
  const admin = await live.admin();
  await admin.do("room.enter", { room });
  const guest = await live.guest();
  await guest.do("user.update", { profile: large });
  const told = async () => {
    await live.settled();
    const names = await admin.names();
    return names.filter((name) => name === "room.viewer.added").length;
  };

  const started = performance.now();
  // Beside those that are sent at once, about two a second are.
  const bound = () => 20 + (2 * (performance.now() - started)) / 1000;
  const enter: [string, object] = ["room.enter", { room }];
  const same = await codesOf(guest, Array(200).fill(enter));
  t.same([...new Set(same)], ["ok"], "who is there may enter again");
  let most = await told();
  t.ok(most >= 1 && most <= bound(), `${most} pushes for 200 entries`);

  const other = await live.guest();
  await other.do("user.update", { profile: large });
  const leave: [string, object] = ["room.leave", { room }];
  const codes = await codesOf(other, Array(100).fill([enter, leave]).flat());
  t.ok(codes.includes("protocol.rate_limited"), "in and out is limited");
  most = await told();
  t.ok(most >= 1 && most <= bound(), `${most} pushes for 100 in and out`);

  const second = await live.guest("second");
  await second.do("room.enter", { room });
  t.equal(await told(), 1, "other users are still in the push");
  const browser = await live.guest("second");
  await browser.do("room.enter", { room });
  t.equal(await told(), 1, "and so is their second browser");
});

/** Creates users with the largest profiles. @returns their ids. */
async function largeUsers(live: LiveServer, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    const visitor = { tokenId: `large-${i}`, traits: new Set<string>() };
    const profile = { ...large, display_name: `Big ${i}` };
    const { id } = await live.app.store.users.enter("demo", {
      ...visitor,
      profile,
    });
    ids.push(id);
  }
  return ids;
}

void t.test("answers about users with large profiles", async (t) => {
  const config = { user_list: { page_size: 1000 } };
  const limits = { commandsPerSecond: 1000 };
  const live = await startLive(t, limits, [demo({ config })]);
  const ids = await largeUsers(live, 600);
  const MiB = 1024 * 1024;
  const sizeOf = (answer: unknown) => JSON.stringify(answer).length;
  const [guest, admin] = [await live.guest(), await live.admin()];

  const blocks = ids
    .slice(0, 80)
    .map((id): [string, object] => ["user.block", { id }]);
  await codesOf(guest, blocks);
  const { users } = await guest.do("user.list.blocked");
  t.ok(users.length > 50 && sizeOf(users) < 1.1 * MiB, "blocked users");

  t.equal(await admin.code("user.list"), "server.too_large");
  t.equal(
    await guest.code("user.list.search", { search_term: "big", page: 1 }),
    "server.too_large",
  );

  const room = await makeRoom(live);
  const { presence } = live.app.live;
  for (const [i, user] of ids.slice(0, 100).entries()) {
    const connection = `connection-${i}`;
    presence.note("demo", { do: "open", connection, user, at: i });
    presence.note("demo", { do: "enter", connection, room });
  }
  const { viewers } = await admin.do("room.enter", { room });
  t.ok(viewers.length > 50 && sizeOf(viewers) < 1.1 * MiB, "viewers");
  t.equal(viewers.at(-1).id, admin.id, "self included, who came last");
});

void t.test("a user blocks a thousand others at most", async (t) => {
  const live = await startLive(t);
  const guest = await live.guest();
  const { users } = live.app.store;
  const enter = async (tokenId: string) => {
    const entered = await users.enter("demo", { tokenId, traits: new Set() });
    return entered.id;
  };
  const ids = await Promise.all(
    Array.from({ length: 1001 }, (_, i) => enter(`u${i}`)),
  );
  const [last, ...others] = ids as [string, ...string[]];
  await Promise.all(others.map((id) => users.block("demo", guest.id, id)));
  const block = (id: string | undefined) => guest.code("user.block", { id });
  t.equal(await block(last), "user.block.limit");
  t.equal(await block(others[0]), "ok", "who is blocked already");
  await guest.do("user.unblock", { id: others[0] });
  t.equal(await block(last), "ok");
});

void t.test("searches of a user", async (t) => {
  const live = await startLive(t);
  const { users } = live.app.store;
  const search = users.search.bind(users);
  t.teardown(() => Object.assign(users, { search }));
  const signals: AbortSignal[] = [];
  const waiting: (() => void)[] = [];
  let begun = () => {};
  users.search = async (world, selection, signal) => {
    signals.push(signal!);
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      begun();
    });
    return search(world, selection, signal);
  };
  const beginning = () => new Promise<void>((resolve) => (begun = resolve));

  const [one, two] = [await live.guest("a"), await live.guest("a")];
  const other = await live.guest("b");
  const payload = { search_term: "", page: 1 };
  let searching = beginning();
  one.sendFrame("user.list.search", 1, payload);
  await searching;
  t.equal(
    await two.code("user.list.search", payload),
    "protocol.rate_limited",
    "one at a time, over all connections",
  );
  searching = beginning();
  other.sendFrame("user.list.search", 2, payload);
  await searching;
  t.equal(waiting.length, 2, "others are not held up");

  one.close();
  await soon(one.closed);
  const ended = once(signals[0]!, "abort") as Promise<unknown>;
  if (!signals[0]!.aborted) await soon(ended);
  searching = beginning();
  two.sendFrame("user.list.search", 3, payload);
  await searching;
  t.notOk(signals[1]!.aborted);
  for (const go of waiting) go();
  t.match(await two.answered(3), ["success", 3, {}]);
  t.match(await other.answered(2), ["success", 2, {}]);
});

void t.test("a crowd that opens the program costs one encoding", async (t) => {
  const live = await startLive(t);
  const titles = ["One", "Two", "Three"];
  for (const title of titles) {
    await live.rest("POST", "demo/sessions/", { title });
  }
  const { program } = live.app.store;
  const get = program.get.bind(program);
  let encoded = 0;
  const counting = new Map<Program, Program>();
  program.get = async (world) => {
    const found = await get(world);
    const counted = counting.get(found) ?? {
      ...found,
      sessions: found.sessions.map((session) => ({
        ...session,
        get json() {
          encoded++;
          return session.json;
        },
      })),
    };
    counting.set(found, counted);
    return counted;
  };
  const crowd = await Promise.all(
    Array.from({ length: 30 }, () => live.guest()),
  );
  const seen = await Promise.all(
    crowd.map(async (guest) => (await guest.do("program.get", {})).sessions),
  );
  t.ok(seen.every((sessions) => sessions.length === titles.length));
  t.equal(encoded, titles.length);
  const admin = await live.admin();
  await admin.do("program.get", {});
  t.equal(encoded, 2 * titles.length, "once more for people who see more");
});
