import type { Delivery, MessageDraft } from "../../contract/chat.js";
import { type ChannelRow, MESSAGE } from "../../rules/chat-rows.js";
import { absent, denied } from "../../rules/preconditions.js";
import { createChannel, expectSender } from "./chat-channels.js";
import { readDeliveries } from "./chat-events.js";
import { notifying, post, posting, SEEN } from "./chat-posts.js";
import type { Log } from "../log/log.js";
import type { Sql } from "../../shared/sql.js";

const MEMBERSHIP =
  "EXISTS (SELECT 1 FROM chat_members AS m WHERE m.world_id = $1 AND m.channel = $2::bigint AND m.user_id = users.id)";

const SEND = {
  room: joined(
    SEEN.room,
    notifying(
      `users.id = ANY($12::text[]) AND ($13::boolean OR ${MEMBERSHIP})`,
    ),
  ),
  direct: joined(
    SEEN.direct,
    notifying(
      "users.id IN (SELECT user_id FROM chat_members WHERE world_id = $1 AND channel = $2::bigint)",
    ),
  ),
};

const EDITED = `edited AS (
  INSERT INTO chat_edits (world_id, event, edit) VALUES ($1, $6::bigint, $9::bigint)
  ON CONFLICT (world_id, event) DO UPDATE SET edit = excluded.edit)`;

const OF_CHANNEL = "world_id = $1 AND channel = $2::bigint";

// The edits before the last one are erased already.
const EDIT = replacing(`blanked AS (
  UPDATE chat_events SET content = NULL WHERE ${OF_CHANNEL} AND id IN (
    $6::bigint, (SELECT edit FROM chat_edits WHERE world_id = $1 AND event = $6::bigint)))`);

const DELETE = replacing(
  `blanked AS (
    UPDATE chat_events SET content = NULL, deleted = 1
    WHERE ${OF_CHANNEL} AND id = $6::bigint AND deleted = 0)`,
  `blanked_edits AS (
    UPDATE chat_events SET content = NULL, deleted = 1
    WHERE ${OF_CHANNEL} AND replaces = $6::bigint AND deleted = 0)`,
  `forgotten AS (
    DELETE FROM chat_notifications WHERE ${OF_CHANNEL} AND event = $6::bigint)`,
);

/** @param blanked erases content. */
function replacing(...blanked: string[]) {
  const parts = { also: [...blanked, EDITED] };
  return { room: joined(SEEN.room, parts), direct: joined(SEEN.direct, parts) };
}

function joined(
  { also: first, ...seen }: (typeof SEEN)["room" | "direct"],
  { also, ...parts }: { also: string[]; notified?: string },
): string {
  return posting({ also: [...first, ...also], ...seen, ...parts });
}

const kindOf = ({ direct }: ChannelRow) =>
  direct === null ? "room" : "direct";

/** Stores a message. @see ChatStore.send */
export async function sendMessage(
  sql: Sql,
  log: Log,
  worldId: string,
  id: string,
  draft: MessageDraft,
): Promise<Delivery> {
  const { sender, mentioned = [], notifiesAll = false, volatile } = draft;
  const found = await expectSender(sql, worldId, id, sender, volatile);
  const channel = found ?? (await createChannel(sql, worldId, id));
  const content = JSON.stringify(draft.content);
  const kind = kindOf(channel);
  const more = kind === "room" ? [mentioned, notifiesAll] : [];
  const event = { type: MESSAGE, sender, content };
  return post(sql, log, SEND[kind], worldId, channel, event, more);
}

/** An event that an edit or a deletion is about. */
interface Replaced {
  id: number;
  type: number;
  sender: string | null;
  deleted: number;
}

const FIND_REPLACED = `
  SELECT o.id, o.type, o.sender, o.deleted FROM chat_events AS named
  JOIN chat_events AS o ON o.world_id = $1 AND o.channel = $2::bigint
    AND o.id = coalesce(named.replaces, named.id)
  WHERE named.world_id = $1 AND named.channel = $2::bigint AND named.id = $3::bigint`;

/** Edits or deletes a message. @see ChatStore.send */
export async function replaceMessage(
  sql: Sql,
  log: Log,
  worldId: string,
  id: string,
  draft: MessageDraft & { replaces: number },
): Promise<Delivery> {
  const { sender, content, volatile } = draft;
  const deletes = content.type === "deleted";
  const channel = await expectSender(sql, worldId, id, sender, volatile);
  if (!channel) throw absent("event");
  const replaced = await expectReplaced(sql, worldId, channel, draft, deletes);
  const before = await deletionOf(sql, worldId, id, replaced);
  if (before) return before;
  log.erased("chat_events", ...(deletes ? ["chat_notifications"] : []));
  const { id: replaces } = replaced;
  const event = {
    ...{ type: MESSAGE, sender, replaces, deleted: Number(deletes) },
    content: deletes ? null : JSON.stringify(content),
  };
  const text = (deletes ? DELETE : EDIT)[kindOf(channel)];
  const delivery = await post(sql, log, text, worldId, channel, event);
  if (replaced.sender !== sender) log.moderated(delivery, replaced.sender);
  return delivery;
}

/**
 * The message that a draft edits or deletes.
 * @throws {StoreError} `absent` on `event`, or `denied`.
 */
async function expectReplaced(
  sql: Sql,
  worldId: string,
  channel: ChannelRow,
  draft: MessageDraft & { replaces: number },
  deletes: boolean,
): Promise<Replaced> {
  const { replaces, sender, moderates } = draft;
  const values = [worldId, channel.number, replaces];
  const replaced = Number.isSafeInteger(replaces)
    ? await sql.one<Replaced>(FIND_REPLACED, values)
    : undefined;
  if (replaced?.type !== MESSAGE) throw absent("event");
  if (replaced.sender !== sender) {
    const mayDelete = moderates && channel.direct === null;
    if (!deletes || !mayDelete) throw denied("It is another user's.");
  }
  if (replaced.deleted && !deletes) throw denied("It is deleted.");
  return replaced;
}

const LAST_EDIT =
  "SELECT edit FROM chat_edits WHERE world_id = $1 AND event = $2::bigint";

/** The event that deleted a message; undefined if an erasure did it. */
async function deletionOf(
  sql: Sql,
  worldId: string,
  channel: string,
  { id, deleted }: Replaced,
): Promise<Delivery | undefined> {
  if (!deleted) return undefined;
  const last = await sql.one<{ edit: number }>(LAST_EDIT, [worldId, id]);
  if (!last) return undefined;
  return (await readDeliveries(sql, worldId, channel, last.edit - 1, 1))[0];
}
