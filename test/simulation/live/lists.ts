import type { Client as Port } from "../../../client/live/client.js";
import { PollKind } from "../../../client/live/poll-kind.js";
import { QuestionKind } from "../../../client/live/question-kind.js";
import type { Change, Kind } from "../../../client/live/item-kind.js";
import type { Listed } from "../../../client/live/listed.js";
import type { Client } from "./client.js";

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
    const own = room?.permissions.filter((it) =>
      it.startsWith(`room:${module}.`),
    );
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
      if (PASSING.has((error as Error).message))
        client.later(DOUBT, () => void this.ask());
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
      questions: new List<Listed>(
        this.#client,
        id,
        new QuestionKind(this.#port, id),
      ),
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
  const { question, poll } = (data ?? {}) as Record<
    string,
    { room_id?: string } | undefined
  >;
  return question?.room_id ?? poll?.room_id;
}
