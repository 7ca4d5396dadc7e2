import type {
  AnnouncementCopy,
  RoomRecord,
  UserCopy,
  WorldCopy,
} from "../../schemas/documents/world-document.js";
import type { OwnRoomRow } from "../rules/room-rows.js";
import {
  ownExtras,
  toRoom,
  toUser,
  toWorld,
  type UserRow,
  type WorldRow,
} from "../rules/rows.js";
import { StoreError } from "../contract/store.js";
import type { Announcement } from "../contract/announcements.js";

// Shared by the engines: a world to and from a document.

/**
 * How many characters the questions and polls in a document may take, about. The
 * longest string of Node.js has 512 Mi characters.
 */
const MAX_VOTING = 128 * 1024 * 1024;

/** About how many characters a question, poll or option takes, and a vote. */
export const ENTRY = 300;
export const VOTE = 100;

/**
 * @param size of all questions and polls in a document, in characters.
 * @throws {StoreError} `large` if a document cannot hold them.
 */
export function refuseLargeVoting(size: number): void {
  if (size <= MAX_VOTING) return;
  const [taken, most] = [size, MAX_VOTING].map((n) => Math.ceil(n / 2 ** 20));
  throw new StoreError(
    "large",
    `The questions and polls take about ${taken} MiB, and a document holds at most ${most} MiB of them. A backup holds them all.`,
  );
}

/** The users that a user blocks. */
export interface Block {
  user_id: string;
  blocked_id: string;
}

/** The contents of a world. Each list is in the order of the document. */
interface WorldParts extends Pick<WorldCopy, "questions" | "polls" | "chat"> {
  world: WorldRow;
  rooms: readonly OwnRoomRow[];
  users: readonly UserRow[];
  blocks: Iterable<Block>;
  announcements: readonly Announcement[];
}

/** The document of a world. Lists that are empty are left out. */
export function toWorldCopy({
  world,
  rooms,
  users,
  blocks,
  announcements,
  questions = [],
  polls = [],
  chat,
}: WorldParts): WorldCopy {
  const blocked = new Map<string, string[]>();
  for (const { user_id, blocked_id } of blocks) {
    const ids = blocked.get(user_id);
    if (ids) ids.push(blocked_id);
    else blocked.set(user_id, [blocked_id]);
  }
  return {
    world: { ...toWorld(world), revision: world.revision },
    rooms: rooms.map(toRecord),
    ...(users.length > 0 && {
      users: users.map((user) => toUserCopy(user, blocked.get(user.id))),
    }),
    ...(announcements.length > 0 && {
      announcements: announcements.map(toAnnouncementCopy),
    }),
    ...(questions.length > 0 && { questions }),
    ...(polls.length > 0 && { polls }),
    ...(chat && { chat }),
  };
}

function toRecord({ domain, ...row }: OwnRoomRow): RoomRecord {
  return {
    ...toRoom({ ...row, domain: domain ?? "" }),
    domain: domain ?? undefined,
    ...ownExtras(row.extras),
    revision: row.revision,
  };
}

function toUserCopy(row: UserRow, blocked: string[] | undefined): UserCopy {
  const { id, token_id, client_id, profile, traits, ...rest } = toUser(row);
  const { moderation_state, client_state, pretalx_id, last_login } = rest;
  return {
    id,
    token_id,
    client_id,
    profile,
    traits,
    last_seen: timeOf(row.last_seen),
    ...(moderation_state !== "" && { moderation_state }),
    ...(row.client_state !== null && { client_state }),
    ...(pretalx_id !== null && { pretalx_id }),
    ...(last_login !== null && { last_login: timeOf(last_login) }),
    ...(blocked && { blocked }),
  };
}

const toAnnouncementCopy = ({
  show_until,
  ...announcement
}: Announcement): AnnouncementCopy => ({
  ...announcement,
  show_until: show_until === null ? null : timeOf(show_until),
});

/** A time as documents have it. @param milliseconds since 1970. */
export const timeOf = (milliseconds: number): string =>
  new Date(milliseconds).toISOString();

/** The parts that {@link taken} names. */
const KINDS = {
  rooms: "a room",
  users: "a user",
  announcements: "an announcement",
  questions: "a question",
  polls: "a poll",
};

/** The error about a part of a document whose id is taken. */
export const taken = (
  field: keyof typeof KINDS,
  id: string,
  kind = KINDS[field],
): StoreError =>
  new StoreError("taken", `The id ${id} of ${kind} is taken.`, field);
