import type { Announcement } from "../../../db/contract/announcements.js";
import type { ChannelRow } from "../../../db/rules/chat-rows.js";
import type { ChatEvent, Delivery, Mark } from "../../../db/contract/chat.js";
import type { Entry } from "../../../db/log/entries.js";
import type { Position } from "../../../db/log/log.js";
import type { OptionRow, PollRow } from "../../../db/rules/poll-rows.js";
import type { QuestionRow } from "../../../db/rules/question-rows.js";
import type { OwnRoomRow } from "../../../db/rules/room-rows.js";
import type { UserRow, WorldRow } from "../../../db/rules/rows.js";
import type { Program } from "../../../db/contract/program.js";
import type { SessionRow } from "../../../db/rules/program-rows.js";

/** The program of a world, and the rows that it is made of. */
export interface StoredProgram {
  readonly rows: readonly SessionRow[];
  readonly program: Program;
}

/** Something of a world. */
type Of<T> = Readonly<T & { world: string }>;

/** A stored event, with what its deliveries say. */
export type StoredEvent = Omit<Delivery, "event" | "appeared"> & {
  readonly event: ChatEvent;
};

export interface Member {
  readonly channel: string;
  readonly user: string;
  readonly hidden: boolean;
}

export type StoredQuestion = Of<QuestionRow> & {
  readonly votes: ReadonlySet<string>;
};

/** A poll with the ids of the options that users chose, and when each ballot changed. */
export type StoredPoll = Of<PollRow> & {
  readonly changed: number;
  readonly options: readonly OptionRow[];
  readonly ballots: ReadonlyMap<
    string,
    { readonly options: readonly string[]; readonly changed: number }
  >;
};

/**
 * Everything in a simulated database. No value is ever changed, only replaced, so a copy
 * of the maps is the state of a moment.
 */
export class Tables {
  worlds = new Map<string, Readonly<WorldRow>>();
  rooms = new Map<string, Of<OwnRoomRow>>();
  users = new Map<string, Of<UserRow>>();
  /** By the blocking and the blocked user. */
  blocks = new Map<string, { readonly user: string; readonly other: string }>();
  announcements = new Map<string, Of<Announcement>>();
  channels = new Map<string, Of<ChannelRow>>();
  /** By channel, in their order. */
  events = new Map<string, readonly StoredEvent[]>();
  /** By channel and user, in the order in which they came. */
  members = new Map<string, Member>();
  /** By user and channel. */
  marks = new Map<string, Mark>();
  /** By user, channel and event. */
  notifications = new Map<
    string,
    { readonly user: string; readonly channel: string; readonly event: number }
  >();
  questions = new Map<string, StoredQuestion>();
  polls = new Map<string, StoredPoll>();
  programs = new Map<string, StoredProgram>();
  /** By world, in their order. */
  log = new Map<string, readonly Entry[]>();
  heads = new Map<string, Position>();

  copy(): Tables {
    const copy = new Tables();
    for (const [name, map] of Object.entries(this)) {
      Object.assign(copy, { [name]: new Map(map as Map<string, unknown>) });
    }
    return copy;
  }
}

/** A key of several parts. */
export const keyOf = (...parts: (string | number)[]): string => parts.join(" ");
