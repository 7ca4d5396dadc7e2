import t from "tap";
import { DEMO, demoWorld, ensureDemo, pointDemo } from "../../cli/demo.js";
import {
  readWorldDocument,
  toWorldDocument,
} from "../../schemas/world-document.js";
import { foyer, serve, startFoyer } from "../helper.js";
import { testdir } from "../testdir.js";

void t.test("the demo world is one that could be imported", async (t) => {
  const document: unknown = JSON.parse(
    JSON.stringify(toWorldDocument(demoWorld(Date.now()))),
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
    t.match(JSON.parse(stdout), {
      rooms: [{ module_config: [{ config: { hls_url: url } }] }],
    });
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

void t.test("an event under way", async (t) => {
  const { store } = await serve(t, []);
  const world = await ensureDemo(store);
  t.match(world, { id: DEMO, title: "Foyer Open House" });
  t.same(await ensureDemo(store), world, "it is made once");

  const copy = (await store.worlds.export(DEMO, { history: true }))!;
  const names = new Map(copy.rooms.map(({ id, name }) => [id, name]));
  t.same([...names.values()], ["Main stage", "Hallway", "Backstage"]);
  const said = copy.chat!.events.map(({ channel }) => names.get(channel));
  t.same(new Set(said), new Set(names.values()), "somebody speaks everywhere");
  t.same(
    copy.questions!.map(({ state }) => state),
    ["visible", "visible", "visible", "mod_queue"],
  );
  t.match(copy.polls, [{ state: "open", options: [{}, {}, {}] }]);
  t.equal(copy.polls![0]!.ballots!.length, 7);
  t.match(copy.announcements, [{ state: "active" }]);
  const ahead = [...copy.chat!.events, ...copy.questions!, ...copy.polls!];
  for (const { timestamp } of ahead) {
    t.ok(Date.parse(timestamp) < Date.now(), timestamp);
  }
  for (const { token_id } of copy.users!) {
    t.match(token_id, /^demo-/, "only a token makes somebody one of them");
  }
});
