import t, { type Test } from "tap";
import { openEngines } from "../../db/open.js";
import type { Store } from "../../db/store.js";
import { openStore, putDatabase } from "../database.js";
import { foyerProcess, serve, until, worldOf } from "../helper.js";
import { testdir } from "../testdir.js";

// How a server learns of what others change in its database.

/** Within how many milliseconds a change is noticed if the machine has time. */
const SOON = 1000;

/** After how many it is late, whatever else the machine does. */
const LATE = 20_000;

/** A database with two worlds, and stores that have it open. */
async function shared(t: Test) {
  const dataDir = testdir(t);
  await putDatabase(dataDir, [worldOf("demo"), worldOf("other")]);
  return (origin?: string) => {
    const touched: string[] = [];
    const store = openStore(t, dataDir, {
      ...(origin !== undefined && { origin }),
      onTouched: (worlds) => touched.push(...worlds),
    });
    return { store, touched };
  };
}

let titles = 0;
const change = (store: Store, world = "demo") =>
  store.worlds.update(world, { title: `title ${++titles}` });

void t.test("a command makes a server say so", async (t) => {
  const { app, dataDir, store } = await serve(t);
  const events: unknown[] = [];
  app.events.subscribe((event) => events.push(event));
  const renamed = ["world", "update", "demo", "--title", "New"];
  t.match(await foyerProcess(t, dataDir, renamed), { code: 0 });
  await until(() => events.length > 0);
  t.strictSame(events, [{ type: "world.touched", world: "demo" }]);
  t.equal((await store.worlds.get("demo"))?.value.title, "New");
});

void t.test("every write of another store is noticed", async (t) => {
  const { app, dataDir } = await serve(t);
  const touched: string[] = [];
  app.events.subscribe((event) => {
    if ("world" in event) touched.push(`${event.type} ${event.world}`);
  });
  const engines = await openEngines({ dataDir });
  t.teardown(() => engines.close());
  const { store } = engines;
  const { value: room } = await store.rooms.create("demo", { name: "a" });
  await until(() => touched.length > 0);
  const copy = (await store.worlds.export("demo"))!;
  const id = "0d6f1a3e-8c1b-4a55-9f5e-2f6d4c7a9b10";
  const file = { key: `pub/demo/${id}.x.pdf`, size: 1, sha256: "00" };
  const uploader = { tokenId: "ada", traits: new Set<string>() };
  const { id: bob } = await store.users.enter("demo", {
    ...uploader,
    tokenId: "bob",
  });
  const { questions, polls } = store;
  const question = { sender: bob, content: "x", state: "visible" } as const;
  const poll = { content: "x", options: [], state: "open" } as const;
  const asked = await questions.ask("demo", room.id, question);
  const made = await polls.create("demo", room.id, poll);
  const writes: [
    name: string,
    write: () => Promise<unknown>,
    world?: string,
  ][] = [
    ["a room", () => store.rooms.update("demo", room.id, { name: "b" })],
    ["an upload", () => store.files.add("demo", uploader, file, 10)],
    ["a file", () => store.files.delete("demo", id)],
    ["a question", () => questions.ask("demo", room.id, question)],
    [
      "a vote for it",
      () => questions.vote("demo", room.id, asked.id, bob, true, false),
    ],
    ["no question", () => questions.delete("demo", room.id, asked.id)],
    ["a poll", () => polls.create("demo", room.id, poll)],
    ["a vote in it", () => polls.vote("demo", room.id, made.id, bob, [])],
    ["a pin", () => polls.pin("demo", room.id, made.id)],
    ["a user", () => store.users.erase("demo", { token_id: "ada" })],
    ["no room", () => store.rooms.delete("demo", room.id)],
    ["a world", () => store.worlds.create(worldOf("new")), "new"],
    ["no world", () => store.worlds.delete("demo")],
    ["a copy", () => store.worlds.import(copy)],
  ];
  const takes: number[] = [];
  for (const [name, write, world = "demo"] of writes) {
    touched.length = 0;
    await write();
    const written = performance.now();
    await until(() => touched.length > 0);
    takes.push(performance.now() - written);
    t.strictSame(touched, [`world.touched ${world}`], name);
  }
  t.ok(Math.max(...takes) < LATE, `each within ${Math.max(...takes)} ms`);
  t.ok(Math.min(...takes) < SOON, `at best ${Math.min(...takes)} ms`);
});

void t.test("those who share their events tell each other", async (t) => {
  const open = await shared(t);
  const [one, two] = [open("same"), open("same")];
  const foreign = open();
  for (const { store } of [one, two]) {
    for (let i = 0; i < 5; i++) await change(store);
  }
  await t.rejects(foreign.store.worlds.update("none", {}));
  await foreign.store.worlds.import(
    { world: worldOf("trial"), rooms: [] },
    { dryRun: true },
  );
  // What comes last is noticed last: all before it would have been by then.
  await change(foreign.store, "other");
  for (const { touched } of [one, two]) {
    await until(() => touched.length > 0);
    t.strictSame(touched, ["other"]);
  }
  await until(() => foreign.touched.length > 0);
  const told = [...new Set(foreign.touched)];
  t.strictSame(told, ["demo"], "and others are told");
});

void t.test("an own write right after hides nothing", async (t) => {
  const open = await shared(t);
  const { store: foreign } = open();
  await change(foreign);
  // The first write of a store starts its writer.
  for (let round = 0; round < 4; round++) {
    const { store, touched } = open();
    for (const name of ["its first write", "its second", "its third"]) {
      touched.length = 0;
      await change(foreign);
      await change(store);
      const deadline = performance.now() + LATE;
      await until(() => touched.length > 0 || performance.now() > deadline);
      t.ok(touched.includes("demo"), name);
    }
    await store.close();
  }
});
