import type { Sql } from "../../shared/sql.js";

const removal = (condition: string) => `
  WITH removed AS (DELETE FROM chat_channels WHERE ${condition} RETURNING world_id, number, last_event)
  INSERT INTO chat_remains (world_id, channel)
  SELECT world_id, number FROM removed WHERE last_event > 0`;

const OF_WORLD = removal("world_id = $1");
const OF_ROOM = removal("world_id = $1 AND id = $2");

// Channels are removed at once. Their remaining events are erased later.

export const removeChannelsOfWorld = (sql: Sql, world: string) =>
  sql.run(OF_WORLD, [world]);

export const removeChannelOfRoom = (sql: Sql, world: string, room: string) =>
  sql.run(OF_ROOM, [world, room]);
