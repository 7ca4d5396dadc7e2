import t from "tap";
import { Spent } from "../../live/people/spent.js";
import { Wire } from "./wire.js";

const KEPT = 30_000;

/** A process, and what it hears of spending. */
function start(wire: Wire, name: string) {
  const { clock, replica } = wire.start(name);
  void replica.follow("w");
  const heard: number[] = [];
  const spent = new Spent(clock, replica, {
    kept: KEPT,
    onSpent: (scope, key, count) => {
      if (scope === "w" && key === "messages ann") heard.push(count);
    },
  });
  return {
    spend: (count: number) => spent.add("w", "messages ann", count),
    heard,
    total: () => heard.reduce((sum, count) => sum + count, 0),
  };
}

void t.test("what is spent counts once elsewhere", async (t) => {
  const wire = new Wire();
  const [one, two] = [start(wire, "one"), start(wire, "two")];
  await wire.wait(100);
  for (let i = 0; i < 5; i++) one.spend(1);
  await wire.wait(110);
  t.strictSame(two.heard, [5], "together");
  t.strictSame(one.heard, []);
  wire.link = (message) => [message, message];
  one.spend(2);
  await wire.wait(110);
  t.equal(two.total(), 7, "not twice");
  wire.link = () => [];
  one.spend(3);
  await wire.wait(500);
  t.equal(two.total(), 7);
  wire.link = (message) => [message];
  await wire.wait(1_500);
  t.equal(two.total(), 10, "nothing is lost");
  await wire.wait(3 * KEPT);
  one.spend(4);
  await wire.wait(200);
  t.equal(two.total(), 14, "a sum that was forgotten begins again");
});

void t.test("a sum begins again at once", async (t) => {
  const wire = new Wire();
  const [one, two] = [start(wire, "one"), start(wire, "two")];
  await wire.wait(100);
  one.spend(5);
  await wire.wait(KEPT);
  one.spend(3);
  await wire.wait(200);
  t.strictSame(two.heard, [5, 3]);
});

void t.test("sums are forgotten", async (t) => {
  const wire = new Wire();
  const one = start(wire, "one");
  one.spend(1);
  await wire.wait(100);
  const early = start(wire, "early");
  await wire.wait(100);
  t.equal(early.total(), 1, "a process that begins learns of them");
  await wire.wait(3 * KEPT);
  const late = start(wire, "late");
  await wire.wait(100);
  t.equal(late.total(), 0);
});
