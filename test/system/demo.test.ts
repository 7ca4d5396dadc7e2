import t from "tap";
import { scheduleDemo } from "../../cli/demo/demo-program.js";
import { DEMO, demoWorld, ensureDemo, pointDemo } from "../../cli/demo/demo.js";
import { readWorldDocument } from "../../schemas/documents/world-document.js";
import { exported } from "../support/database.js";
import { follow } from "../support/files.js";
import { until } from "../support/helper.js";
import { startServer } from "../support/server.js";
import { embedded } from "../support/shared.js";
import { shortFolder } from "../support/testdir.js";

void t.test("the demo world is one that could be imported", async (t) => {
  const document: unknown = JSON.parse(
    JSON.stringify({ format: "foyer.world", version: 1, ...demoWorld(Date.now()) }),
  );
  t.doesNotThrow(() => readWorldDocument(document));
});

void t.test("the stream has an address for pages of any origin", async (t) => {
  const dataDir = shortFolder(t);
  for (const [env, base] of [
    [{}, undefined],
    [{ PUBLIC_URL: "https://a.example/foyer" }, "https://a.example/foyer"],
    [{ WORKERS: "2" }, undefined],
  ] as [Record<string, string>, string?][]) {
    const server = await startServer(t, { processes: 1, dataDir, args: ["--demo"], env });
    // With PUBLIC_URL, only the log contains the port.
    const url = `${base ?? `http://127.0.0.1:${server.port}`}/demo/stream.m3u8`;
    const { stdout } = await server.command("world", "export", DEMO);
    t.match(stdout, `"hls_url":"${url}"`);
    if (base === undefined) {
      const { status, headers } = await fetch(url, { headers: { origin: "https://a.example" } });
      t.equal(status, 200);
      t.equal(headers.get("access-control-allow-origin"), "*");
    }
    await server.close();
  }
  const stays = { hls_url: "https://cdn.example/my.m3u8" };
  const { store } = await startServer(t, { worlds: [] });
  await ensureDemo(store);
  const [stage] = await store.rooms.all(DEMO, { page: 1, pageSize: 1 });
  const module_config = [{ type: "livestream.native", config: stays }];
  await store.rooms.update(DEMO, stage!.value.id, { module_config });
  await pointDemo(store, "https://b.example");
  t.match(await store.rooms.get(DEMO, stage!.value.id), { value: { module_config } });
});

void t.test("the program of the demo is of today", async (t) => {
  const server = await startServer(t, { worlds: [] });
  const { store } = server;
  const { files } = server.app;
  await ensureDemo(store);
  const now = Date.now();
  const at = (address: string, time: number) =>
    scheduleDemo({ store, files, world: DEMO, address, now: time });
  await at("http://a.example", now);
  const { sessions, speakers } = await store.program.get(DEMO);
  const on = sessions.filter(
    ({ value: { starts_at, ends_at } }) =>
      Date.parse(starts_at!) <= now && now < Date.parse(ends_at!),
  );
  t.ok(on.length > 0, "something is on");
  t.ok(sessions.every(({ value }) => value.room_id !== null));
  t.equal(speakers.length, 6);
  for (const { value } of speakers) {
    const { status, headers } = await follow(server, value.picture!);
    t.equal(status, 200, value.name);
    t.equal(headers["content-type"], "image/svg+xml");
  }
  const fileCount = async () => (await store.files.keys(DEMO)).length;
  const count = await fileCount();
  t.equal(count, 6 + 6 + 1, "pictures of speakers and rooms, and a cover");
  await at("http://a.example", now);
  t.same((await store.program.get(DEMO)).sessions, sessions, "it stays");

  const tomorrow = now + 24 * 60 * 60_000;
  await at("http://b.example", tomorrow);
  const later = await store.program.get(DEMO);
  t.same(
    later.sessions.map(({ value }) => value.id).sort(),
    sessions.map(({ value }) => value.id).sort(),
    "the same sessions",
  );
  t.ok(later.sessions.some(({ value }) => Date.parse(value.ends_at!) > tomorrow));
  t.match(later.speakers[0]!.value.picture, /^http:\/\/b\.example\/media\//);
  t.equal(await fileCount(), count, "with the pictures that are there");

  await store.program.createSession(DEMO, { title: "The organizer's own" });
  const own = (await store.program.get(DEMO)).sessions;
  await at("http://b.example", tomorrow + 24 * 60 * 60_000);
  t.same((await store.program.get(DEMO)).sessions, own, "and then it is theirs");
});

void t.test(
  "people come with the first visitor, and leave with the last",
  embedded("they come where one process serves"),
  async (t) => {
    const args = ["--demo", "--people"];
    const server = await startServer(t, { processes: 1, worlds: [], args });
    const count = async () => {
      const { stdout } = await server.command("connections", "list", "--json");
      return (JSON.parse(stdout) as unknown[]).length;
    };
    t.equal(await count(), 0, "the world is empty");
    const visitor = await server.guest("visitor", DEMO);
    const { rooms } = visitor.hello["world.config"] as { rooms: { id: string; name: string }[] };
    const room = rooms.find(({ name }) => name === "Main stage")!.id;
    await visitor.do("chat.subscribe", { channel: room });
    await visitor.do("room.enter", { room });
    await visitor.next("room.reaction");
    const { content } = await visitor.next("chat.event");
    t.match(content, { type: "text", body: /train/ });
    const many = await Promise.all(Array.from({ length: 21 }, (_, i) => server.guest(i, DEMO)));
    // The simulated people leave when it gets crowded, and return when one user is left.
    await until(async () => (await count()) === 22);
    for (const guest of many) guest.close();
    await until(async () => (await count()) > 1);
    visitor.close();
    await until(async () => (await count()) === 0);
    server.processes[0]!.signal("SIGTERM");
    t.equal((await server.processes[0]!.finished).code, 0);
  },
);

void t.test("calls of the demo, if the server has LiveKit", async (t) => {
  const { store } = await startServer(t, { worlds: [] });
  await ensureDemo(store, true);
  const rooms = await store.rooms.all(DEMO, { page: 1, pageSize: 100 });
  const modes = rooms.flatMap(({ value: { name, module_config } }) =>
    module_config
      .filter(({ type }) => type === "call.native")
      .map(({ config }) => [name, (config as { mode: string }).mode]),
  );
  t.same(Object.fromEntries(modes), { Hallway: "call", Workshop: "stage" });
});

void t.test("an event under way", async (t) => {
  const { store } = await startServer(t, { worlds: [] });
  const world = await ensureDemo(store);
  t.match(world, { id: DEMO, title: "Foyer Open House" });
  t.same(await ensureDemo(store), world, "it is made once");

  const { rows: copy } = await exported(store, DEMO, { history: true });
  const rooms = copy.rooms!.toSorted(
    (a, b) => Number(a.sorting_priority) - Number(b.sorting_priority),
  );
  t.same(
    rooms.map(({ name }) => name),
    ["Main stage", "Side stage", "Workshop", "Hallway", "Help desk", "Backstage"],
  );
  const said = new Set(copy.chat_events!.map(({ channel }) => channel));
  t.equal(said.size, rooms.length, "each room has a speaker");
  t.same(
    copy.questions!.map(({ state }) => state),
    ["visible", "visible", "visible", "mod_queue"],
  );
  t.match(copy.polls, [{ state: "open" }]);
  t.equal(copy.poll_options!.length, 3);
  t.equal(copy.poll_ballots!.length, 7);
  t.match(copy.announcements, [{ state: "active" }]);
  const ahead = [...copy.chat_events!, ...copy.questions!, ...copy.polls!];
  for (const { timestamp } of ahead) {
    t.ok(Number(timestamp) < Date.now());
  }
  for (const { token_id } of copy.users!) {
    t.match(String(token_id), /^demo-/, "only a token makes a user one of them");
  }
});
