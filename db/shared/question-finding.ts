import { absent } from "../rules/preconditions.js";
import { QUESTION_COLUMNS, type QuestionRow } from "../rules/question-rows.js";
import { expectRoom, PLACE, type Place } from "./places.js";
import type { Sql } from "./sql.js";

const FIND = `SELECT ${PLACE}, ${QUESTION_COLUMNS} FROM (VALUES (1)) AS place
  LEFT JOIN questions AS q ON q.world_id = $1 AND q.room_id = $2 AND q.id = $4`;

/** Finds a question, its room and a user, as writes need them. */
export const questionFinder =
  (sql: Sql) =>
  /**
   * @param user none if null.
   * @throws {StoreError} `absent` on `room` or `question`.
   */
  async (
    world: string,
    room: string,
    id: string,
    user: string | null,
  ): Promise<Place & QuestionRow> => {
    const params = [world, room, user, id];
    const found = (await sql.one<Place & QuestionRow>(FIND, params))!;
    expectRoom(found);
    if ((found.id as unknown) === null) throw absent("question");
    return found;
  };
