import type { Client as Port } from "../../../../client/live/client.js";
import {
  type Change,
  type Kind,
  type Listed,
  PollKind,
  QuestionKind,
} from "../../../../client/live/item-kind.js";
import type { ChannelState, SentEvent, SentProgram } from "../../../../schemas/live/index.js";
import type { Client } from "./client.js";

// Tracks what a client learns about a world from answers and pushes, in addition to its state.

/** A channel that a connection listens to. */
export interface Listening {
  /** The id of the first event to be pushed. */
  readonly from: number;
  /** The ids of the events received. */
  readonly events: number[];
}

/** The channels that a client listens to, and the events it received there. */
export class Channels {
  readonly listening = new Map<string, Listening>();
  /** The id of the last event pushed in each channel on this connection. */
  readonly #last = new Map<string, number>();
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  loggedIn(): void {
    for (const channel of this.#client.wanted) {
      void this.#client.persist("chat.subscribe", { channel });
    }
  }

  disconnected(): void {
    this.listening.clear();
    this.#last.clear();
  }

  answered(name: string, payload: object, result: unknown): void {
    const { channel } = payload as { channel?: string };
    switch (name) {
      case "chat.subscribe":
      case "chat.join":
        this.#begin(channel!, result as ChannelState);
        break;
      case "chat.direct.create": {
        const state = result as ChannelState & { id: string };
        this.#begin(state.id, state);
        break;
      }
      case "chat.unsubscribe":
      case "chat.leave":
        this.listening.delete(channel!);
    }
  }

  pushed(name: string, data: unknown): void {
    if (name === "chat.event") this.#came(data as SentEvent);
    this.#keepRights();
  }

  /** Stops expecting events in channels that the user may no longer read. */
  #keepRights(): void {
    const { rooms, channels } = this.#client.state!;
    for (const id of this.listening.keys()) {
      const room = rooms.find((it) => it.id === id);
      const mayRead = room?.permissions.includes("room:chat.read");
      const hasChat = room?.modules.some(({ type }) => type === "chat.native");
      const isDirect = channels.some((it) => it.id === id && it.members);
      if (!(mayRead && hasChat) && !isDirect) this.listening.delete(id);
    }
  }

  #begin(channel: string, { next_event_id: from }: ChannelState): void {
    // An existing subscription continues from its original start.
    if (this.listening.has(channel)) return;
    this.listening.set(channel, { from, events: [] });
    this.#keepRights();
  }

  #came({ channel, event_id: id }: SentEvent): void {
    const { house, name } = this.#client;
    const last = this.#last.get(channel) ?? 0;
    if (id <= last) {
      house.complain(`${name} got event ${id} of ${channel} after ${last}`);
    }
    this.#last.set(channel, id);
    const listening = this.listening.get(channel);
    if (!listening) return;
    if (id < listening.from) {
      house.complain(
        `${name} got event ${id} of ${channel}, though it listens from ${listening.from}`,
      );
    }
    listening.events.push(id);
  }
}

/** Delay before refetching a list that may be incomplete, in milliseconds. */
const DOUBT = 300;

/**
 * Errors after which a client retries. A list can be doubtful, too, if an entry of an earlier
 * command arrives while the server fails to read the list.
 */
const PASSING = new Set(["server.unavailable", "server.doubtful"]);

/** A room's questions or polls, as a client keeps them. */
class List<T extends Listed> {
  items: readonly T[] | undefined;
  /** Pushes received since the list was requested. */
  #held: [string, unknown][] | undefined;
  #isDoubted = false;

  constructor(
    readonly client: Client,
    readonly room: string,
    readonly kind: Kind<T>,
  ) {}

  /** The rights and modules that the client knows of, in a comparable form. */
  get rights(): string {
    const room = this.client.state?.rooms.find(({ id }) => id === this.room);
    const { module } = this.kind;
    const own = room?.permissions.filter((it) => it.startsWith(`room:${module}.`));
    const modules = room?.modules.filter(({ type }) => type === module);
    return JSON.stringify([own?.toSorted(), modules]);
  }

  async ask(): Promise<void> {
    const { client } = this;
    const { connection } = client;
    const held: [string, unknown][] = [];
    this.#held = held;
    let listed: readonly T[] | undefined;
    try {
      listed = await this.kind.list();
    } catch (error) {
      if (client.connection !== connection || this.#held !== held) return;
      if (PASSING.has((error as Error).message)) client.later(DOUBT, () => void this.ask());
    }
    if (client.connection !== connection || this.#held !== held) return;
    this.#held = undefined;
    this.items = listed;
    // The user may have had the right only for a moment, which no push reports.
    if (listed && !this.kind.isReadable) this.#doubt();
    for (const [name, data] of held) this.pushed(name, data);
  }

  pushed(name: string, data: unknown): void {
    this.#held?.push([name, data]);
    if (this.items) this.#change(this.kind.pushed(this.items, name, data));
  }

  #change({ items, doubt }: Change<T>): void {
    this.items = items;
    if (doubt) this.#doubt();
  }

  #doubt(): void {
    if (this.#isDoubted) return;
    this.#isDoubted = true;
    this.client.later(DOUBT, () => {
      this.#isDoubted = false;
      void this.ask();
    });
  }

  answered(name: string, payload: unknown, result: unknown): void {
    if (!this.items) return;
    this.#change(this.kind.answered(this.items, name, payload, result));
  }
}

/** A client's copy of a room that it has entered. */
interface Room {
  readonly questions: List<Listed>;
  readonly polls: List<Listed>;
  rights: string;
}

/** The rooms that a client has entered, with their questions and polls. */
export class Lists {
  readonly rooms = new Map<string, Room>();
  readonly #client: Client;
  readonly #port: Port;

  constructor(client: Client, port: Port) {
    this.#client = client;
    this.#port = port;
  }

  loggedIn(): void {
    for (const room of this.#client.wanted) {
      void this.#client.persist("room.enter", { room });
    }
  }

  disconnected(): void {
    this.rooms.clear();
  }

  answered(name: string, payload: object, result: unknown): void {
    const { room } = payload as { room?: string };
    if (name === "room.enter") this.#entered(room!);
    if (name === "room.leave") this.rooms.delete(room!);
    for (const { questions, polls } of this.rooms.values()) {
      if (questions.room !== room) continue;
      questions.answered(name, payload, result);
      polls.answered(name, payload, result);
    }
  }

  pushed(name: string, data: unknown): void {
    const about = (data as { room?: string } | null)?.room;
    for (const [id, room] of this.rooms) {
      if (!this.#client.state!.rooms.some((it) => it.id === id)) {
        this.rooms.delete(id);
        continue;
      }
      const isHere = roomOf(data) === id || about === id;
      for (const list of [room.questions, room.polls]) {
        if (isHere) list.pushed(name, data);
      }
      this.#renew(room);
    }
  }

  #entered(id: string): void {
    const { state } = this.#client;
    if (this.rooms.has(id) || !state!.rooms.some((it) => it.id === id)) return;
    const room: Room = {
      questions: new List<Listed>(this.#client, id, new QuestionKind(this.#port, id)),
      polls: new List<Listed>(this.#client, id, new PollKind(this.#port, id)),
      rights: "",
    };
    this.rooms.set(id, room);
    this.#renew(room);
  }

  /** Refetches a room's lists, as required after a doubtful vote. */
  ask(room: string): void {
    const lists = this.rooms.get(room);
    void lists?.questions.ask();
    void lists?.polls.ask();
  }

  /** Refetches the lists if the rights have changed. */
  #renew(room: Room): void {
    const { questions, polls } = room;
    const rights = questions.rights + polls.rights;
    if (rights === room.rights) return;
    room.rights = rights;
    void questions.ask();
    void polls.ask();
  }
}

/** Returns the room that a push is about. */
function roomOf(data: unknown): string | undefined {
  const { question, poll } = (data ?? {}) as Record<string, { room_id?: string } | undefined>;
  return question?.room_id ?? poll?.room_id;
}

/** Delay before retrying to read the program, in milliseconds. */
const PAUSE = 300;

/** The program, as a client keeps it. The client refetches it after each push of a different version. */
export class ProgramCopy {
  sessions: SentProgram["sessions"];
  readonly #client: Client;
  #version: string | undefined;
  #attempt = 0;

  constructor(client: Client) {
    this.#client = client;
  }

  loggedIn(): void {
    void this.#ask();
  }

  disconnected(): void {
    this.#attempt++;
    this.sessions = undefined;
    this.#version = undefined;
  }

  pushed(name: string, data: unknown): void {
    if (name !== "program.updated") return;
    if ((data as { version: string }).version !== this.#version) void this.#ask();
  }

  async #ask(): Promise<void> {
    const attempt = ++this.#attempt;
    const version = this.#version;
    const answer = await this.#client.call("program.get", { version });
    if (attempt !== this.#attempt) return;
    if (answer.error !== undefined) {
      this.#client.later(PAUSE, () => {
        if (attempt === this.#attempt) void this.#ask();
      });
      return;
    }
    const got = answer.result as SentProgram;
    this.#version = got.version;
    if (got.sessions) this.sessions = got.sessions;
  }
}

/** A user, as represented in lists and pushes. */
interface Viewer {
  readonly id: string;
}

/**
 * The viewers of a client's room, as far as it knows. It may only be in one room, because pushes do
 * not name the room.
 */
export class Viewers {
  /** The ids of the users; undefined if the client may not see them. */
  ids: Set<string> | undefined;
  readonly #client: Client;
  #may = false;

  constructor(client: Client) {
    this.#client = client;
  }

  loggedIn(): void {
    this.#may = this.#mayWatch();
  }

  disconnected(): void {
    this.ids = undefined;
  }

  answered(name: string, result: unknown): void {
    if (name === "room.leave") this.ids = undefined;
    if (name !== "room.enter") return;
    const { viewers } = result as { viewers?: Viewer[] };
    // The answer may predate a push that revoked the right.
    const ids = this.#mayWatch() ? viewers?.map(({ id }) => id) : undefined;
    this.ids = ids && new Set(ids);
  }

  pushed(name: string, data: unknown): void {
    if (name === "room.viewer.added") {
      this.ids?.add((data as { user: Viewer }).user.id);
    }
    if (name === "room.viewer.removed") {
      this.ids?.delete((data as { user_id: string }).user_id);
    }
    const before = this.#may;
    this.#may = this.#mayWatch();
    if (!this.#may) this.ids = undefined;
    if (before || !this.#may) return;
    // The answer contains the list.
    const [room] = this.#client.lists.rooms.keys();
    void this.#client.persist("room.enter", { room });
  }

  #mayWatch(): boolean {
    const [room] = this.#client.lists.rooms.keys();
    const found = this.#client.state?.rooms.find(({ id }) => id === room);
    return found?.permissions.includes("room:viewers") ?? false;
  }
}
