import type { PermissionConfig } from "../schemas/plain/permissions.js";
import type { Json } from "./client.js";
import { partOf, type Person, type Role, traitsOf } from "./cast.js";

/** Marks a profile, a text or a name that others may not see. */
export const SECRET = "conformance-secret";

/** Begins the names of rooms and the titles of worlds that rows make, so that people recognize them. */
export const NAME = "Conformance";

/** The modules of the room. */
export const MODULES = [
  { type: "livestream.native", config: { hls_url: "https://example.org/s" } },
  { type: "chat.native", config: {} },
  {
    type: "question",
    config: {
      active: true,
      requires_moderation: true,
      anonymous: true,
      show_authors: true,
    },
  },
  { type: "poll", config: { active: true } },
];

/** The rules of the room. */
export const ROOM_RULES = {
  "room.view": ["inside"],
  "chat.moderate": [["moderator", "admin"]],
};

/** The fields of a question that differ from a visible one. */
export interface QuestionChanges {
  state?: "mod_queue" | "visible";
  content?: string;
  is_pinned?: boolean;
}

/** The fields of a poll that differ from an open one with two options. */
export interface PollChanges {
  state?: "draft" | "open";
  content?: string;
}

/** The fields of an announcement that differ from one that is shown. */
export interface AnnouncementChanges {
  state?: "draft" | "active";
  /** When it is hidden, in milliseconds since 1970. */
  show_until?: number;
}

/** The fields of a world that rows change. */
export interface WorldChanges {
  title?: string;
  permission_config?: PermissionConfig;
}

/**
 * The world of one row, with its contents and its people. Rows prepare it and change it by these
 * methods. The harness implements them by the store of a server in its own process, and
 * `foyer conformance` by requests to a server elsewhere.
 */
export abstract class Stage {
  abstract readonly world: string;
  /** The world of the foreigner; undefined if there is none. */
  abstract readonly foreignWorld: string | undefined;
  /** The answer of `announcement.list` before the row adds any. */
  former: readonly Json[] = [];
  /** The room that everything happens in. The outsider cannot see it. */
  room = "";
  /** A room without modules that all can see. */
  lobby = "";
  /** The users. */
  readonly ids = {} as Record<Person, string>;
  /** The payload of the row. */
  payload: Json;

  constructor(readonly role: Role) {}

  /** The display name of a user. */
  abstract nameOf(name: Person | "foreigner"): string;

  /** A token that logs a person in. */
  abstract tokenOf(name: Person | "foreigner"): string;

  /** Makes the rooms and the users. */
  abstract furnish(): Promise<void>;

  /** Ends the preparations, before any audience connects. */
  async ready(): Promise<void> {}

  /** Makes a user a member of the room's channel, even one who cannot see the room. */
  abstract join(name: Person): Promise<void>;

  /** Sends a message. @returns its id. */
  abstract say(
    channel: string,
    from: Person,
    content: Record<string, unknown>,
  ): Promise<number>;

  /** Opens a direct channel. @param users the first one creates it. @returns its id. */
  abstract direct(...users: [Person, ...Person[]]): Promise<string>;

  /** Someone hides a direct channel until its next message. */
  abstract hide(channel: string, from: Person): Promise<void>;

  /** A member has read the room's channel up to an event. */
  abstract read(from: Person, event: number): Promise<void>;

  /** Makes a question, visible unless `changes` say otherwise. @returns its id. */
  abstract question(changes?: QuestionChanges, from?: Person): Promise<string>;

  /** Makes a poll, open by default. @returns its id and the ids of its two options. */
  abstract poll(changes?: PollChanges): Promise<[string, string, string]>;

  abstract vote(
    poll: string,
    from: Person,
    ...options: string[]
  ): Promise<void>;

  abstract pinPoll(poll: string): Promise<void>;

  /** Makes an announcement, shown unless `changes` say otherwise. @returns its id. */
  abstract announcement(changes?: AnnouncementChanges): Promise<string>;

  /** Makes a session without a room. @returns its id. */
  abstract session(state?: "public" | "draft"): Promise<string>;

  /** Makes a screen. @returns its id. */
  abstract kiosk(): Promise<string>;

  /** The end of something that ends by itself, in milliseconds since 1970. */
  abstract soon(): number;

  /** One user blocks another. */
  abstract block(user: Person, other: Person): Promise<void>;

  /** Makes a room without modules. @returns its id. */
  abstract addRoom(name: string, rules: PermissionConfig): Promise<string>;

  /** Changes the world by REST. */
  abstract changeWorld(changes: WorldChanges): Promise<void>;

  /** Replaces the rules of the room by REST. */
  abstract changeRoom(rules: PermissionConfig): Promise<void>;

  /** Deletes the room by REST. */
  abstract deleteRoom(): Promise<void>;

  /** Removes the key that signed the tokens of the people in the world. */
  abstract removeKey(): Promise<void>;

  /** Deletes the world. Only the harness can. */
  abstract deleteWorld(): Promise<void>;

  /** Erases a user by REST. */
  abstract erase(name: Person): Promise<void>;

  /** Sends a message to the room. @returns its id. */
  message(from: Person, body = `${SECRET} message`): Promise<number> {
    return this.say(this.room, from, { type: "text", body });
  }

  /** The traits of a person's token. */
  protected traitsOf(name: Person | "foreigner"): readonly string[] {
    return name === "me" ? traitsOf(this.role) : partOf(name).traits;
  }
}
