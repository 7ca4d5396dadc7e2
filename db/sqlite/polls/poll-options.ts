import type { OptionPlan, SavedOption } from "../../rules/poll-options.js";
import {
  BY_POSITION,
  OPTION_COLUMNS,
  type OptionRow,
} from "../../rules/poll-rows.js";
import type { Connection } from "../engine/connection.js";

/** The options of polls, as writes find and change them. */
export function optionWrites(db: Connection) {
  const select = db.prepare<[string, number], OptionRow>(
    `SELECT ${OPTION_COLUMNS} FROM poll_options AS o WHERE o.world_id = ? AND o.poll = ? ORDER BY ${BY_POSITION}`,
  );
  const insert = db.prepare<[string, number, string, string, number]>(
    "INSERT INTO poll_options (world_id, poll, id, content, position) VALUES (?, ?, ?, ?, ?)",
  );
  const update = db.prepare<[string, number, number]>(
    "UPDATE poll_options SET content = ?, position = ? WHERE number = ?",
  );
  const remove = db.prepare<[number]>(
    "DELETE FROM poll_options WHERE number = ?",
  );

  function save(
    worldId: string,
    poll: number,
    options: readonly SavedOption[],
  ): void {
    for (const { id, content, order, number } of options) {
      if (number === undefined) insert.run(worldId, poll, id, content, order);
      else update.run(content, order, number);
    }
  }

  return {
    /** The options of a poll in their order. */
    of: (worldId: string, poll: number): OptionRow[] =>
      select.all(worldId, poll),

    /** Stores the options of a new poll. */
    add: save,

    /** Replaces the options of a poll. */
    replace(
      worldId: string,
      poll: number,
      { kept, removed }: OptionPlan,
    ): void {
      for (const { number } of removed) remove.run(number);
      save(worldId, poll, kept);
    },
  };
}
