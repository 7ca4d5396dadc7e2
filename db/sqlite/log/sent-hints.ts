import type { Delivery } from "../../contract/chat.js";
import { type Change, chatEntry, type Entry } from "../../log/entries.js";
import type { Author } from "../../contract/author.js";
import type { Hint } from "../../log/log.js";

/** The fields of each hint. */
type Head = [
  previous: number,
  world: string,
  tag: number,
  kind: Author["kind"],
  user: string | undefined,
  connection: string | undefined,
  token: string | undefined,
];

/**
 * A hint as it travels between the threads: by position, because to copy the names of
 * fields takes most of the time. The delivery of a chat event has its number and time.
 * A change travels as JSON, which is copied faster than an object.
 */
export type SentHint =
  | [...Head, delivery: Delivery]
  | [...Head, change: string, seq: number, at: number];

export const toSent = ({ entry, previous }: Hint<Entry>): SentHint => {
  const { kind, user, connection, token } = entry.by;
  if (entry.type === "chat.event") {
    const { world, tag, delivery } = entry;
    return [previous, world, tag, kind, user, connection, token, delivery];
  }
  const { world, seq, tag, at, by: _, ...change } = entry;
  const json = JSON.stringify(change);
  return [previous, world, tag, kind, user, connection, token, json, seq, at];
};

export const fromSent = (sent: SentHint): Hint<Entry> => {
  const [previous, world, tag, kind, user, connection, token] = sent;
  const by: { -readonly [K in keyof Author]: Author[K] } = { kind };
  if (user !== undefined) by.user = user;
  if (connection !== undefined) by.connection = connection;
  if (token !== undefined) by.token = token;
  if (sent.length === 8) {
    return { entry: chatEntry(world, tag, sent[7], by), previous };
  }
  const [, , , , , , , json, seq, at] = sent;
  const change = JSON.parse(json) as Change;
  return { entry: { world, seq, tag, at, by, ...change }, previous };
};
