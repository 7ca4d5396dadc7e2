import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import type { TableTarget } from "../../db/copies/dump.js";
import type { FileStore } from "../../db/contract/files.js";
import { foldCase } from "../../db/rules/rows.js";
import {
  type Row,
  SEQUENCES,
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
  const rows = rowsOf(size);
  for (const table of TABLES) {
    const make = rows[table.name];
    if (!make) throw new Error(`A large world has no ${table.name}.`);
    const names = table.columns.map(({ name }) => name);
    const batches = async function* () {
      let batch: Row[] = [];
      for (const row of make()) {
        batch.push(names.map((name) => row[name] ?? null));
        if (batch.length < 1000) continue;
        yield batch;
        batch = [];
      }
      if (batch.length > 0) yield batch;
    };
    await target.load(table, batches());
  }
  for (let i = 0; i < size.files; i++) {
    const source = Readable.from([bytesOf(i)]);
    await files.put(fileKey(i), source, async () => {}, modifiedAt(i));
  }
  await target.finish();
}

type Make = () => Iterable<Record<string, Value>>;

function* times(
  count: number,
  make: (i: number) => Record<string, Value>,
): Iterable<Record<string, Value>> {
  for (let i = 1; i <= count; i++) yield make(i);
}

function rowsOf({ rooms, users, events, files }: Size): Record<string, Make> {
  const world_id = LARGE;
  const channels = Math.min(Math.ceil(events / PER_CHANNEL), rooms);
  const channelOf = (event: number) => 1 + (event % channels);
  const lastOf = (channel: number) => {
    const rest = (events - (channel - 1)) % channels;
    return Math.max(0, events - rest);
  };
  const few = Math.min(1000, rooms, users, events);
  return {
    worlds: () => {
      const { title, domain, config, permission_config } = worldOf(LARGE);
      return times(1, () => ({
        id: LARGE,
        title,
        domain,
        config: JSON.stringify(config),
        permission_config: JSON.stringify(permission_config),
        revision: 7,
      }));
    },
    world_issuers: () => {
      const { issuer, audience } = keyOf(LARGE);
      return times(1, () => ({ issuer, audience, world_id }));
    },
    view_groups: () => times(1, () => ({ id: 3, world_id, rule: "", rooms })),
    rooms: () =>
      times(rooms, (i) => ({
        id: roomId(i),
        world_id,
        view_group: 3,
        name: oddText(i),
        description: `Room ${i}`,
        module_config: '[{"type":"chat.native","config":{}}]',
        permission_config: "{}",
        sorting_priority: (i * 7919) % 1000,
        name_folded: foldCase(oddText(i)),
        description_folded: foldCase(`Room ${i}`),
        revision: 1 + (i % 5),
        extras: i % 3 === 0 ? '{"pretalx_id":7}' : null,
      })),
    room_modules: () =>
      times(rooms, (i) => ({
        world_id,
        room_id: roomId(i),
        type: "chat.native",
      })),
    users: () =>
      times(users, (i) => ({
        id: userId(i),
        world_id,
        token_id: `token-${i}`,
        profile: JSON.stringify({ display_name: oddText(i) }),
        traits: '["attendee"]',
        last_seen: EPOCH + i,
        moderation_state: i % 100 === 0 ? "silenced" : "",
        last_login: i % 2 === 0 ? EPOCH : null,
        display_name_folded: foldCase(oddText(i)),
      })),
    blocks: () =>
      times(few - 1, (i) => ({
        world_id,
        user_id: userId(i),
        blocked_id: userId(i + 1),
      })),
    files: () =>
      times(files, (i) => {
        const bytes = bytesOf(i - 1);
        return {
          number: i,
          key: fileKey(i - 1),
          world_id,
          user_id: userId(1),
          size: bytes.length,
          sha256: createHash("sha256").update(bytes).digest("hex"),
          created: EPOCH,
        };
      }),
    announcements: () =>
      times(10, (i) => ({
        number: i,
        id: named("announcement", i),
        world_id,
        text: oddText(i),
        state: "draft",
      })),
    chat_channels: () =>
      times(channels, (i) => ({
        number: i,
        id: roomId(i),
        world_id,
        last_event: lastOf(i),
        last_message: lastOf(i),
      })),
    // Every 50th message is deleted.
    chat_events: () =>
      times(events, (i) => ({
        id: i,
        world_id,
        channel: channelOf(i),
        type: 0,
        sender: userId(1 + (i % users)),
        timestamp: EPOCH + i,
        deleted: i % 50 === 0 ? 1 : 0,
        content:
          i % 50 === 0
            ? null
            : JSON.stringify({ type: "text", body: oddText(i) }),
        tag: 2 ** 40 + i,
      })),
    chat_edits: () => [],
    chat_reactions: () =>
      times(few, (i) => ({
        number: i,
        world_id,
        event: i,
        reaction: "+1",
        user_id: userId(i),
      })),
    chat_members: () =>
      times(users, (i) => ({
        number: i,
        world_id,
        channel: 1,
        user_id: userId(i),
        hidden: 0,
      })),
    chat_readers: () =>
      times(users, (i) => ({
        world_id,
        user_id: userId(i),
        channel: 1,
        pointer: i,
      })),
    chat_notifications: () =>
      times(1, () => ({
        world_id,
        user_id: userId(1),
        channel: channelOf(1),
        event: 1,
      })),
    questions: () =>
      times(few, (i) => ({
        number: i,
        id: named("question", i),
        world_id,
        room_id: roomId(i),
        sender: userId(i),
        content: oddText(i),
        state: "visible",
        answered: 0,
        is_pinned: 0,
        timestamp: EPOCH + i,
        score: 1,
        named: 0,
      })),
    question_votes: () =>
      times(few, (i) => ({
        number: i,
        world_id,
        question: i,
        user_id: userId(i),
      })),
    polls: () =>
      times(few, (i) => ({
        number: i,
        id: named("poll", i),
        world_id,
        room_id: roomId(i),
        content: oddText(i),
        state: "open",
        poll_type: "choice",
        is_pinned: 0,
        timestamp: EPOCH + i,
        changed: 1,
      })),
    poll_options: () =>
      times(few, (i) => ({
        number: i,
        id: named("option", i),
        world_id,
        poll: i,
        content: oddText(i),
        position: 1,
        votes: 1,
      })),
    poll_ballots: () =>
      times(few, (i) => ({
        number: i,
        world_id,
        poll: i,
        user_id: userId(i),
        changed: 1,
      })),
    poll_votes: () => times(few, (i) => ({ world_id, ballot: i, option: i })),
    // Of a world that is gone, and of all worlds, too.
    log_heads: () => [
      { world_id: "", seq: 1, tag: 7, pruned: 0 },
      { world_id: "gone", seq: 3, tag: 8, pruned: 2 },
      { world_id, seq: events + few + 10, tag: 9, pruned: 1 },
    ],
    log: () =>
      times(few, (i) => ({
        world_id,
        seq: events + i,
        tag: 2 ** 47 - i,
        at: EPOCH + i,
        type: "user.updated",
        author: '{"kind":"api"}',
        detail: JSON.stringify({ user: userId(i) }),
        ...(i % 2 === 0 && {
          ...{ audit: "user.admin_updated", changes: "[]", request: `r${i}` },
        }),
      })),
    log_kept: () =>
      times(few, (seq) => ({
        ...{ world_id, seq, at: EPOCH, type: "world.updated", detail: "{}" },
        author: JSON.stringify({ kind: "user", user: userId(seq) }),
        ...{ audit: "world.updated", changes: "[]" },
      })),
    programs: () => times(1, () => ({ world_id, stamp: "s", settings: "" })),
    program_places: () =>
      times(1, () => ({ world_id, place: "", shown: "s", changed: "s" })),
    program_sessions: () =>
      times(few, (i) => ({
        ...{ world_id, id: named("session", i), revision: 1, room_id: null },
        ...{ import_id: `import ${i}`, starts_at: EPOCH, ends_at: EPOCH + i },
        ...{ state: "public", title: oddText(i), detail: "{}" },
      })),
    program_speakers: () =>
      times(few, (i) => ({
        ...{ world_id, id: named("speaker", i), revision: 1, picture: null },
        ...{ import_id: null, user_id: userId(i), name: oddText(i) },
        detail: "{}",
      })),
    program_favorites: () =>
      times(few, (i) => ({
        ...{ number: i, world_id, user_id: userId(i) },
        session_id: named("session", i),
      })),
    program_links: () =>
      times(few, (i) => ({ world_id, user_id: userId(i), token: `t${i}` })),
    attendance_counts: () =>
      times(few, (i) => ({
        ...{ world_id, room_id: roomId(1), at: EPOCH + i, people: i },
      })),
    attendance_visits: () =>
      times(few, (i) => ({
        ...{ world_id, room_id: roomId(1), user_id: userId(i) },
        ...{ session_id: "", first: EPOCH, last: EPOCH + i, duration: i },
      })),
    push_keys: () => [{ name: "vapid", public_key: "p", private_key: "q" }],
    push_subscriptions: () =>
      times(few, (i) => ({
        ...{ world_id, user_id: userId(i), endpoint: `https://e/${i}` },
        ...{ p256dh: "p", auth: "a", created: EPOCH },
      })),
    push_claims: () => [{ world_id, name: "message 1", at: EPOCH }],
    room_invites: () => [
      { world_id, room_id: roomId(1), token: "i", ends: EPOCH },
    ],
    webhooks: () =>
      times(1, (number) => ({
        ...{ number, id: named("hook", 1), world_id, types: '["*"]' },
        ...{ url: "https://example.org/", enabled: 0, description: "" },
        ...{ created_at: EPOCH, secret: "whsec_x", revision: 1, position: 0 },
        ...{ attempts: 0, beat: 0 },
      })),
    api_callers: () =>
      times(few, (i) => ({
        world_id,
        token: `t${i}`,
        token_id: "x",
        at: EPOCH,
      })),
    // More were given than are left.
    sequences: () =>
      times(SEQUENCES.length, (i) => ({
        name: SEQUENCES[i - 1]!,
        last: 10 * Math.max(events, few),
      })),
  };
}
