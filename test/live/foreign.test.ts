import t from "tap";
import pino from "pino";
import { serve, worldOf } from "../helper.js";

const stay = { user: "u", at: 1, rooms: ["a"], attending: [] };

/** Items that no process has; each lacks something, or has a wrong value. */
const items: Record<string, readonly unknown[]> = {
  activity: [{ messages: 1, slowReaders: -1, since: 1 }, { since: 1 }, [1, 1]],
  presence: [
    {},
    { ...stay, rooms: 1 },
    { ...stay, rooms: [1] },
    { ...stay, attending: null },
    { ...stay, again: "a" },
    { ...stay, at: "now" },
  ],
  absent: [{}, { by: 1, silent: true }, { by: "c", silent: "yes" }],
  marks: [
    ...[[], [1, 1, 1, 1], { pointer: 1 }],
    ...[
      ["all", 1, 1, 1, true],
      [1, 1, 1, null, true],
      [1, 1, 1, 1, 1],
    ],
  ],
  spent: [-1e9, "1", {}, [1]],
  reactions: [{ clap: "x" }, { clap: -1 }, [1]],
  "": [stay],
  __proto__: [stay],
  constructor: [stay],
};
const always = [undefined, null, 1, "text", [], {}, { kind: "unknown" }];

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
  const hear = async (data: unknown, name: string) => {
    const world = { world: "demo" };
    for (const place of [world, {}, { world: app.events.process }]) {
      app.events.publish({ type: "live", topic: "replica", ...place, data });
      await new Promise((resolve) => setImmediate(resolve));
      t.strictSame([...lines.splice(0), ...faults.splice(0)], [], name);
    }
  };
  void app.live.replica.follow("demo");
  let version = 0;
  for (const [topic, values] of Object.entries(items)) {
    for (const value of [...always, ...values]) {
      const put = ["", "a", "a b", "a b c", "a b c d"].map((key) => [
        topic && `${topic} ${key}`,
        version + 1,
        value,
      ]);
      version++;
      const data = { process: "x", kind: "changes", since: 0, version, put };
      const name = `${topic}: ${JSON.stringify(value)}`;
      await hear({ ...data, gone: [] }, name);
      await hear({ ...data, gone: put.map(([key]) => key) }, name);
    }
  }
  for (const data of always) await hear(data, JSON.stringify(data));
  t.match(app.live.presence.in("demo"), { connections: 0 });
  const counted = { messages: 2, slowReaders: 0, since: 1 };
  const put = [["activity x demo", version + 1, counted]];
  const data = { process: "x", kind: "changes", since: 0, put, gone: [] };
  await hear({ ...data, version: version + 1 }, "a good one");
  t.equal(app.live.activity.of("demo").messages, 2, "what one says is heard");
});
