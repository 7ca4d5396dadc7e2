import pLimit from "p-limit";
import t from "tap";
import { rows } from "../../conformance/rows/index.js";
import { embedded } from "../shared.js";
import { runWithFault } from "./fault-run.js";
import { openFaultyHouse } from "./faulty-house.js";
import { Faults, type Kind, kinds } from "./faulty-store.js";

// Each call of the store that a row causes fails once: in its command, and in all
// listeners to its writes.

const AT_ONCE = 8;
const wanted = process.env.ROW ?? "";
/**
 * Otherwise each call fails for one row of a module, and for each row that ends connections, in
 * one way.
 */
const inAllWays = process.env.FAULTS === "all";

/**
 * Whether a fault is by design: a listener that throws something else than an error of
 * the store has a bug, which a repetition would only repeat. Its push is lost, and the log
 * has the error. Changes of rights are repeated in any case.
 */
const isByDesign = (kind: Kind, fault: string): boolean =>
  kind === "throw" &&
  fault.startsWith("(done)") &&
  !fault.endsWith(" is not ended");

void t.test(
  "each call of the store fails once",
  embedded("wraps SQLite"),
  async (t) => {
    const faults = new Faults();
    const house = await openFaultyHouse(t, faults);
    const limit = pLimit(AT_ONCE);
    const all = Object.entries(rows).filter(([name]) =>
      name.startsWith(wanted),
    );
    let runs = 0;
    /** The calls that have failed for a row of each module. */
    const done = new Set<string>();
    await Promise.all(
      all.map(([name, row]) =>
        limit(async () => {
          const run = async (n: number, kind: Kind) => {
            runs++;
            const entry = [name, row] as const;
            const outcome = await runWithFault(house, faults, entry, n, kind);
            for (const fault of outcome.faults) {
              if (isByDesign(kind, fault)) continue;
              t.fail(`${name}: ${outcome.calls[n]} ${kind}: ${fault}`);
            }
            return outcome.calls;
          };
          const [module] = name.split(/[. ]/, 1);
          const calls = await run(Infinity, "busy");
          for (const [n, call] of calls.entries()) {
            const isFirst = calls.indexOf(call) === n;
            const key = `${module} ${call} ${isFirst}`;
            const way = kinds[(done.size + n) % kinds.length]!;
            const ways = inAllWays ? kinds : [way];
            // A read that another row makes for its answer takes away a right here.
            const isOther = row.ends === undefined && done.has(key);
            if (isOther && !inAllWays) continue;
            done.add(key);
            for (const kind of ways) await run(n, kind);
          }
          t.pass(name);
        }),
      ),
    );
    t.comment(`${runs} runs`);
  },
);
