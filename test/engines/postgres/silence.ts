import { until, worldOf } from "../../helper.js";
import { PATIENCE } from "../../patience.js";
import { startProxy, through } from "../../servers/proxy.js";
import { type Node, openNode, type Part, problemOf } from "./setup.js";

/** How long any connection may be silent until it is given up, in milliseconds. */
const LONGEST = 40_000 * PATIENCE;

const read = ({ db }: Node) => db.sql.value("SELECT title FROM worlds");
const snapshot = ({ db }: Node) =>
  db.snapshot((sql) => sql.value("SELECT title FROM worlds"));
const write = ({ worlds }: Node) => worlds.configure("demo", { title: "new" });

/** The last message of a connection of the pool, its use, how that ends, and an earlier message. */
const USES: Record<
  string,
  [
    last: string,
    use: (node: Node) => Promise<unknown>,
    problem: RegExp,
    after?: string,
  ]
> = {
  "while it opens": ["user\0", read, /unusable|busy/],
  "before it is prepared": ["SET jit", read, /unusable|busy/],
  "in a read": ["SELECT title", read, /unusable/],
  "at the start of a snapshot": ["BEGIN", snapshot, /unusable/],
  "in a snapshot": ["SELECT title", snapshot, /unusable/],
  "before a write": ["BEGIN", write, /unusable/],
  "in a write": ["UPDATE worlds", write, /unusable/],
  // Reads in the background commit, too.
  "at a commit": ["COMMIT\0", write, /doubtful/, "UPDATE worlds"],
};

/** The last message of the connection with the heartbeat. */
const STEPS: Record<string, string> = {
  "while it opens": "user\0",
  "before it is prepared": "SET jit",
  "before it has joined": "pg_try_advisory_lock",
  "before it has compared": "log_heads AS h",
};

/** One connection dies silently, and all others go on. */
export const silence: Part = async (t, server) => {
  const open = async () => {
    const url = await server.createDatabase();
    const proxy = await startProxy(t, server.port);
    const node = await openNode(t, through(url, proxy));
    await node.worlds.create(worldOf("demo"));
    return { url, proxy, node };
  };

  // They take as long as the deadline that each is about.
  await t.test("a connection of the pool", async (t) => {
    await Promise.all(
      Object.entries(USES).map(async ([name, [last, use, problem, after]]) => {
        const { proxy, node } = await open();
        // Only a new connection opens.
        if (/opens|prepared/.test(name)) {
          proxy.reset();
          await until(() => !node.db.isUp);
          await until(() => node.db.isUp);
        }
        const began = performance.now();
        proxy.swallow(last, after);
        // More than there are connections, as the node itself may have opened some.
        const problems = await Promise.all(
          Array.from({ length: 6 }, () => problemOf(use(node))),
        );
        t.match(problems.join(), problem, name);
        t.ok(performance.now() - began < LONGEST, `${name}: in time`);
        t.ok(node.db.isUp, `${name}: only one connection is lost`);
        t.equal(await problemOf(use(node)), undefined, `${name}: goes on`);
      }),
    );
  });

  await t.test("the connection with the heartbeat", async (t) => {
    await Promise.all(
      Object.entries(STEPS).map(async ([name, last]) => {
        const { url, proxy, node } = await open();
        await node.db.join({ events: "alone:a", files: "folder:a" }, url);
        proxy.swallow(last);
        proxy.reset();
        await until(() => !node.db.isUp);
        await until(() => node.db.isUp);
        t.equal(await problemOf(write(node)), undefined, name);
      }),
    );
  });
};
