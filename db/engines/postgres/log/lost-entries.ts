import type { ClientBase } from "pg";
import { Draft } from "../../../log/draft.js";
import { SERVER } from "../../../contract/author.js";
import type { Position } from "../../../log/log.js";
import { lockOfWorld } from "../engine/locks.js";
import { headOf, positionIn, storing } from "./log.js";
import { sqlOn } from "../engine/sql.js";

/** How many numbers other processes may have seen that this one has not. */
const MARGIN = 1_000_000;

/** The positions that are not in the log of their world. */
const LOST = `
  SELECT world FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS known (world, seq, tag)
  WHERE NOT EXISTS (SELECT FROM log_heads AS h
      WHERE h.world_id = world AND h.seq = known.seq AND h.tag = known.tag)
    AND NOT EXISTS (SELECT FROM log AS l
      WHERE l.world_id = world AND l.seq = known.seq AND l.tag = known.tag)
    AND NOT EXISTS (SELECT FROM chat_events AS e
      WHERE e.world_id = world AND e.id + 0 = known.seq AND e.tag = known.tag)`;

/**
 * Sees to it that no number of an entry is given twice. A standby that lagged when it took
 * over, or a database that was restored, lacks the last entries, and would give their
 * numbers to others. People may know the first ones, and would never get the second.
 * @param seen the last entries in the logs that this process has seen.
 */
export async function raiseLost(
  client: ClientBase,
  seen: ReadonlyMap<string, Position>,
): Promise<void> {
  const known = [...seen].filter(([, { seq }]) => seq > 0);
  if (known.length === 0) return;
  const lost = await sqlOn((query) => client.query(query)).column<string>(LOST, [
    known.map(([world]) => world),
    known.map(([, { seq }]) => seq),
    known.map(([, { tag }]) => tag),
  ]);
  for (const world of lost) await raise(client, world, seen.get(world)!.seq);
}

/** Appends an entry whose number is far above a number that was seen, and above all that there are. */
async function raise(client: ClientBase, world: string, seen: number): Promise<void> {
  await client.query(`BEGIN ISOLATION LEVEL READ COMMITTED; ${lockOfWorld(world)}`);
  // A statement of its own, so that it sees all commits before the release of the lock.
  const { rows } = await client.query<Record<"seq" | "tag", unknown>>(
    `${headOf(world)} FOR UPDATE`,
  );
  const head = positionIn(rows[0]);
  const draft = new Draft(() => head);
  draft.skip(world, Math.max(seen - head.seq, 0) + MARGIN - 1);
  draft.append(world, { type: "world.raised" }, SERVER);
  draft.finish();
  await client.query([...storing(draft, true), "COMMIT"].join("; "));
}
