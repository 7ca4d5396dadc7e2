import { type Clock, nextTurn } from "../../db/runtime.js";
import type { Gathering, Hub } from "../people/hub.js";
import type { View, LiveWorldState, WorldStates } from "../rules/world-state.js";
import type { Connection } from "../socket/connection.js";
import type { Login } from "../socket/login-state.js";
import { type Authors, nothingSent, type Outboxes, type SentCounts } from "./outbox.js";

/** Connections in this process: everyone in a world, one user, or everyone in one room. */
export interface Audience {
  /** The id of the world. */
  readonly world: string;
  readonly user?: string;
  readonly room?: string;
  /** Limits the audience to connections in the room that are notified of who enters and leaves. */
  readonly watching?: boolean;
  /** Instead of all of these: some connections, who may have entered the room or not. */
  readonly among?: ReadonlySet<Connection>;
}

/** Several frames in one buffer, or a single frame that may be large. */
export interface SocketChunk {
  readonly bytes: Buffer;
  readonly frames: number;
  /**
   * Whether the chunk is a world state. A client that has not yet read its last world state is not
   * considered slow.
   */
  readonly isState?: boolean;
}

/** The frames for one connection; undefined if there are none. */
type Frames = Buffer | SocketChunk | undefined;

/** Chooses a connection's frames based on its user's current rights. */
export type FrameFor = (connection: Connection, view: View) => Frames;

/**
 * Sends frames to a push's audience.
 * @param frame one frame for all connections, or a function that chooses the frame for each
 * connection.
 */
export type Send = (frame: Buffer | FrameFor) => Promise<SentCounts>;

/**
 * Runs when a push is due: reads the current state and sends it.
 * @param authors the ids of the users and connections that caused the push.
 * @param people the people who were present when the push was caused and have not left since.
 */
export type PushTask = (send: Send, authors: Authors, people: Gathering) => Promise<unknown>;

/** When a push is sent. By default, it is sent after everything already in its scope's queue. */
export interface Timing {
  /** Only the latest push per key is sent, at most once every 250 ms. A crowd receives it with the next flush. */
  readonly key?: string;
  /** With a key: the minimum interval between two pushes, in milliseconds; defaults to 250. */
  readonly interval?: number;
  /**
   * With a key: the ids of the authors and of the connections that they used. These connections
   * receive the push even if they have not entered the room.
   */
  readonly authors?: readonly string[];
  /** Whether the push is short-lived: a crowd receives it with the next flush, and a failed push is not retried. */
  readonly isBrief?: boolean;
  /** The room or world whose queue the push uses; defaults to the audience's room or, without a room, its world. */
  readonly queue?: string;
}

/** Dependencies of pushes. */
export interface PushPorts {
  readonly clock: Clock;
  readonly hub: Hub;
  readonly states: WorldStates;
  readonly outboxes: Outboxes;
}

const noAuthors: Authors = new Set();

/** Delivers pushes: waits until each push is due, reads the state, checks rights, and sends. */
export class PushPipeline {
  readonly #ports: PushPorts;

  constructor(ports: PushPorts) {
    this.#ports = ports;
  }

  /**
   * Sends a push to an audience, if the audience has connections in this process. The push is
   * dropped once everyone has left the world: the log may have been rolled back, and people who log
   * in later read the current state.
   */
  push(audience: Audience, task: PushTask, timing: Timing = {}): void {
    const {
      key,
      interval,
      authors = [],
      isBrief,
      queue = audience.room ?? audience.world,
    } = timing;
    const people = this.#ports.hub.gathering(audience.world);
    if (!people || !isAnybodyIn(people, audience, authors)) return;
    const outbox = this.#ports.outboxes.at(queue);
    const send = (authors: Authors) => this.#send(people, audience, task, authors);
    const isOver = () => people.isOver;
    const size = () => membersOf(people, audience).size;
    if (key !== undefined) {
      const latest = { authors, size, isOver, send };
      outbox.latest(key, latest, interval === undefined ? {} : { interval });
    } else if (isBrief)
      outbox.add(() => send(noAuthors), { size, isOver, isRepeated: () => false });
    else outbox.add(() => send(noAuthors), { isOver });
  }

  async #send(
    people: Gathering,
    audience: Audience,
    task: PushTask,
    authors: Authors,
  ): Promise<SentCounts> {
    const { clock, states } = this.#ports;
    // Reads within one turn share one state, which may be older than an entry received in this
    // turn.
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
        // The connection may have left the audience since the walk began.
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

  /** Sends each connection the frames that it may see in a given state, and regularly yields to other requests. */
  async walk(
    state: LiveWorldState,
    connections: Iterable<Connection>,
    frameFor: FrameFor,
  ): Promise<SentCounts> {
    let total = 0;
    let each = 0;
    await inSlices(this.#ports.clock, connections, (connection) => {
      if (connection.ended || !connection.login) return;
      const given = frameFor(connection, connection.viewOf(state));
      if (!given) return;
      const size = enqueue(connection, given);
      total += size;
      if (size > each) each = size;
    });
    return { total, each };
  }

  /** Like {@link walk}, for callers that check views themselves. */
  async each(
    connections: Iterable<Connection>,
    frameFor: (connection: Connection, login: Login) => Frames,
  ): Promise<void> {
    await inSlices(this.#ports.clock, connections, (connection) => {
      const { ended, login } = connection;
      if (ended || !login) return;
      const given = frameFor(connection, login);
      if (given) enqueue(connection, given);
    });
  }
}

function membersOf(people: Gathering, audience: Audience): ReadonlySet<Connection> {
  const { among, user, room, watching } = audience;
  if (among) return among;
  if (user !== undefined) return people.of(user);
  if (room === undefined) return people.all;
  return watching ? people.watching(room) : people.inRoom(room);
}

/** Whether a push may have recipients in this process. */
function isAnybodyIn(people: Gathering, audience: Audience, authors: readonly string[]): boolean {
  if (membersOf(people, audience).size > 0) return true;
  // Authors receive the push even if they have not entered the room.
  return authors.some((id) => people.of(id).size > 0);
}

/** The members of an audience, plus the authors' connections. */
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

/** @returns the number of bytes queued. */
function enqueue(connection: Connection, given: Buffer | SocketChunk): number {
  // Checking for a property is faster than instanceof, which matters for crowds.
  if (!("bytes" in given)) {
    connection.push(given);
    return given.length;
  }
  const { bytes, frames, isState } = given;
  if (isState) connection.pushState(bytes, frames);
  else connection.push(bytes, frames);
  return bytes.length;
}

/** Maximum time before yielding to other work, in milliseconds. */
const SLICE_MS = 5;

/** Processes many items in time slices, and yields to other requests between slices. */
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
