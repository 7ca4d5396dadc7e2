import type { ChatEvent } from "../../contract/chat.js";
import {
  MAX_REACTIONS,
  type ReactionChange,
  tooManyReactions,
} from "../../rules/chat-rows.js";
import { absent } from "../../rules/preconditions.js";
import { expectSender } from "./chat-channels.js";
import { readEvent, toEventsWithReactions } from "./chat-events.js";
import type { Log } from "../log/log.js";
import type { Sql } from "../../shared/sql.js";

const ADD =
  "INSERT INTO chat_reactions (world_id, event, reaction, user_id) VALUES ($1, $2::bigint, $3, $4)";

const REMOVE =
  "DELETE FROM chat_reactions WHERE world_id = $1 AND event = $2::bigint AND reaction = $3 AND user_id = $4";

/** @see ChatStore.react */
export async function react(
  sql: Sql,
  log: Log,
  worldId: string,
  id: string,
  event: number,
  { user, reaction, remove, volatile }: ReactionChange,
): Promise<ChatEvent> {
  await expectSender(sql, worldId, id, user, volatile);
  const row = await readEvent(sql, worldId, id, event);
  if (!row) throw absent("event");
  const { reactions } = row;
  const at = reactions.findIndex(
    ([given, by]) => given === reaction && by === user,
  );
  const values = [worldId, event, reaction, user];
  const isThere = at >= 0;
  if (isThere !== remove) return toEventsWithReactions(id, [row])[0]!;
  log.append({ type: "chat.reacted", channel: id, event });
  if (remove) {
    await sql.run(REMOVE, values);
    reactions.splice(at, 1);
  } else {
    if (reactions.length >= MAX_REACTIONS) throw tooManyReactions();
    await sql.run(ADD, values);
    reactions.push([reaction, user]);
  }
  return toEventsWithReactions(id, [row])[0]!;
}
