import { mock } from "node:test";
import { setImmediate } from "node:timers/promises";
import t from "tap";
import { get, writable } from "svelte/store";
import type { Activity } from "../../client/index.js";
import {
  ActivitySeries,
  extremes,
  pathOf,
  samples,
} from "../../web/state/activity.js";
import { pollWhile } from "../../web/state/polling.js";

const sample = (more: Partial<Activity> = {}): Activity => ({
  connections: 3,
  users: 2,
  messages: 100,
  slow_readers: 0,
  rooms: [],
  since: "2027-01-31T09:30:00.000Z",
  ...more,
});

void t.test("counters become rates", async (t) => {
  let now = 1000;
  const series = new ActivitySeries(() => now, 10_000);
  const values = (name: "connections" | "messages" | "slowReaders") =>
    get(series)[name].map(({ value }) => value);
  series.add(sample());
  now += 2000;
  series.add(sample({ messages: 130, slow_readers: 1, connections: 5 }));
  t.same(values("messages"), [null, 15]);
  t.same(values("slowReaders"), [null, 0.5]);
  t.same(values("connections"), [3, 5]);

  now += 2000;
  series.add(sample({ messages: 4 }));
  now += 2000;
  series.add(sample({ messages: 8 }));
  t.same(values("messages"), [null, 15, null, 2], "a restart is a gap");

  now += 2000;
  series.add(sample({ messages: 900, since: "2027-02-01T00:00:00.000Z" }));
  t.equal(values("messages").at(-1), null, "counting began again");

  now += 2000;
  series.miss();
  t.equal(values("connections").at(-1), null);
  t.equal(get(series).now?.messages, 900, "the last that is known stays");
  now += 2000;
  const since = "2027-02-01T00:00:00.000Z";
  series.add(sample({ messages: 908, since }));
  t.equal(values("messages").at(-1), 2, "over the whole time since");
  t.equal(get(series).connections[0]?.at, 5000, "older samples are gone");
  series.add(sample({ messages: 999, since }));
  t.equal(values("messages").at(-1), null, "no time passed");
});

void t.test("a plot", async (t) => {
  const points = [
    { at: 0, value: 0 },
    { at: 50, value: 10 },
    { at: 60, value: null },
    { at: 100, value: 5 },
  ];
  const frame = { width: 100, height: 20, end: 100, span: 100, top: 10 };
  t.equal(pathOf(points, frame), "M0.0 20.0L50.0 0.0M100.0 10.0");
  t.equal(pathOf([], frame), "");
  t.same(extremes(points), { least: 0, most: 10, last: 5 });
  t.equal(extremes([{ at: 1, value: null }]), undefined);
  const many = Array.from({ length: 150 }, (_, at) => ({ at, value: at }));
  const few = samples(many, 10);
  t.equal(few.length, 10);
  t.equal(few.at(-1)?.at, 149);
});

void t.test("polling, only while it is wanted", async (t) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  t.teardown(() => mock.timers.reset());
  /** Lets time pass, in milliseconds, and everything happen that is due. */
  const pass = async (duration: number) => {
    for (let i = 0; i < duration; i++) {
      await setImmediate();
      mock.timers.tick(1);
    }
  };
  const wanted = writable(false);
  let calls = 0;
  let fails = false;
  const end = pollWhile(
    wanted,
    async () => {
      calls++;
      if (fails) throw new Error("no");
    },
    { every: 2, slowest: 8 },
  );
  const after = async (duration: number) => {
    const before = calls;
    await pass(duration);
    return calls - before;
  };
  t.equal(await after(10), 0);
  wanted.set(true);
  t.equal(calls, 1, "at once");
  t.equal(await after(8), 4);
  fails = true;
  await pass(20);
  t.equal(await after(16), 2, "slowly");
  wanted.set(false);
  t.equal(await after(20), 0, "it rests");
  fails = false;
  const before = calls;
  wanted.set(true);
  t.equal(calls, before + 1);
  end();
  t.equal(await after(20), 0, "it ended");
});
