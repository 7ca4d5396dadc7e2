import type { Delivery } from "./chat.js";
import type { PermissionConfig } from "../schemas/rules.js";
import type { Announcement } from "./store.js";
import type { Poll } from "./polls.js";
import type { Question } from "./questions.js";

/** What every event says. */
interface Changed {
  /** The id of the world. */
  world: string;
  /** Who wrote, as the caller of the store named itself: such as the id of a connection. */
  by?: string;
}

/** A change in a world. */
export type WorldEvent =
  | (Changed & { type: "world.created" | "world.updated" | "world.deleted" })
  /**
   * A process without events, such as a command, changed something in this
   * world. What it changed is unknown, so listeners have to look again.
   */
  | (Changed & { type: "world.touched" })
  | (Changed & {
      type:
        | "room.created"
        /** Created behind the other rooms, by somebody in the world. */
        | "room.opened"
        | "room.updated"
        /** Only its `schedule_data` changed. */
        | "room.scheduled";
      room: string;
    })
  | (Changed & {
      type: "room.deleted";
      room: string;
      /** The rules that it had. */
      rules: PermissionConfig;
    })
  | (Changed & { type: "rooms.reordered" })
  | (Changed & {
      type:
        | "user.entered"
        | "user.updated"
        /** Was banned, silenced or reactivated. */
        | "user.moderated"
        /** Blocks somebody, or does so no longer. */
        | "user.blocked"
        | "user.unblocked"
        | "user.erased";
      user: string;
    })
  | (Changed & {
      type: "announcement.created" | "announcement.updated";
      announcement: string;
      /** Whether it was visible before. */
      wasVisible: boolean;
      /** If this hid the announcement: its public form, without a text that came with the change. */
      hidden?: Announcement;
    })
  /** There is a new event in a channel. Who missed some reads them from the store. */
  | (Changed & { type: "chat.event"; channel: string; delivery: Delivery })
  /** The reactions to an event of a channel changed. */
  | (Changed & { type: "chat.reacted"; channel: string; event: number })
  /** Some users became or ceased to be members of a channel, or it is hidden or visible for them now. */
  | (Changed & { type: "chat.memberships"; channel: string; users: string[] })
  /** A question was asked, changed or deleted. */
  | (Changed & {
      type: "question.saved" | "question.deleted";
      room: string;
      question: string;
      /** Whether it was visible before. */
      wasVisible: boolean;
      /** If this hid the question: its public form, without a text that came with the change. */
      hidden?: Question;
    })
  /** A user votes for a question, or does so no longer. */
  | (Changed & {
      type: "question.voted";
      room: string;
      question: string;
      user: string;
    })
  /** This question is pinned now; null for none. */
  | (Changed & {
      type: "question.pinned";
      room: string;
      question: string | null;
    })
  /** A poll was created, changed or deleted. */
  | (Changed & {
      type: "poll.saved" | "poll.deleted";
      room: string;
      poll: string;
      /** Whether it was open or closed before. */
      wasPublic: boolean;
      /** If this hid the poll: its public form, without texts that came with the change. */
      hidden?: Poll;
    })
  /** The ballot of a user changed. */
  | (Changed & { type: "poll.voted"; room: string; poll: string; user: string })
  /** This poll is pinned now; null for none. */
  | (Changed & { type: "poll.pinned"; room: string; poll: string | null })
  | (Changed & { type: "file.added" | "file.deleted" });

/**
 * A message between the live layers of several processes, about what is not stored:
 * such as who is online.
 */
export interface LiveMessage {
  type: "live";
  /** What it is about; listeners ignore topics that they do not know. */
  topic: string;
  /** The world, if it concerns only one. */
  world?: string;
  /** Plain JSON. */
  data: unknown;
}

/**
 * A process has ended, however it did. It comes after all other events of that
 * process, and to all others that share events with it.
 */
export interface ProcessEnded {
  type: "process.ended";
  /** The {@link Events.process} of that process. */
  process: string;
}

/**
 * A process that this one did not know, or had counted as ended, shares events with it
 * now. Neither knows what the other published before.
 */
export interface ProcessBegan {
  type: "process.began";
  /** The {@link Events.process} of that process. */
  process: string;
}

/**
 * Some events of others did not reach this process, or some of this process did not
 * reach others. Listeners look again at everything. It is told in this process only.
 */
export interface EventsMissed {
  type: "events.missed";
}

/** Everything that travels as an event. */
export type AnyEvent =
  WorldEvent | LiveMessage | ProcessBegan | ProcessEnded | EventsMissed;

/** How often a key was counted in a window of time. */
export interface Counted {
  /** With the present one. */
  count: number;
  /** After how many milliseconds the window ends. */
  ttl: number;
}

/** Called for each event. What it throws goes to `onFault` and does not affect other listeners. */
export type Listener = (event: AnyEvent) => void;

/**
 * Delivers events to all listeners, in this process and in the others that share
 * the store. Every listener gets the events of one process once, and in the order
 * in which they were published. Events of different processes have no order.
 *
 * Events are plain JSON. But for what was hidden, a {@link WorldEvent} carries no data
 * that the store does not have, so a lost one delays a listener and never makes it wrong.
 */
export interface Events {
  /** The name of this process: no other that shares these events has or had it. */
  readonly process: string;
  /** Whether events between processes may be lost. Then listeners get {@link EventsMissed}. */
  readonly lossy: boolean;
  /**
   * Sends an event to all listeners; those of this process have it when this
   * returns. It never throws. What a listener publishes follows the present event.
   */
  publish(event: AnyEvent): void;
  /** Tells listeners of this process only, as {@link publish} does. */
  tell(event: AnyEvent): void;
  /** @returns a function that ends the subscription. */
  subscribe(listener: Listener): () => void;
  /**
   * Counts a key once more, over all processes that share events through a server. The
   * window begins with the first count. Others count each for themselves, as does
   * everybody while that server does not answer.
   * @param window in milliseconds.
   */
  count(key: string, window: number): Promise<Counted>;
  /** Stops delivery: no listener is called any more. */
  close(): Promise<void>;
}
