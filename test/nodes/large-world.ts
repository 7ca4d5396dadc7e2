import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import type { TableTarget } from "../../db/copies/dump.js";
import type { FileStore } from "../../db/contract/files.js";
import { foldCase } from "../../db/rules/rows.js";
import {
  type Column,
  type Row,
  SEQUENCES,
  type Table,
  TABLES,
  type Value,
} from "../../db/copies/tables.js";
import { keyOf, worldOf } from "../helper.js";

/** How much a large world has. */
export interface Size {
  rooms: number;
  users: number;
  /** In one channel for each 1,000 of them. */
  events: number;
  files: number;
}

/** What {@link largeWorld} has made. */
export const LARGE = "large";

/** Names a thing by its number, with a width that keeps the order. */
const named = (prefix: string, i: number) =>
  `${prefix}-${String(i).padStart(8, "0")}`;

export const roomId = (i: number): string => named("room", i);
export const userId = (i: number): string => named("user", i);
export const fileKey = (i: number): string =>
  `pub/${LARGE}/${String(i).padStart(36, "0")}.${"k".repeat(12)}.pdf`;

/** When everything has happened, in milliseconds since 1970. */
const EPOCH = Date.UTC(2026, 0, 1);
export const modifiedAt = (i: number): Date => new Date(EPOCH + i * 1001);

const bytesOf = (i: number): Buffer =>
  Buffer.from(`%PDF-1.4 ${i} `.padEnd(100 + ((i * 7919) % 20_000), "x"));

const PER_CHANNEL = 1000;

/** Texts that some engine may take amiss. */
const ODD = ["NUL \0 \u0001 \u0002", "Ünïcödé 🎈", "ς Σ K", 'a\nb\t"c\\'];
const oddText = (i: number) => `${ODD[i % ODD.length]!} ${i}`;

/**
 * Fills an empty store with one world that has something of everything, and puts
 * its files in place. It finishes the target.
 */
export async function largeWorld(
  target: TableTarget,
  files: FileStore,
  size: Size,
): Promise<void> {
  const contents = contentsOf(size);
  for (const table of TABLES) {
    const [count, own] = contents[table.name] ?? [fewOf(size)];
    const batches = async function* () {
      for (let from = 1; from <= count; from += 1000) {
        const length = Math.min(1000, count + 1 - from);
        yield Array.from({ length }, (_, i): Row => {
          const values = own?.(from + i) ?? {};
          return table.columns.map((column) =>
            column.name in values
              ? values[column.name]!
              : valueOf(table, column, from + i),
          );
        });
      }
    };
    await target.load(table, batches());
  }
  for (let i = 0; i < size.files; i++) {
    const source = Readable.from([bytesOf(i)]);
    await files.put(fileKey(i), source, async () => {}, modifiedAt(i));
  }
  await target.finish();
}

/** How many rows most tables have. */
const fewOf = ({ rooms, users, events }: Size) =>
  Math.min(1000, rooms, users, events);

/** The id of the row of a table with a number. */
const idIn = (table: string, i: number): string =>
  table === "worlds"
    ? LARGE
    : table === "rooms"
      ? roomId(i)
      : table === "users"
        ? userId(i)
        : named(table, i);

/** The value of a column in the row with a number, unless {@link contentsOf} has another. */
function valueOf({ name: table }: Table, column: Column, i: number): Value {
  const { name, kind, nullable, of, values, json, isTime } = column;
  if (name === "world_id") return LARGE;
  if (of !== undefined) return kind === "text" ? idIn(of, i) : i;
  if (name === "id") return idIn(table, i);
  if (name === "user_id") return userId(i);
  if (name === "number") return i;
  if (isTime) return EPOCH + i;
  if (values) return values[0]!;
  if (nullable) return null;
  if (json) return json === "list" ? "[]" : "{}";
  return kind === "text" ? oddText(i) : 1;
}

/** How many rows a table has, and their values that do not follow from the columns. */
type Content = [count: number, own?: (i: number) => Record<string, Value>];

function contentsOf(size: Size): Record<string, Content> {
  const { rooms, users, events, files } = size;
  const channels = Math.min(Math.ceil(events / PER_CHANNEL), rooms);
  const channelOf = (event: number) => 1 + (event % channels);
  const lastOf = (channel: number) =>
    Math.max(0, events - ((events - (channel - 1)) % channels));
  const few = fewOf(size);
  const { config, permission_config, ...world } = worldOf(LARGE);
  return {
    worlds: [
      1,
      () => ({
        ...{ title: world.title, domain: world.domain, revision: 7 },
        config: JSON.stringify(config),
        permission_config: JSON.stringify(permission_config),
      }),
    ],
    world_issuers: [1, () => ({ ...keyOf(LARGE) })],
    view_groups: [1, () => ({ id: 3, rule: "", rooms })],
    rooms: [
      rooms,
      (i) => ({
        ...{ view_group: 3, name: oddText(i), description: `Room ${i}` },
        module_config: '[{"type":"chat.native","config":{}}]',
        sorting_priority: (i * 7919) % 1000,
        name_folded: foldCase(oddText(i)),
        description_folded: foldCase(`Room ${i}`),
        extras: i % 3 === 0 ? '{"pretalx_id":7}' : null,
      }),
    ],
    room_modules: [rooms, () => ({ type: "chat.native" })],
    users: [
      users,
      (i) => ({
        token_id: `token-${i}`,
        profile: JSON.stringify({ display_name: oddText(i) }),
        traits: '["attendee"]',
        moderation_state: i % 100 === 0 ? "silenced" : "",
        display_name_folded: foldCase(oddText(i)),
      }),
    ],
    blocks: [few - 1, (i) => ({ blocked_id: userId(i + 1) })],
    files: [
      files,
      (i) => ({
        ...{ key: fileKey(i - 1), size: bytesOf(i - 1).length },
        sha256: createHash("sha256")
          .update(bytesOf(i - 1))
          .digest("hex"),
      }),
    ],
    chat_channels: [
      channels,
      (i) => ({
        ...{ id: roomId(i), last_event: lastOf(i), last_message: lastOf(i) },
      }),
    ],
    // Every 50th message is deleted.
    chat_events: [
      events,
      (i) => ({
        ...{ id: i, channel: channelOf(i), type: 0, tag: 2 ** 40 + i },
        replaces: null,
        ...{ sender: userId(1 + (i % users)), deleted: i % 50 ? 0 : 1 },
        content:
          i % 50 === 0
            ? null
            : JSON.stringify({ type: "text", body: oddText(i) }),
      }),
    ],
    chat_edits: [0],
    chat_members: [users, () => ({ channel: 1 })],
    chat_readers: [users, () => ({ channel: 1 })],
    chat_notifications: [1, () => ({ channel: channelOf(1) })],
    // Of a world that is gone, and of all worlds, too.
    log_heads: [
      3,
      (i) => ({
        world_id: ["", "gone", LARGE][i - 1]!,
        seq: i < 3 ? 3 : events + few + 10,
        tag: 7,
      }),
    ],
    log: [
      few,
      (i) => ({
        ...{ seq: events + i, tag: 2 ** 47 - i, type: "user.updated" },
        ...{ author: '{"kind":"api"}', audit: null },
        detail: JSON.stringify({ user: userId(i) }),
        ...(i % 2 === 0 && {
          ...{ audit: "user.admin_updated", changes: "[]", request: `r${i}` },
        }),
      }),
    ],
    log_kept: [
      few,
      (seq) => ({
        ...{ seq, type: "world.updated", detail: "{}", changes: "[]" },
        ...{ author: '{"kind":"server"}', audit: "world.updated" },
      }),
    ],
    programs: [1, () => ({ settings: "" })],
    program_places: [1, () => ({ place: "" })],
    push_keys: [1, () => ({ name: "vapid" })],
    webhooks: [1, () => ({ types: '["*"]', enabled: 0 })],
    // More were given than are left.
    sequences: [
      SEQUENCES.length,
      (i) => ({ name: SEQUENCES[i - 1]!, last: 10 * Math.max(events, few) }),
    ],
  };
}
