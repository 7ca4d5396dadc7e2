import pLimit from "p-limit";
import t from "tap";
import type { Entry } from "../../db/log/entries.js";
import { type CommandRow, commandOf } from "../../conformance/row.js";
import { rows } from "../../conformance/rows/index.js";
import { Seats } from "../../conformance/seats.js";
import { type House, openHouse } from "./house.js";
import { StoreStage } from "./store-stage.js";

// Who acted, as the log says of each command. test/routes/authors.test.ts does the same
// for routes.

/** How many commands run at a time. */
const AT_ONCE = 6;

let worlds = 0;

/**
 * Runs the command of a row.
 * @returns the entries that it and the login before it appended, and the id of its user.
 */
async function entriesOf(house: House, name: string, row: CommandRow) {
  const { store } = house.servers[0].app;
  const world = `author-${++worlds}`;
  const stage = new StoreStage(store, world, row.as ?? "member");
  const enters = row.before?.enters !== false;
  const seats = new Seats(house, stage, enters, (audience, fault) => {
    throw new Error(`${audience}: ${fault}`);
  });
  try {
    await stage.furnish();
    if (row.before?.joined !== false) await stage.join("me");
    stage.payload = (await row.payload?.(stage)) ?? null;
    const [head] = await store.log.heads([world]);
    await seats.fill(["me", "neighbor"]);
    const { client } = seats.of("me");
    const [answer] = await client.call(commandOf(name), stage.payload);
    if (answer === "error") throw new Error(`${name} is refused`);
    await seats.settled();
    const { entries } = await store.log.since(world, head!.seq, 100);
    return { entries, user: stage.ids.me };
  } finally {
    seats.clear();
  }
}

const said = ({ type, by }: Entry) => `${type} by ${JSON.stringify(by)}`;

void t.test("the author of what a command appends is its user", async (t) => {
  const house = await openHouse(t);
  const limit = pLimit(AT_ONCE);
  const appending = new Set<string>();
  const commands = Object.entries(rows).flatMap(([name, row]) =>
    "act" in row ? [] : [[name, row] as const],
  );
  await Promise.all(
    commands.map(([name, row]) =>
      limit(async () => {
        const { entries, user } = await entriesOf(house, name, row);
        if (entries.length > 0) appending.add(commandOf(name));
        const odd = entries.filter(({ by }) =>
          by.kind === "users"
            ? by.user
            : by.kind !== "user" || by.user !== user,
        );
        t.strictSame(odd.map(said), [], name);
      }),
    ),
  );
  t.ok(appending.size > 30, `${appending.size} commands append`);
});
