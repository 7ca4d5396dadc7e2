import { perEngine as eachEngine, type Sql } from "../sql.js";

// SQLite keeps the rows of events that are gone: no row of their table may move, as it would leave
// its bytes behind. An erased text is overwritten there with as many zero bytes.

/** How the statements about `chat_events AS e` differ between the engines. */
export interface EventDialect {
  readonly engine: Sql["engine"];
  /** The condition for an event that is not gone. */
  readonly isPresent: string;
  /** The id of an event, where the index of all events of a world finds it. */
  readonly idInWorld: string;
  /** The value of an erased content, which comes from `chat_events`. */
  readonly blank: string;
  /** Removes events. A condition follows. */
  readonly remove: string;
}

const BLANK = "zeroblob(length(CAST(content AS BLOB)))";

const DIALECTS: Readonly<Record<Sql["engine"], EventDialect>> = {
  sqlite: {
    engine: "sqlite",
    isPresent: "e.gone = 0",
    idInWorld: "e.id",
    blank: BLANK,
    remove: `UPDATE chat_events AS e SET content = ${BLANK}, gone = 1`,
  },
  postgres: {
    engine: "postgres",
    isPresent: "TRUE",
    idInWorld: "(e.id + 0)",
    blank: "NULL",
    remove: "DELETE FROM chat_events AS e",
  },
};

/** Makes the texts of statements once for each engine. */
export const perEngine = <T>(
  make: (dialect: EventDialect) => T,
): ((sql: Pick<Sql, "engine">) => T) => eachEngine(DIALECTS, make);
