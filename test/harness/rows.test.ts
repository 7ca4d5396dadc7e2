import pLimit from "p-limit";
import t from "tap";
import { commands, pushes } from "../../schemas/live/index.js";
import { commandOf } from "../../conformance/row.js";
import { rows } from "../../conformance/rows/index.js";
import { verify } from "../../conformance/verify.js";
import { openHouse } from "./house.js";

// README.md says how to add a row.

/** How many rows run at a time: most of them wait for most of the time. */
const AT_ONCE = 12;

/**
 * Pushes that no row has: at a login, and to connections that ask for changes.
 * `test/live/changes.test.ts` compares those with a fresh login.
 */
const OTHERS = ["authenticated", "world.changed"];

const wanted = process.env.ROW ?? "";

void t.test("each command and each push has a row", async (t) => {
  const named = new Set(Object.keys(rows).map(commandOf));
  const missing = Object.keys(commands).filter((name) => !named.has(name));
  t.same(missing, [], "commands without a row");
  const pushed = new Set(
    Object.values(rows).flatMap(({ pushes = [] }) => pushes.map(([it]) => it)),
  );
  const unseen = Object.keys(pushes).filter(
    (name) => !pushed.has(name) && !OTHERS.includes(name),
  );
  t.same(unseen, [], "pushes without a row");
});

void t.test("rows", async (t) => {
  const house = await openHouse(t);
  const limit = pLimit(AT_ONCE);
  await Promise.all(
    Object.entries(rows)
      .filter(([name]) => name.startsWith(wanted))
      .map(([name, row]) =>
        limit(async () => {
          const stage = house.stage(row.as ?? "member");
          const faults = await verify(house, stage, name, row);
          for (const fault of faults) t.fail(`${name}: ${fault}`);
          if (faults.length === 0) t.pass(name);
        }),
      ),
  );
});
