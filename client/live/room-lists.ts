import type { ListedPoll, ListedQuestion } from "../../schemas/live/index.js";
import type { Client } from "./client.js";
import { LiveError } from "./error.js";
import { type Kind, PollKind, QuestionKind } from "./item-kind.js";
import type { Listed } from "./listed.js";
import { Orders } from "./orders.js";
import { Polls } from "./polls.js";
import { Questions } from "./questions.js";
import { RoomList } from "./room-list.js";
import { roomOf, type Rooms } from "./rooms.js";
import { isOfWorld } from "./state.js";

/** The part of a list that the registry uses. */
type AnyList = Omit<RoomList<Listed>, "current" | "read" | "left">;

interface Entry<F> {
  readonly face: F;
  readonly list: AnyList;
}

/** The lists of questions and polls in use, by the ids of their rooms. */
export class RoomLists {
  readonly #client: Client;
  readonly #rooms: Rooms;
  readonly #questions = new Map<string, Entry<Questions>>();
  readonly #polls = new Map<string, Entry<Polls>>();
  #ended: LiveError | undefined;

  constructor(client: Client, rooms: Rooms) {
    this.#client = client;
    this.#rooms = rooms;
  }

  /** @returns the same object for the same room. */
  questions(room: string): Questions {
    const make = () => {
      const kind = new QuestionKind(this.#client, room);
      const list = this.#list<ListedQuestion>(room, kind);
      return { face: new Questions(room, list, new Orders(this.#client)), list };
    };
    return getOrMake(this.#questions, room, make).face;
  }

  /** @returns the same object for the same room. */
  polls(room: string): Polls {
    const make = () => {
      const kind = new PollKind(this.#client, room);
      const list = this.#list<ListedPoll>(room, kind);
      return { face: new Polls(room, list, new Orders(this.#client)), list };
    };
    return getOrMake(this.#polls, room, make).face;
  }

  loggedIn(): void {
    for (const list of this.#all()) list.loggedIn();
  }

  disconnected(): void {
    for (const list of this.#all()) list.disconnected();
  }

  /**
   * Applies the server's answer to a command.
   * @param payload JSON.
   */
  answered(name: string, payload: string, result: unknown): void {
    const lists = this.#of(name);
    if (!lists) return;
    const sent: unknown = JSON.parse(payload);
    lists.get(roomOf(sent))?.list.answered(name, sent, result);
  }

  pushed(name: string, data: unknown): void {
    if (name === "room.delete") {
      const { id } = data as { id: string };
      const error = new LiveError("room.unknown", "The room was deleted.");
      this.#questions.get(id)?.list.end(error);
      this.#polls.get(id)?.list.end(error);
    } else if (isOfWorld(name)) {
      for (const list of this.#all()) list.worldUpdated();
    } else {
      const lists = this.#of(name);
      lists?.get(roomNamed(data))?.list.pushed(name, data);
    }
  }

  /** @param error why the client ended. */
  end(error: LiveError): void {
    this.#ended = error;
    for (const list of this.#all()) list.close(reasonOf(error));
  }

  #list<T extends Listed>(room: string, kind: Kind<T>): RoomList<T> {
    const list = new RoomList(this.#client, this.#rooms, room, kind);
    if (this.#ended) list.close(reasonOf(this.#ended));
    return list;
  }

  #of(name: string): Map<string, Entry<unknown>> | undefined {
    if (name.startsWith("question.")) return this.#questions;
    return name.startsWith("poll.") ? this.#polls : undefined;
  }

  *#all(): Generator<AnyList> {
    for (const { list } of this.#questions.values()) yield list;
    for (const { list } of this.#polls.values()) yield list;
  }
}

function getOrMake<T>(all: Map<string, T>, key: string, make: () => T): T {
  const known = all.get(key) ?? make();
  all.set(key, known);
  return known;
}

/** A client that was closed on purpose ends iterations without an error. */
const reasonOf = (error: LiveError): LiveError | undefined =>
  error.code === "client.closed" ? undefined : error;

/** The id of the room in the data of a push. */
function roomNamed(data: unknown): string {
  const { room, question, poll } = data as {
    room?: string;
    question?: { room_id: string };
    poll?: { room_id: string };
  };
  return String(room ?? (question ?? poll)?.room_id);
}
