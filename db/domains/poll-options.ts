import {
  BY_POSITION,
  OPTION_COLUMNS,
  type OptionPlan,
  type OptionRow,
  type SavedOption,
} from "../rules/poll-rows.js";
import type { Sql } from "./sql.js";

const SELECT = `SELECT ${OPTION_COLUMNS} FROM poll_options AS o
  WHERE o.world_id = $1 AND o.poll = $2 ORDER BY ${BY_POSITION}`;

const UPDATE = `UPDATE poll_options SET content = $3, position = $4
  WHERE world_id = $1 AND number = $2`;

const REMOVE = "DELETE FROM poll_options WHERE world_id = $1 AND number = ANY ($2)";

const NEXT_CHANGE = `UPDATE polls SET changed = changed + 1
  WHERE world_id = $1 AND number = $2 RETURNING changed`;

const LOSE = `UPDATE poll_ballots SET changed = $2 WHERE world_id = $1 AND number IN (
    SELECT ballot FROM poll_votes WHERE world_id = $1 AND option = ANY ($3))`;

/** The options of polls, as writes change them. */
export function optionWrites(sql: Sql) {
  /** Stores new options of a poll. */
  const add = (world: string, poll: number, options: readonly SavedOption[]) =>
    sql.insert(
      "poll_options",
      options.map(({ id, content, order }) => ({
        world_id: world,
        poll,
        id,
        content,
        position: order,
      })),
    );

  return {
    add,

    /** Replaces the options of a poll. @returns them in their order. */
    async replace(
      world: string,
      poll: number,
      present: readonly OptionRow[],
      { kept, removed }: OptionPlan,
    ): Promise<OptionRow[]> {
      const numbers = removed.map(({ number }) => number);
      // Their voters learn of the loss.
      if (removed.some(({ votes }) => votes > 0)) {
        const changed = await sql.value<number>(NEXT_CHANGE, [world, poll]);
        await sql.run(LOSE, [world, changed, numbers]);
      }
      if (numbers.length > 0) await sql.run(REMOVE, [world, numbers]);
      const old = new Map(present.map((option) => [option.number, option]));
      for (const { number, content, order } of kept) {
        const option = number === undefined ? undefined : old.get(number);
        if (!option) continue;
        if (option.content === content && option.order === order) continue;
        await sql.run(UPDATE, [world, number, content, order]);
      }
      await add(
        world,
        poll,
        kept.filter(({ number }) => number === undefined),
      );
      return sql.all<OptionRow>(SELECT, [world, poll]);
    },
  };
}
