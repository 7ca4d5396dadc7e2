import pLimit from "p-limit";
import t from "tap";
import { commandOf } from "../../../conformance/row.js";
import { rows } from "../../../conformance/rows/all-rows.js";
import { verify } from "../../../conformance/verify.js";
import type { Entry } from "../../../db/log/entries.js";
import { commands, pushes } from "../../../schemas/live/index.js";
import { LocalServer } from "./local-server.js";

// docs/conformance.md explains how to add a row.

/** The number of rows that run concurrently; most rows spend their time waiting. */
const AT_ONCE = 12;

/**
 * Pushes not covered by rows: those at a login, and those to connections that request changes.
 * `test/protocol/live/world-changes.test.ts` compares the changes of a world with a fresh login, and
 * `test/protocol/people/guests.test.ts` lets guests wait.
 */
const OTHERS = ["authenticated", "world.changed", "guest.waiting"];

const wanted = process.env.ROW ?? "";

void t.test("each command and each push has a row", async (t) => {
  const named = new Set(Object.keys(rows).map(commandOf));
  const missing = Object.keys(commands).filter((name) => !named.has(name));
  t.same(missing, [], "commands without a row");
  const pushed = new Set(
    Object.values(rows).flatMap(({ pushes = [] }) => pushes.map(([it]) => it)),
  );
  const unseen = Object.keys(pushes).filter((name) => !pushed.has(name) && !OTHERS.includes(name));
  t.same(unseen, [], "pushes without a row");
});

/** The commands that appended entries, and the entries whose author is not the caller. */
const appending = new Set<string>();
const strange: string[] = [];

void t.test("rows", async (t) => {
  const server = await LocalServer.open(t);
  const { log } = server.node.store;
  const limit = pLimit(AT_ONCE);
  await Promise.all(
    Object.entries(rows)
      .filter(([name]) => name.startsWith(wanted))
      .map(([name, row]) =>
        limit(async () => {
          const stage = await server.stage(row.as);
          let before = 0;
          const faults = await verify(stage, name, row, {
            async before() {
              const [head] = await log.heads([stage.world]);
              before = head!.seq;
            },
            async after() {
              if ("act" in row) return;
              const { entries } = await log.since(stage.world, before, 100);
              if (entries.length > 0) appending.add(commandOf(name));
              const others = entries.filter((entry) => !isBy(entry, stage.ids.me));
              strange.push(
                ...others.map(({ type, by }) => `${name}: ${type} ${JSON.stringify(by)}`),
              );
            },
          });
          for (const fault of faults) t.fail(`${name}: ${fault}`);
          if (faults.length === 0) t.pass(name);
        }),
      ),
  );
  t.same(server.faults, []);
});

const isBy = ({ by }: Entry, user: string): boolean =>
  by.kind === "users" ? !by.user : by.kind === "user" && by.user === user;

// test/protocol/routes/refusals.test.ts checks the same for routes.
void t.test("the author of what a command appends is its user", async (t) => {
  t.same(strange, []);
  if (wanted === "") t.ok(appending.size > 30, `${appending.size} commands append`);
});
