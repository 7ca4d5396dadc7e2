import { setImmediate } from "node:timers/promises";
import t from "tap";
import { processClock } from "../../db/log/clock.js";
import { inSlices } from "../../live/delivery/passes.js";
import type { Bearer } from "../../live/rules/rights.js";
import type { View } from "../../live/rules/world-state.js";
import { until } from "../helper.js";
import { type Json, makeRoom, soon, startLive } from "./client.js";

void t.test("a world without connections", async (t) => {
  const live = await startLive(t);
  const { states } = live.app.live;
  const [one, two] = [await live.guest(), await live.guest()];
  one.close();
  await soon(one.closed);
  await two.all();
  t.ok(states.present("demo"), "a connection is still there");
  two.close();
  await soon(two.closed);
  // It is forgotten.
  await soon(until(() => !states.present("demo")));
  t.ok(await states.get("demo"));
  t.notOk(states.present("demo"), "and stays so after reads");
});

void t.test("people who all have other rights", async (t) => {
  const live = await startLive(t);
  for (let i = 0; i < 40; i++) {
    const permission_config = { "chat.moderate": [`ticket-${i}`] };
    await makeRoom(live, { name: `R${i}`, permission_config });
  }
  const state = (await live.app.live.states.get("demo"))!;
  const viewOf = (...traits: string[]) =>
    state.view({ traits: new Set(traits), state: "" });
  const made = (view: View) => {
    let asked = 0;
    const jsonOf = () => (asked++, '"users":"few"');
    const json = view.json({ counting: "words", changes: 1, jsonOf });
    const { rooms } = JSON.parse(json.toString());
    const moderated = rooms.filter(({ permissions }: Json) =>
      permissions.includes("room:chat.moderate"),
    );
    return { isMade: asked > 0, moderated: moderated.length as number };
  };
  const common = viewOf();
  t.same(made(common), { isMade: true, moderated: 0 });
  const own = Array.from({ length: 40 }, (_, i) => viewOf(`ticket-${i}`));
  for (const view of own) {
    t.same(made(view), { isMade: true, moderated: 1 });
    t.same(made(common), { isMade: false, moderated: 0 }, "of many: kept");
  }
  t.same(made(own[0]!), { isMade: true, moderated: 1 }, "of one: not kept");
});

void t.test(
  "only people with the same rights share what is sent",
  async (t) => {
    const live = await startLive(t);
    const permission_config = { "room.view": [["crew", "lead"]] };
    const room = await makeRoom(live, { permission_config });
    const state = (await live.app.live.states.get("demo"))!;
    const of = (traits: string[], more: Partial<Bearer> = {}) =>
      state.view({ traits: new Set(traits), state: "", ...more });
    const groups: View[][] = [
      // What no rule of the world names makes no difference.
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
  },
);

void t.test("long work for many", async (t) => {
  let turns = 0;
  let isDone = false;
  const others = async () => {
    for (; !isDone; turns++) await setImmediate();
  };
  const othersEnd = others();
  const done: number[] = [];
  await inSlices(processClock, [1, 2, 3, 4, 5], (item) => {
    const ends = performance.now() + 6;
    while (performance.now() < ends);
    done.push(item);
  });
  isDone = true;
  await othersEnd;
  t.same(done, [1, 2, 3, 4, 5]);
  t.ok(turns >= 4, `others got ${turns} turns`);
});

void t.test(
  "what all see of a world is made once, and framed for each",
  async (t) => {
    const live = await startLive(t);
    // From a frame with a short length to one with the longest (RFC 6455, section 5.2).
    for (const [size, rooms] of [
      [10, 1],
      [20_000, 2],
      [20_000, 20],
    ] as const) {
      for (let i = 0; i < rooms; i++) {
        const description = "ü".repeat(size) + "🌍";
        await makeRoom(live, { name: `R${i}`, description });
      }
      const people = await Promise.all([
        live.guest("a"),
        live.guest("b"),
        live.guest("c"),
      ]);
      const state = (await live.app.live.states.get("demo"))!;
      const view = state.view({ traits: new Set(), state: "" });
      const { live: layer } = live.app;
      const shared = () => view.json(layer.crowds.in("demo", "words"));
      t.equal(shared(), shared(), "one buffer for all");
      for (const { hello } of people) {
        t.same(hello["world.config"], JSON.parse(shared().toString()));
        t.same(hello.announcements, [], "what follows it is whole");
      }
      await Promise.all(
        people.map(async (person) => {
          person.close();
          await soon(person.closed);
        }),
      );
    }
  },
);
