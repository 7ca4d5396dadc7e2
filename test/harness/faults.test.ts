import pLimit from "p-limit";
import t from "tap";
import { embedded } from "../shared.js";
import { runWithFault } from "./fault-run.js";
import { openFaultyHouse } from "./faulty-house.js";
import { Faults, kinds } from "./faulty-store.js";
import { rows } from "./rows/index.js";

// Each call of the store that a row leads to fails once: those of its command, and those
// of all who listen to what it wrote.

const AT_ONCE = 8;
/** More calls than any row leads to. */
const MOST = 60;

const wanted = process.env.ROW ?? "";
/** Otherwise each call fails in one way, and the next one in another. */
const inAllWays = process.env.FAULTS === "all";

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
    await Promise.all(
      all.map((entry, i) =>
        limit(async () => {
          for (let n = 0; n < MOST; n++) {
            const ways = inAllWays ? kinds : [kinds[(n + i) % kinds.length]!];
            let failed: string | undefined;
            for (const kind of ways) {
              const outcome = await runWithFault(house, faults, entry, n, kind);
              runs++;
              ({ failed } = outcome);
              for (const fault of outcome.faults) {
                t.fail(`${entry[0]}: ${failed} ${kind}: ${fault}`);
              }
            }
            if (failed === undefined) break;
          }
          t.pass(entry[0]);
        }),
      ),
    );
    t.comment(`${runs} runs`);
  },
);
