import { type Clock, nextTurn } from "../../db/runtime.js";
import type { Gathering, Hub } from "../people/hub.js";
import type { View, WorldState, WorldStates } from "../rules/world-state.js";
import type { Connection } from "../socket/connection.js";
import type { Login } from "../socket/login-state.js";
import { type Authors, nothingSent, type Outboxes, type Sent } from "./outbox.js";

/** Connections of this process: all of a world, of one user, or in one room. */
export interface Audience {
  /** The id of the world. */
  readonly world: string;
  readonly user?: string;
  readonly room?: string;
  /** Of those in the room, only connections that get who enters and leaves it. */
  readonly watching?: boolean;
}

/** Several frames as one piece of memory, or one that may be large. */
export interface Piece {
  readonly bytes: Buffer;
  readonly frames: number;
  /** Whether it is a state of the world: a client that has yet to read it is not slow. */
  readonly isState?: boolean;
}

/** What one connection gets; undefined for nothing. */
type Given = Buffer | Piece | undefined;

/** Chooses what a connection gets by what its user may do now. */
export type FrameFor = (connection: Connection, view: View) => Given;

/**
 * Sends to the audience of a push.
 * @param frame a frame for all, or a choice for each.
 */
export type Send = (frame: Buffer | FrameFor) => Promise<Sent>;

/**
 * What a push does when its time has come: it reads what is true now, and sends it.
 * @param authors who caused it: the ids of users and connections.
 * @param people who were there when it was caused, as far as they still are.
 */
export type PushTask = (send: Send, authors: Authors, people: Gathering) => Promise<unknown>;

/** When a push leaves: by default, after what is in the queue of its place. */
export interface Timing {
  /** Only the latest push of a key is sent, every 250 ms, to a crowd with the next flush. */
  readonly key?: string;
  /**
   * With a key, the ids of users, and of their connections that get the push even if they have
   * not entered the room.
   */
  readonly authors?: readonly string[];
  /** It is over in a moment: a crowd gets it with the next flush, and it is not repeated. */
  readonly isBrief?: boolean;
  /** The room or world in whose queue it stands; by default, of the audience. */
  readonly queue?: string;
}

/** What pushing needs. */
export interface PushPorts {
  readonly clock: Clock;
  readonly hub: Hub;
  readonly states: WorldStates;
  readonly outboxes: Outboxes;
}

const noAuthors: Authors = new Set();

/** The way of every push: it waits for its time, reads, asks for rights, and is sent. */
export class Pushes {
  readonly #ports: PushPorts;

  constructor(ports: PushPorts) {
    this.#ports = ports;
  }

  /**
   * Pushes something to an audience, if it has connections in this process. A push is
   * dropped once all people have left the world: the log may have gone back, and people who log
   * in later read the present state.
   */
  push(audience: Audience, task: PushTask, timing: Timing = {}): void {
    const { key, authors = [], isBrief, queue = audience.room ?? audience.world } = timing;
    const people = this.#ports.hub.gathering(audience.world);
    if (!people || !isAnybodyIn(people, audience, authors)) return;
    const outbox = this.#ports.outboxes.at(queue);
    const send = (authors: Authors) => this.#send(people, audience, task, authors);
    const isOver = () => people.isOver;
    const size = () => membersOf(people, audience).size;
    if (key !== undefined) outbox.latest(key, { authors, size, isOver, send });
    else if (isBrief) outbox.add(() => send(noAuthors), { size, isOver, isRepeated: () => false });
    else outbox.add(() => send(noAuthors), { isOver });
  }

  async #send(
    people: Gathering,
    audience: Audience,
    task: PushTask,
    authors: Authors,
  ): Promise<Sent> {
    const { clock, states } = this.#ports;
    // Reads of one turn see one state, which may be older than an entry in this turn.
    await nextTurn(clock);
    let total = 0;
    let each = 0;
    const send: Send = async (frame) => {
      const state = await states.get(audience.world);
      if (!state) return nothingSent;
      const own = membersOf(people, audience);
      const frameFor: FrameFor = typeof frame === "function" ? frame : () => frame;
      const to = withAuthors(people, own, authors);
      const sent = await this.walk(state, to, (connection, view) => {
        // Some may have left since the first of them got it.
        const isRecipient = own.has(connection) || authors.has(connection.id);
        return isRecipient ? frameFor(connection, view) : undefined;
      });
      total += sent.total;
      each += sent.each;
      return sent;
    };
    if (!people.isOver) await task(send, authors, people);
    return { total, each };
  }

  /**
   * Gives each of some connections what it may get of a state that was read, and lets requests
   * be served meanwhile.
   */
  async walk(
    state: WorldState,
    connections: Iterable<Connection>,
    frameFor: FrameFor,
  ): Promise<Sent> {
    let total = 0;
    let each = 0;
    await inSlices(this.#ports.clock, connections, (connection) => {
      if (connection.ended || !connection.login) return;
      const given = frameFor(connection, connection.viewOf(state));
      if (!given) return;
      const size = give(connection, given);
      total += size;
      if (size > each) each = size;
    });
    return { total, each };
  }

  /** Like {@link walk}, for what looks at views by itself. */
  async each(
    connections: Iterable<Connection>,
    frameFor: (connection: Connection, login: Login) => Given,
  ): Promise<void> {
    await inSlices(this.#ports.clock, connections, (connection) => {
      const { ended, login } = connection;
      if (ended || !login) return;
      const given = frameFor(connection, login);
      if (given) give(connection, given);
    });
  }
}

function membersOf(people: Gathering, { user, room, watching }: Audience): ReadonlySet<Connection> {
  if (user !== undefined) return people.of(user);
  if (room === undefined) return people.all;
  return watching ? people.watching(room) : people.inRoom(room);
}

/** Whether a push may concern this process. */
function isAnybodyIn(people: Gathering, audience: Audience, authors: readonly string[]): boolean {
  if (membersOf(people, audience).size > 0) return true;
  // An author gets the push without having entered the room.
  return authors.some((id) => people.of(id).size > 0);
}

/** The members of an audience, and the connections of authors beside them. */
function withAuthors(
  people: Gathering,
  members: ReadonlySet<Connection>,
  authors: Authors,
): Iterable<Connection> {
  const all = new Set(members);
  for (const user of authors) {
    for (const connection of people.of(user)) {
      if (authors.has(connection.id)) all.add(connection);
    }
  }
  return all;
}

/** @returns how many bytes. */
function give(connection: Connection, given: Buffer | Piece): number {
  // A look at a field is faster than at the class, which counts for crowds.
  if (!("bytes" in given)) {
    connection.push(given);
    return given.length;
  }
  const { bytes, frames, isState } = given;
  if (isState) connection.pushState(bytes, frames);
  else connection.push(bytes, frames);
  return bytes.length;
}

/** How long something is done before other work gets its turn, in milliseconds. */
const SLICE_MS = 5;

/** Does something with each of many items, and lets requests be served meanwhile. */
export async function inSlices<T>(
  clock: Clock,
  items: Iterable<T>,
  act: (item: T) => void,
): Promise<void> {
  let since = clock.now();
  for (const item of items) {
    act(item);
    if (clock.now() - since < SLICE_MS) continue;
    await nextTurn(clock);
    since = clock.now();
  }
}
