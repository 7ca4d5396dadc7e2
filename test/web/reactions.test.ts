import { EventEmitter } from "node:events";
import { mock } from "node:test";
import t, { type Test } from "tap";
import { get } from "svelte/store";
import type { Live } from "../../client/index.js";
import { reactions as known } from "../../schemas/live/rooms.js";
import { FLOAT, Reactions, reactions } from "../../web/state/reactions.js";

void t.test("the server has the same reactions", async (t) => {
  t.strictSame(reactions, known);
});

/** Reactions in a hall, with the commands and pushes of its client. */
function start(t: Test) {
  // However long a test takes, nothing fades but by `tick`.
  mock.timers.enable({ apis: ["setTimeout"] });
  t.teardown(() => mock.timers.reset());
  const pushes = new EventEmitter();
  const sent: unknown[] = [];
  const client = {
    /** Why a command is refused. */
    refusal: undefined as Error | undefined,
    async call(name: string, payload: object) {
      sent.push([name, payload]);
      if (client.refusal) throw client.refusal;
      return {};
    },
    on(name: string, listener: (data: unknown) => void) {
      pushes.on(name, listener);
      return () => void pushes.off(name, listener);
    },
  };
  const hall = new Reactions(client as unknown as Live, "hall");
  t.teardown(() => hall.close());
  const floating = () => get(hall.particles).map(({ reaction }) => reaction);
  const push = (reactions: object, room = "hall") =>
    pushes.emit("room.reaction", { room, reactions });
  const tick = (milliseconds: number) => mock.timers.tick(milliseconds);
  return { client, sent, hall, floating, push, tick };
}

void t.test("reactions float and are counted", async (t) => {
  const { hall, floating, push } = start(t);
  push({ "👏": 2, "👍": 1, "💥": 9, "🤣": -1, "😮": "x" });
  push({ "👏": 5 }, "attic");
  t.strictSame(floating(), ["👏", "👏", "👍"]);
  t.strictSame(
    [...get(hall.counts)],
    [
      ["👏", 2],
      ["👍", 1],
    ],
  );
  push({ "👏": 100_000, "❤️": 100_000 });
  push({ "👏": 100_000, "😮": 100_000 });
  t.ok(floating().length <= 30, "a crowd slows no browser");
  t.ok(floating().includes("❤️"), "and hides no other reaction");
  t.equal(get(hall.counts).get("👏"), 200_002);
});

void t.test("an own reaction shows at once, and once", async (t) => {
  const { sent, hall, floating, push } = start(t);
  const reacting = hall.react("👏");
  t.strictSame(floating(), ["👏"]);
  t.ok(get(hall.resting).has("👏"));
  await reacting;
  // The server would not count it yet.
  await hall.react("👏");
  t.strictSame(sent, [["room.react", { room: "hall", reaction: "👏" }]]);
  push({ "👏": 3 });
  t.equal(floating().length, 3);
  push({ "👏": 1 });
  t.equal(floating().length, 4);
});

void t.test("what floats goes, and a button rests for a while", async (t) => {
  const { sent, hall, floating, tick } = start(t);
  await hall.react("👏");
  tick(1999);
  t.ok(get(hall.resting).has("👏"));
  tick(1);
  t.notOk(get(hall.resting).has("👏"));
  await hall.react("👏");
  t.equal(sent.length, 2);
  t.equal(floating().length, 2);
  tick(FLOAT);
  t.strictSame(floating(), []);
  t.equal(get(hall.counts).get("👏"), 2);
  tick(6000);
  t.equal(get(hall.counts).size, 0);
});

void t.test("a refusal is reported, and nothing is left to send", async (t) => {
  const { client, hall, floating, push } = start(t);
  client.refusal = new Error("No");
  await t.rejects(hall.react("👍"), { message: "No" });
  push({ "👍": 1 });
  t.equal(floating().length, 2);
});

void t.test("nothing comes after the end", async (t) => {
  const { hall, floating, push } = start(t);
  hall.close();
  push({ "👏": 1 });
  t.strictSame(floating(), []);
});
