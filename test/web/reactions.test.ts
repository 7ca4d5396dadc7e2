import { mock } from "node:test";
import t from "tap";
import { get } from "svelte/store";
import { reactions as known } from "../../schemas/live/rooms.js";
import { FLOAT, Reactions, reactions } from "../../web/state/reactions.js";
import { startRoom } from "../client/fake-room.js";
import { ATTIC, HALL } from "../client/fake-server.js";

void t.test("the server has the same reactions", async (t) => {
  t.strictSame(reactions, known);
});

async function start(t: Parameters<typeof startRoom>[0]) {
  const { room, live } = await startRoom(t);
  await live.call("room.enter", { room: HALL });
  // However long a test takes, nothing fades but by `tick`.
  mock.timers.enable({ apis: ["setTimeout"] });
  t.teardown(() => mock.timers.reset());
  const hall = new Reactions(live, HALL);
  t.teardown(() => hall.close());
  const floating = () => get(hall.particles).map(({ reaction }) => reaction);
  const push = (counts: object, of = HALL) =>
    room.push("room.reaction", { room: of, reactions: counts });
  /** Waits until everything that was pushed has come. */
  const settle = () => live.call("user.fetch", { ids: [] });
  const tick = (milliseconds: number) => mock.timers.tick(milliseconds);
  return { room, hall, floating, push, settle, tick };
}

void t.test("reactions float and are counted", async (t) => {
  const { hall, floating, push, settle } = await start(t);
  push({ "👏": 2, "👍": 1, "💥": 9, "🤣": -1, "😮": "x" });
  push({ "👏": 5 }, ATTIC);
  await settle();
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
  await settle();
  t.ok(floating().length <= 30, "a crowd slows no browser");
  t.ok(floating().includes("❤️"), "and hides no other reaction");
  t.equal(get(hall.counts).get("👏"), 200_002);
});

void t.test("an own reaction shows at once, and once", async (t) => {
  const { room, hall, floating, push, settle } = await start(t);
  const sent = hall.react("👏");
  t.strictSame(floating(), ["👏"]);
  t.ok(get(hall.resting).has("👏"));
  await sent;
  // The server would not count it yet.
  await hall.react("👏");
  t.equal(room.count("room.react"), 1);
  t.strictSame(room.commands.at(-1), [
    "room.react",
    { room: HALL, reaction: "👏" },
  ]);
  push({ "👏": 3 });
  await settle();
  t.equal(floating().length, 3);
  push({ "👏": 1 });
  await settle();
  t.equal(floating().length, 4);
});

void t.test("what floats goes, and a button rests for a while", async (t) => {
  const { room, hall, floating, tick } = await start(t);
  await hall.react("👏");
  tick(1999);
  t.ok(get(hall.resting).has("👏"));
  tick(1);
  t.notOk(get(hall.resting).has("👏"));
  await hall.react("👏");
  t.equal(room.count("room.react"), 2);
  t.equal(floating().length, 2);
  tick(FLOAT);
  t.strictSame(floating(), []);
  t.equal(get(hall.counts).get("👏"), 2);
  tick(6000);
  t.equal(get(hall.counts).size, 0);
});

void t.test("a refusal is reported, and nothing is left to send", async (t) => {
  const { room, hall, floating, push, settle } = await start(t);
  room.intercept = (peer, name, id) => {
    if (name !== "room.react") return false;
    peer.send(["error", id, { code: "protocol.denied", message: "No" }]);
    return true;
  };
  await t.rejects(hall.react("👍"), { code: "protocol.denied" });
  push({ "👍": 1 });
  await settle();
  t.equal(floating().length, 2);
});

void t.test("nothing comes after the end", async (t) => {
  const { hall, floating, push, settle } = await start(t);
  hall.close();
  push({ "👏": 1 });
  await settle();
  t.strictSame(floating(), []);
});
