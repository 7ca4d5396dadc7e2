import type { PermissionConfig } from "../../../../schemas/rules.js";
import type { SentEvent } from "../../../../schemas/live/index.js";
import type { PermissionKey } from "../../../../schemas/plain/permissions.js";
import { type Bearer, mayInRoom, mayInWorld } from "../../../../live/rules/rights.js";
import type { Past } from "../database.js";
import { ORIGIN } from "../timeline.js";
import type { Client } from "./client.js";
import type { House } from "./house.js";
import type { Node } from "./node.js";

/**
 * Maximum time for which a process may act on rights that it knows to be revoked, in milliseconds
 * while the process is awake. Changes to a world are batched for 300 ms, and pushes are held after
 * 700 ms.
 */
const GRACE = 1_000;

/** Longest wait of a message for the pushes that earlier ones have caused, in milliseconds. */
const OWN_WAIT = 240;

/**
 * Matches the texts that the simulation makes. Each is used only once, so it identifies the object
 * that contains it.
 */
const SECRET = /«([a-z])\d+»/g;

/** Frames that a banned user may still receive. */
const FAREWELLS: ReadonlySet<string> = new Set([
  "connection.reload",
  "error",
  "success",
  "pong",
  "authenticated",
]);

/** A message in a channel. */
interface Said {
  readonly channel: string;
  readonly sender: string | null;
  readonly commit: number;
}

/** A connection's own message that has not been pushed to it yet. */
interface Own {
  readonly connection: number;
  readonly channel: string;
  readonly event: number;
  /** When it was committed. From then on, its process waits for the pushes of earlier messages. */
  readonly at: number;
}

/** Returns the number of the command that a frame answers. */
const answeredBy = (text: string): number => Number(/^\["success",(\d+)/.exec(text)?.[1]);

const parsed = new Map<string, PermissionConfig>();

function rulesIn(json: string): PermissionConfig {
  let rules = parsed.get(json);
  if (!rules) parsed.set(json, (rules = JSON.parse(json) as PermissionConfig));
  return rules;
}

/** Reports everything that a client must not receive. */
export class Oracle {
  readonly #house: House;
  readonly #said = new Map<string, Said>();
  readonly #own = new Map<Client, Own>();

  constructor(house: House) {
    this.#house = house;
    house.database.onCommit = (hints) => {
      for (const { entry } of hints) {
        if (entry.type !== "chat.event") continue;
        const { channel, sender, content } = entry.delivery.event;
        const { commit } = house.database;
        for (const [secret] of content.matchAll(SECRET)) {
          this.#said.set(secret, { channel, sender, commit });
        }
      }
    };
  }

  /**
   * Checks a frame that a process writes to a client.
   * @param connection the number of the client's connection, which may have ended without the
   * process noticing.
   */
  written(client: Client, node: Node, text: string, connection: number): void {
    const [, name = ""] = /^\["([^"]*)"/.exec(text) ?? [];
    this.#checkBan(client, node, name);
    const { world } = this.#house;
    const oldest = node.oldest(world, GRACE);
    // The answer to a command repeats its author's text, and may arrive after the author's right
    // has ended.
    const own = name === "success" ? client.sentIn(answeredBy(text)) : "";
    for (const [secret, kind] of text.matchAll(SECRET)) {
      if (own.includes(secret) || this.#mayKnow(client, secret, kind!, oldest)) continue;
      this.#house.complain(`${client.name} got ${secret} from ${node.name}: ${text.slice(0, 300)}`);
    }
    if (/^\["room\.viewer\.|"viewers":/.test(text)) {
      const isPresent = connection === client.connection;
      this.#checkViewers(client, name, oldest, isPresent);
    }
    this.#checkOwn(client, node, name, text);
  }

  /** Checks that only people with the right see who is in a room. Pushes do not name the room. */
  #checkViewers(client: Client, name: string, oldest: number, isPresent: boolean): void {
    const { hasOneRoom, lists } = client;
    const isOwn = isPresent && hasOneRoom && lists.rooms.size > 0;
    const mayWatch = this.#some(oldest, (past) =>
      [...(isOwn ? lists.rooms : past.rooms).keys()].some((id) =>
        this.#may(client, "room.viewers", id, past),
      ),
    );
    if (!mayWatch) this.#house.complain(`${client.name} got ${name}`);
  }

  /** Checks that a user receives nothing more once a process knows of the ban. */
  #checkBan(client: Client, node: Node, name: string): void {
    if (FAREWELLS.has(name)) return;
    const oldest = node.oldest(this.#house.world, 1);
    const isBanned = (past: Past) => this.#bearer(client, past).state === "banned";
    if (this.#some(oldest, (past) => !isBanned(past))) return;
    this.#house.complain(`${client.name} is banned and got ${name}`);
  }

  /** Checks that a connection receives its own message before the answer to its next command. */
  #checkOwn(client: Client, node: Node, name: string, text: string): void {
    const { connection } = client;
    const last = this.#own.get(client);
    const own = last?.connection === connection ? last : undefined;
    if (name === "chat.event") {
      const { event_id } = (JSON.parse(text) as [string, { event_id: number }])[1];
      if (event_id === own?.event) this.#own.delete(client);
    }
    if (name !== "success" && name !== "error") return;
    const { world } = this.#house;
    if (
      own &&
      this.#house.timeline.now - own.at < OWN_WAIT &&
      this.#mayAlwaysRead(client, own, node.oldest(world, GRACE))
    ) {
      this.#house.complain(
        `${client.name} got an answer before its event ${own.event}: ${text.slice(0, 200)}`,
      );
    }
    this.#own.delete(client);
    const [, , result] = JSON.parse(text) as [string, number, { event?: SentEvent }?];
    if (name !== "success" || !result?.event) return;
    const { event_id: event, channel, sender } = result.event;
    const listening = client.channels.listening.get(channel);
    if (!listening || client.isQuitting) return;
    // The message was already deleted, perhaps by another user, so this is an earlier event.
    if (sender !== client.userId || listening.events.includes(event)) return;
    const at = Date.parse(result.event.timestamp) - ORIGIN;
    this.#own.set(client, { connection, channel, event, at });
  }

  /** Whether a client may know a text, given the states since a commit. */
  #mayKnow(client: Client, secret: string, kind: string, oldest: number): boolean {
    switch (kind) {
      case "m":
        return this.#mayRead(client, secret, oldest);
      case "q":
        return this.#maySeeQuestion(client, secret, oldest);
      case "p":
        return this.#maySeePoll(client, secret, oldest);
      case "a":
        return this.#maySeeAnnouncement(client, secret, oldest);
      case "r":
        return this.#maySeeRoom(client, secret, oldest);
      default:
        return true;
    }
  }

  /**
   * Whether a client may see a room. A process reads users and rules separately, so either may be
   * older than the other within the grace period. A user who may change every room sees all of them
   * in lists of settings.
   */
  #maySeeRoom(client: Client, secret: string, oldest: number): boolean {
    if (this.#keepsRoom(client, secret, oldest)) return true;
    return this.#some(oldest, (then) => {
      const who = this.#bearer(client, then);
      return this.#some(oldest, (past) => {
        if (mayInWorld(who, "room.update", this.#rules(past))) return true;
        return [...past.rooms.values()].some(
          ({ id, name }) => name === secret && this.#may(client, "room.view", id, past, who),
        );
      });
    });
  }

  /**
   * Whether a text was the name of a room that a client could see then and ever since. An old name
   * reveals nothing that was revoked, and the next push corrects it.
   */
  #keepsRoom(client: Client, secret: string, oldest: number): boolean {
    const sees = (id: string, past: Past) => this.#may(client, "room.view", id, past);
    return this.#some(0, (past) =>
      [...past.rooms.values()].some(
        ({ id, name }) =>
          name === secret && sees(id, past) && !this.#some(oldest, (now) => !sees(id, now)),
      ),
    );
  }

  #mayRead(client: Client, secret: string, oldest: number): boolean {
    const said = this.#said.get(secret);
    if (!said) return false;
    const { channel, sender, commit } = said;
    return this.#some(
      Math.max(oldest, commit),
      (past) =>
        (sender !== null && sender === this.#userOf(client, past)) ||
        this.mayRead(client, channel, past),
    );
  }

  /** Whether a client may read a channel in a given state. */
  mayRead(client: Client, channel: string, past: Past): boolean {
    const direct = past.channels.get(channel)?.direct ?? null;
    if (direct === null) return this.#may(client, "chat.read", channel, past);
    const user = this.#userOf(client, past);
    return user !== undefined && direct.split(",").includes(user);
  }

  /** Whether a client could read a channel in each state since a commit. */
  #mayAlwaysRead(client: Client, { channel }: Own, from: number): boolean {
    return !this.#some(from, (past) => !this.mayRead(client, channel, past));
  }

  /** Returns the id of a client's user in a given state. It changes when the database goes back. */
  #userOf({ who }: Client, past: Past): string | undefined {
    return this.#house.userOf(who, past);
  }

  #maySeeQuestion(client: Client, secret: string, oldest: number): boolean {
    const found = (past: Past) =>
      [...past.questions.values()].filter(({ content }) => content === secret);
    const isPublic = this.#some(0, (past) => found(past).some(({ state }) => state === "visible"));
    return this.#some(0, (past) =>
      found(past).some(
        ({ room, sender }) =>
          (sender !== null && sender === this.#userOf(client, past)) ||
          this.#some(
            oldest,
            (now) =>
              this.#may(client, "question.moderate", room, now) ||
              (isPublic && this.#may(client, "question.read", room, now)),
          ),
      ),
    );
  }

  #maySeePoll(client: Client, secret: string, oldest: number): boolean {
    const found = (past: Past) =>
      [...past.polls.values()].filter(
        ({ content, options }) => content === secret || options.includes(secret),
      );
    const isPublic = this.#some(0, (past) =>
      found(past).some(({ state }) => state === "open" || state === "closed"),
    );
    return this.#some(0, (past) =>
      found(past).some(({ room }) =>
        this.#some(
          oldest,
          (now) =>
            this.#may(client, "poll.manage", room, now) ||
            (isPublic && this.#may(client, "poll.read", room, now)),
        ),
      ),
    );
  }

  #maySeeAnnouncement(client: Client, secret: string, oldest: number): boolean {
    const isPublic = this.#some(0, (past) =>
      [...past.announcements.values()].some(
        ({ text, state }) => text === secret && state === "active",
      ),
    );
    return this.#some(oldest, (past) => {
      const rules = this.#rules(past);
      const who = this.#bearer(client, past);
      return (
        mayInWorld(who, "world.announce", rules) ||
        (isPublic && mayInWorld(who, "world.view", rules))
      );
    });
  }

  /** Whether something held in any state since a commit. Checks the newest state first. */
  #some(from: number, holds: (past: Past) => boolean): boolean {
    const { past, commit } = this.#house.database;
    for (let i = commit; i >= from; i--) if (holds(past[i]!)) return true;
    return false;
  }

  #rules({ worlds }: Past) {
    const row = worlds.get(this.#house.world)!;
    return { permission_config: rulesIn(row.permission_config) };
  }

  #bearer(client: Client, past: Past): Bearer {
    const id = this.#userOf(client, past) ?? "";
    const { moderation_state: state = "" } = past.users.get(id) ?? {};
    return { traits: client.traits, state };
  }

  #may(
    client: Client,
    key: PermissionKey,
    id: string,
    past: Past,
    who = this.#bearer(client, past),
  ): boolean {
    const room = past.rooms.get(id);
    if (!room) return false;
    const permission_config = rulesIn(room.permission_config);
    return mayInRoom(who, key, this.#rules(past), { id, permission_config });
  }
}
