import t from "tap";
import pino from "pino";
import { serve, worldOf } from "../helper.js";

/** Messages of each topic that no process sends; each lacks a field, or has a wrong one. */
const said: Record<string, readonly unknown[]> = {
  activity: [
    { report: "hello" },
    { report: "hello", tally: { process: "x", since: 1, worlds: [null] } },
    { report: "tallies", tallies: [{ process: "x", since: 1, worlds: {} }] },
    {
      report: "tallies",
      tallies: [{ process: "x", since: 1, worlds: [["demo", null]] }],
    },
  ],
  presence: [
    { report: "steps", process: "x", steps: [["demo"]] },
    { report: "steps", process: "x", steps: [["demo", { do: "open" }]] },
    { report: "steps", process: "x", steps: [["demo", null]] },
    {
      report: "steps",
      process: "x",
      steps: [["demo", { do: "__proto__", connection: "c" }]],
    },
    { report: "state", process: "x", isFirst: true, isLast: true },
    {
      report: "state",
      process: "x",
      isFirst: true,
      isLast: true,
      stays: [{ world: "demo", connection: "c", user: "u", at: 1, rooms: 1 }],
    },
  ],
  marks: [
    { report: "marks", process: "x" },
    { report: "marks", process: "x", marks: [null] },
    {
      report: "marks",
      process: "x",
      marks: [{ world: "demo", user: "u", channel: "c", pointer: "all" }],
    },
    { report: "written", process: "x", until: "now" },
  ],
  rates: [
    { process: "x" },
    { process: "x", spent: [null] },
    { process: "x", spent: [["__proto__", "k", 1]] },
    { process: "x", spent: [["messages", "k", -1e9]] },
  ],
  reaction: [
    { world: "demo" },
    { world: "demo", room: "a", reactions: null },
    { world: "demo", room: "a", reactions: { clap: "x" } },
  ],
};
const always = [undefined, null, 1, "text", [], {}, { report: "unknown" }];

void t.test("messages that no process sends", async (t) => {
  const lines: string[] = [];
  const logger = pino({ level: "warn" }, { write: (line) => lines.push(line) });
  const { app } = await serve(t, [worldOf("demo")], { logger });
  const faults: string[] = [];
  const note = (fault: unknown) => void faults.push(String(fault));
  process.on("uncaughtException", note).on("unhandledRejection", note);
  t.teardown(() => {
    process.off("uncaughtException", note).off("unhandledRejection", note);
  });
  for (const [topic, all] of Object.entries(said)) {
    for (const data of [...always, ...all]) {
      app.events.publish({ type: "live", topic, data });
      await new Promise((resolve) => setImmediate(resolve));
      const name = `${topic}: ${JSON.stringify(data)}`;
      t.strictSame([...lines.splice(0), ...faults.splice(0)], [], name);
    }
  }
  const tally = {
    process: "x",
    since: 1,
    worlds: [["demo", { messages: 2, slowReaders: 0 }]],
  };
  const data = { report: "tallies", tallies: [tally] };
  app.events.publish({ type: "live", topic: "activity", data });
  t.equal(app.live.activity.of("demo").messages, 2, "what one says is heard");
});
