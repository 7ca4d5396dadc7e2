import { setTimeout as delay } from "node:timers/promises";
import t, { type Test } from "tap";
import { Seats } from "../../conformance/seats.js";
import type { Client } from "../live/client.js";
import { embedded } from "../shared.js";
import { openFaultyHouse } from "./faulty-house.js";
import { Faults, type Kind, kinds } from "./faulty-store.js";
import type { House } from "./house.js";
import { StoreStage } from "./store-stage.js";

// Each call of the store that no command waits for fails once: at logins, by timers, and in
// periodic reads of a process.

/** How often it is looked whether something has become so. */
const TRIES = 2000;

/** More calls than a login makes. */
const MOST = 40;

let worlds = 0;

/** A world with its people, before any of them connects. */
async function furnished({ servers }: House): Promise<StoreStage> {
  const { store } = servers[0].app;
  const stage = new StoreStage(store, `chore-${++worlds}`, "member");
  await stage.furnish();
  await stage.join("me");
  return stage;
}

/** Does something for each way in which a call may fail, at the same time on servers of their own. */
async function forEachKind(
  t: Test,
  act: (t: Test, kind: Kind, house: House, faults: Faults) => Promise<void>,
): Promise<void> {
  t.jobs = kinds.length;
  await Promise.all(
    kinds.map((kind) =>
      t.test(kind, { buffered: true }, async (t) => {
        const faults = new Faults();
        await act(t, kind, await openFaultyHouse(t, faults), faults);
      }),
    ),
  );
}

/** Waits until something is so. */
async function soon(
  condition: () => boolean | Promise<boolean>,
): Promise<void> {
  for (let i = 0; !(await condition()); i++) {
    if (i === TRIES)
      throw new Error(`It does not become so: ${String(condition)}`);
    await delay(10);
  }
}

const nobody = (audience: string, fault: string): void => {
  throw new Error(`${audience}: ${fault}`);
};

const options = embedded("wraps SQLite");

void t.test("a mark that cannot be written is written later", options, (t) =>
  forEachKind(t, async (t, kind, house, faults) => {
    const stage = await furnished(house);
    const { store, world, room: channel, ids } = stage;
    const id = await stage.message("neighbor");
    const seats = new Seats(house, stage, true, nobody);
    const { client } = await seats.seat("me");
    faults.arm(world, 0, kind, "chat.mark");
    await client.do("chat.mark_read", { channel, id });
    await soon(() => faults.hasFailed(world));
    await soon(async () => {
      const { marks } = await store.chat.unread(world, ids.me);
      return marks.some((mark) => mark.pointer === id);
    });
    faults.disarm(world);
    t.ok(client.isOpen);
    seats.clear();
  }),
);

void t.test("an announcement ends in spite of a failed read", options, (t) =>
  forEachKind(t, async (t, kind, house, faults) => {
    if (kind === "throw") return void t.pass("is not repeated");
    const stage = await furnished(house);
    const until = Date.now() + 1500;
    await stage.announcement({ show_until: until });
    const seats = new Seats(house, stage, true, nobody);
    const { client } = await seats.seat("neighbor");
    faults.arm(stage.world, 0, kind, "announcements.list");
    const name = "announcement.created_or_updated";
    const { is_visible: isVisible } = await client.next(name);
    t.equal(isVisible, false);
    t.ok(faults.hasFailed(stage.world));
    seats.clear();
  }),
);

void t.test("messages that another process wrote come late", options, (t) =>
  forEachKind(t, async (t, kind, house, faults) => {
    const stage = await furnished(house);
    const seats = new Seats(house, stage, true, nobody);
    const { client } = await seats.seat("neighbor");
    for (const call of ["log.heads", "log.since"]) {
      const place = call === "log.since" ? stage.world : "*";
      faults.arm(place, 0, kind, call);
      const body = `by ${call}`;
      await written(house, stage, body);
      const { content } = await client.next("chat.event");
      t.equal(content.body, body);
      t.ok(faults.hasFailed(place), call);
      faults.disarm(place);
    }
    seats.clear();
  }),
);

void t.test("a login whose n-th call fails", options, async (t) => {
  const faults = new Faults();
  const house = await openFaultyHouse(t, faults);
  for (let n = 0; n < MOST; n++) {
    const kind = kinds[n % kinds.length]!;
    const stage = await furnished(house);
    const { store, world, room } = stage;
    await store.rooms.update(world, room, { extras: { force_join: true } });
    const seats = new Seats(house, stage, true, nobody);
    const other = await seats.seat("moderator");
    faults.arm(world, n, kind);
    const { client, code } = await attempt(house, stage);
    const { failed } = faults.disarm(world);
    const allowed = ["", "server.unavailable", "server.doubtful"];
    if (kind === "throw" || kind === "unusable") allowed.push("server.fatal");
    t.ok(allowed.includes(code), `${failed} ${kind}: ${code}`);
    if (code === "") await hears(t, stage, client, `${failed}`);
    else await client.closed;
    t.ok(other.client.isOpen, "others stay");
    const again = await attempt(house, stage);
    t.equal(again.code, "", `${failed}: another login`);
    await hears(t, stage, again.client, `${failed}, again`);
    for (const each of [client, again.client]) each.close();
    seats.clear();
    if (failed === undefined) break;
  }
});

/** A message without an event in this process. */
async function written(
  { servers }: House,
  { world, room, ids }: StoreStage,
  body: string,
): Promise<void> {
  const { dataDir } = servers[0];
  const { openSqliteStore } = await import("../../db/sqlite/index.js");
  const store = openSqliteStore(dataDir);
  const content = { type: "text", body };
  await store.chat.send(world, room, { sender: ids.moderator, content });
  await store.close();
}

/** Logs in. @returns the code of the error; empty if there is none. */
async function attempt({ servers }: House, stage: StoreStage) {
  const client = await servers[0].connect(stage.world);
  const token = stage.tokenOf("outsider");
  const answer = await client.login({ token });
  const { code = "" } = answer[1] as { code?: string };
  return { client, code };
}

/** A client that is logged in gets the next change. */
async function hears(
  t: Test,
  { store, world }: StoreStage,
  client: Client,
  what: string,
): Promise<void> {
  const title = `After ${what}`;
  await store.worlds.update(world, { title });
  const updated = await client.next(
    "world.updated",
    (data) => data.world.title === title,
  );
  t.equal(updated.world.title, title);
}
