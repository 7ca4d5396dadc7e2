import t from "tap";
import { DEMO, demoWorld, ensureDemo } from "../../demo.js";
import {
  readWorldDocument,
  toWorldDocument,
} from "../../schemas/world-document.js";
import { serve } from "../helper.js";

void t.test("the demo world is one that could be imported", async (t) => {
  const document: unknown = JSON.parse(
    JSON.stringify(toWorldDocument(demoWorld(Date.now()))),
  );
  t.doesNotThrow(() => readWorldDocument(document));
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
