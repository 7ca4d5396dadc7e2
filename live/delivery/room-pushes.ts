import { type Clock, nextTurn } from "../../db/log/clock.js";
import type { Entry, Vote } from "../../db/log/entries.js";
import type { PermissionKey } from "../../schemas/plain/permissions.js";
import type { Connection } from "../socket/connection.js";
import { pushFrame } from "../socket/frame.js";
import type { Hub } from "../people/hub.js";
import type { Effects } from "./effects.js";
import { type Authors, nothingSent, type Sent } from "./paced.js";
import { inSlices } from "./slices.js";
import type { View, WorldStates } from "../rules/world-state.js";

// What pushes about questions and polls have in common.

/** What these pushes need. */
export interface RoomPushPorts {
  readonly clock: Clock;
  readonly hub: Hub;
  readonly states: WorldStates;
  readonly effects: Effects;
}

/** Where a question or a poll is. */
export interface Place {
  readonly world: string;
  readonly room: string;
}

/** A change of a question or a poll. */
type RoomEvent = Extract<
  Entry,
  { type: `question.${string}` | `poll.${string}` }
>;

/** Whether somebody of this process may have to be told of a change. */
export function concernsAnybody(
  { hub }: RoomPushPorts,
  event: RoomEvent,
): boolean {
  const { world, room } = event;
  if (hub.inRoom(world, room).size > 0) return true;
  // A user who votes gets the push without having entered the room.
  return (
    "votes" in event &&
    event.votes.some(({ user }) => hub.of(world, user).size > 0)
  );
}

/**
 * Pushes a change in the order of the events of its room.
 * @param push called unless nobody of this process has to be told.
 */
export function pushChange(
  ports: RoomPushPorts,
  event: RoomEvent,
  push: () => Promise<unknown>,
): void {
  if (!concernsAnybody(ports, event)) return;
  ports.effects.inOrder(event.room, () => readingNow(ports, push));
}

/** The users who voted, and the connections over which they did. */
export const authorsOf = ({ votes }: { votes: readonly Vote[] }): string[] =>
  votes.flatMap(({ user, connection }) =>
    connection === undefined ? [user] : [user, connection],
  );

/** Does something once, after all pushes to a room that were asked for before. */
export function inTurn<T>(
  ports: RoomPushPorts,
  room: string,
  act: () => Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    ports.effects.inOrder(room, () =>
      readingNow(ports, act).then(resolve, reject),
    );
  });
}

/** Reads of one turn see one state. That of this turn may be older than an event. */
async function readingNow<T>(
  { clock }: RoomPushPorts,
  act: () => Promise<T>,
): Promise<T> {
  await nextTurn(clock);
  return act();
}

/**
 * Pushes something to those in a room.
 * @param frameFor chooses what somebody gets by what they may do now; undefined for nothing.
 * @param authors whose connections get it even if they did not enter the room.
 */
export async function pushInRoom(
  ports: RoomPushPorts,
  world: string,
  room: string,
  frameFor: (connection: Connection, view: View) => Buffer | undefined,
  authors: Authors = new Set(),
): Promise<Sent> {
  const state = await ports.states.get(world);
  if (!state) return nothingSent;
  const isIn = (connection: Connection) => connection.rooms.has(room);
  const outside = [...authors].flatMap((user) =>
    [...ports.hub.of(world, user)].filter(
      (connection) => authors.has(connection.id) && !isIn(connection),
    ),
  );
  const those = new Set([...ports.hub.inRoom(world, room), ...outside]);
  let total = 0;
  let each = 0;
  await inSlices(ports.clock, those, (connection) => {
    const { ended, login, id } = connection;
    // Some may have left since the first of them got it.
    if (ended || !login || !(isIn(connection) || authors.has(id))) return;
    const frame = frameFor(connection, connection.viewOf(state));
    if (!frame) return;
    connection.push(frame);
    total += frame.length;
    each = Math.max(each, frame.length);
  });
  return { total, each };
}

/** Pushes something to those in a room who have a key there. Its data name the room. */
export async function tellHolders(
  ports: RoomPushPorts,
  { world, room }: Place,
  key: PermissionKey,
  name: string,
  data: object = {},
): Promise<void> {
  const frame = pushFrame(name, { room, ...data });
  await pushInRoom(ports, world, room, (_, view) =>
    view.may(key, room) ? frame : undefined,
  );
}

/**
 * Pushes which question or poll of a room is pinned.
 * @param id what an event says was pinned; null for none.
 * @param find gives what the store has as pinned, and the key of those who are told.
 */
export async function pushPin(
  ports: RoomPushPorts,
  place: Place,
  module: "question" | "poll",
  id: string | null,
  find: () => Promise<{ id: string; key: PermissionKey } | undefined>,
): Promise<void> {
  if (id === null) {
    await tellHolders(ports, place, `${module}.read`, `${module}.unpinned`);
  }
  // Events of two processes have no order: the pin that the store has is the last.
  const present = await find();
  if (!present || (id ?? present.id) !== present.id) return;
  const data = { id: present.id };
  await tellHolders(ports, place, present.key, `${module}.pinned`, data);
}
