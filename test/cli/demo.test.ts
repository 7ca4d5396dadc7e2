import t from "tap";
import { DEMO, demoWorld, ensureDemo, pointDemo } from "../../cli/demo/demo.js";
import { scheduleDemo } from "../../cli/demo/demo-program.js";
import { follow } from "../files.js";
import { readWorldDocument } from "../../schemas/documents/world-document.js";
import { exported } from "../exported.js";
import { foyer, serve, startFoyer, until } from "../helper.js";
import { embedded } from "../shared.js";
import { listed, Person, shortFolder } from "../system/person.js";
import { testdir } from "../testdir.js";

void t.test("the demo world is one that could be imported", async (t) => {
  const document: unknown = JSON.parse(
    JSON.stringify({
      ...{ format: "foyer.world", version: 1 },
      ...demoWorld(Date.now()),
    }),
  );
  t.doesNotThrow(() => readWorldDocument(document));
});

void t.test("the stream has an address for pages of any origin", async (t) => {
  const dataDir = testdir(t);
  for (const [env, base] of [
    [{}, undefined],
    [{ PUBLIC_URL: "https://a.example/foyer" }, "https://a.example/foyer"],
    [{ WORKERS: "2" }, undefined],
  ] as [Record<string, string>, string?][]) {
    const server = await startFoyer(t, dataDir, ["--demo"], env);
    const local = `http://127.0.0.1:${server.port}`;
    // With PUBLIC_URL, only the log says which port it is.
    const url = `${base ?? local}/demo/stream.m3u8`;
    const { stdout } = await foyer(dataDir, ["world", "export", DEMO]);
    t.match(stdout, `"hls_url":"${url}"`);
    if (base === undefined) {
      const origin = "https://client.example";
      const { status, headers } = await fetch(url, { headers: { origin } });
      t.equal(status, 200);
      t.equal(headers.get("access-control-allow-origin"), "*");
    }
    server.signal("SIGTERM");
    await server.finished;
  }
  const stays = { hls_url: "https://cdn.example/my.m3u8" };
  const { store } = await serve(t, []);
  await ensureDemo(store);
  const [stage] = await store.rooms.all(DEMO, { page: 1, pageSize: 1 });
  const module_config = [{ type: "livestream.native", config: stays }];
  await store.rooms.update(DEMO, stage!.value.id, { module_config });
  await pointDemo(store, "https://b.example");
  t.match(await store.rooms.get(DEMO, stage!.value.id), {
    value: { module_config },
  });
});

void t.test("the program of the demo is of today", async (t) => {
  const server = await serve(t, []);
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
  t.ok(
    later.sessions.some(({ value }) => Date.parse(value.ends_at!) > tomorrow),
  );
  t.match(later.speakers[0]!.value.picture, /^http:\/\/b\.example\/media\//);
  t.equal(await fileCount(), count, "with the pictures that are there");

  await store.program.createSession(DEMO, { title: "The organizer's own" });
  const own = (await store.program.get(DEMO)).sessions;
  await at("http://b.example", tomorrow + 24 * 60 * 60_000);
  t.same(
    (await store.program.get(DEMO)).sessions,
    own,
    "and then it is theirs",
  );
});

void t.test(
  "people come with the first visitor, and leave with the last",
  embedded("they come where one process serves"),
  async (t) => {
    const dataDir = shortFolder(t);
    const server = await startFoyer(t, dataDir, ["--demo", "--people"]);
    const count = async () => (await listed(dataDir)).length;
    t.equal(await count(), 0, "the world is empty");
    const enter = async () => (await Person.connect(t, server.port)).logIn();
    const visitor = await enter();
    const { "world.config": world } = (await visitor.pushed(
      "authenticated",
    )) as unknown as {
      "world.config": { rooms: { id: string; name: string }[] };
    };
    const stage = world.rooms.find(({ name }) => name === "Main stage")!.id;
    await visitor.call("chat.subscribe", { channel: stage });
    await visitor.call("room.enter", { room: stage });
    await visitor.pushed("room.reaction");
    const said = await visitor.pushed("chat.event");
    t.match(said.content, { type: "text", body: /train/ });
    const many = await Promise.all(Array.from({ length: 21 }, enter));
    await until(async () => (await count()) === 22);
    t.pass("they leave a crowd");
    for (const { ws } of many) ws.close();
    await until(async () => (await count()) > 1);
    t.pass("they come back to one");
    visitor.ws.close();
    await until(async () => (await count()) === 0);
    server.signal("SIGTERM");
    t.equal((await server.finished).code, 0);
  },
);

void t.test("an event under way", async (t) => {
  const { store } = await serve(t, []);
  const world = await ensureDemo(store);
  t.match(world, { id: DEMO, title: "Foyer Open House" });
  t.same(await ensureDemo(store), world, "it is made once");

  const { rows: copy } = await exported(store, DEMO, { history: true });
  const rooms = copy.rooms!.toSorted(
    (a, b) => Number(a.sorting_priority) - Number(b.sorting_priority),
  );
  t.same(
    rooms.map(({ name }) => name),
    [
      ...["Main stage", "Side stage", "Workshop"],
      ...["Hallway", "Help desk", "Backstage"],
    ],
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
    t.match(
      String(token_id),
      /^demo-/,
      "only a token makes a user one of them",
    );
  }
});
