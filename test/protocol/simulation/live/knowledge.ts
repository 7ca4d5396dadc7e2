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

// What a client knows of a world beside its state, by what it is sent.

/** A channel that a connection listens to. */
export interface Listening {
  /** The first event that is pushed. */
  readonly from: number;
  /** The ids of the events that came. */
  readonly events: number[];
}

/** The channels that a client listens to, and what came there. */
export class Channels {
  readonly listening = new Map<string, Listening>();
  /** The id of the last event that was pushed in each channel on this connection. */
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

  /** Users who may not read a room expect nothing there. */
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
    // One that goes on gets everything from its own beginning.
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

/** After how many milliseconds a list is asked for again that may not be whole. */
const DOUBT = 300;

/**
 * The errors after which a client asks again. The server is in doubt also about a list, if an
 * entry of an earlier command comes while it reads the list in vain.
 */
const PASSING = new Set(["server.unavailable", "server.doubtful"]);

/** A list of what a room has, as a client keeps it. */
class List<T extends Listed> {
  items: readonly T[] | undefined;
  /** What was pushed since the server was asked. */
  #held: [string, unknown][] | undefined;
  #isDoubted = false;

  constructor(
    readonly client: Client,
    readonly room: string,
    readonly kind: Kind<T>,
  ) {}

  /** The rights that the client knows of. */
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
    // The user may have had the right for a moment only, of which no push tells.
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

/** What a client keeps of a room that it entered. */
interface Room {
  readonly questions: List<Listed>;
  readonly polls: List<Listed>;
  rights: string;
}

/** The rooms that a client has entered, with the lists of their questions and polls. */
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

  /** Asks for the lists of a room, as a vote in doubt says to do. */
  ask(room: string): void {
    const lists = this.rooms.get(room);
    void lists?.questions.ask();
    void lists?.polls.ask();
  }

  /** Asks for the lists if rights changed: the server says what holds now. */
  #renew(room: Room): void {
    const { questions, polls } = room;
    const rights = questions.rights + polls.rights;
    if (rights === room.rights) return;
    room.rights = rights;
    void questions.ask();
    void polls.ask();
  }
}

/** The room of what a push is about. */
function roomOf(data: unknown): string | undefined {
  const { question, poll } = (data ?? {}) as Record<string, { room_id?: string } | undefined>;
  return question?.room_id ?? poll?.room_id;
}

/** After how many milliseconds the program is asked for again that could not be read. */
const PAUSE = 300;

/** The program as a client keeps it: it asks after each push of another version. */
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

/** A user, as lists and pushes have them. */
interface Viewer {
  readonly id: string;
}

/**
 * The viewers of the only room of a client, as it knows them: pushes do not say which room they
 * are about.
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
    // The answer may have been made before a push that took the right.
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
    // The list comes with the answer.
    const [room] = this.#client.lists.rooms.keys();
    void this.#client.persist("room.enter", { room });
  }

  #mayWatch(): boolean {
    const [room] = this.#client.lists.rooms.keys();
    const found = this.#client.state?.rooms.find(({ id }) => id === room);
    return found?.permissions.includes("room:viewers") ?? false;
  }
}
