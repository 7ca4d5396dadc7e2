import type {
  Authenticated,
  Commands,
  OwnUser,
  Pushes,
  SentAnnouncement,
  SentChannel,
  SentRoom,
  SentWorld,
  WorldChange,
} from "../../schemas/live/index.js";
import { isVisible } from "../../schemas/plain/announcements.js";

/** A user's view of a world. Each change creates a new object. */
export interface LiveState {
  readonly user: OwnUser;
  readonly world: SentWorld;
  /** The user's permissions in the world, such as `world:announce`. */
  readonly permissions: readonly string[];
  /** The rooms that the user may see, in order. */
  readonly rooms: readonly SentRoom[];
  /** The currently visible announcements. */
  readonly announcements: readonly SentAnnouncement[];
  /** The channels in which the user has a lasting membership, except hidden ones. */
  readonly channels: readonly SentChannel[];
  /** The id of the last event that the user has read, by channel. */
  readonly readPointers: Pointers;
  /** The id of the newest event that the server has reported, by channel. */
  readonly unreadPointers: Pointers;
  /** The number of unread mentions and direct messages, by channel. */
  readonly notificationCounts: Pointers;
}

type Pointers = Readonly<Record<string, number>>;

/** Whether a push may change which rooms the user sees, or the user's permissions in these rooms. */
export const isWorldPush = (name: string): boolean =>
  name === "world.changed" || name === "world.updated";

/** Returns the initial state after a login. */
export const firstState = (answer: Authenticated): LiveState => ({
  user: answer["user.config"],
  ...answer["world.config"],
  announcements: answer.announcements,
  channels: answer["chat.channels"],
  readPointers: answer["chat.read_pointers"],
  unreadPointers: pointersOf(answer["chat.channels"]),
  notificationCounts: answer["chat.notification_counts"],
});

type Changes = {
  [N in keyof Pushes]?: (state: LiveState, data: Pushes[N]) => object;
};

/** The state changes for each push. */
const changes: Changes = {
  "world.updated": (state, data) => ({ ...data, ...withRooms(state, data.rooms) }),
  "world.changed": (state, { world, permissions, ...changed }) => ({
    ...(world && { world }),
    ...(permissions && { permissions }),
    ...withRooms(state, changedRooms(state.rooms, changed)),
  }),
  "world.user_count_change": ({ rooms }, { room, ...crowd }) => ({
    rooms: rooms.map((it) => (it.id === room ? { ...it, ...crowd } : it)),
  }),
  "room.create": ({ rooms }, room) => ({
    rooms: [...without(rooms, room), { ...room, users: "none" }],
  }),
  // A room's channel has the same id as the room.
  "room.delete": (state, room) => ({
    rooms: without(state.rooms, room),
    ...withChannels(state, without(state.channels, room)),
  }),
  "room.schedule": ({ rooms }, { room, schedule_data }) => ({
    rooms: rooms.map((it) => (it.id === room ? { ...it, schedule_data } : it)),
  }),
  "user.updated": ({ user }, data) => (data.id === user.id ? { user: { ...user, ...data } } : {}),
  "announcement.created_or_updated": ({ announcements }, data) => {
    const others = without(announcements, data);
    if (!isShown(data)) return { announcements: others };
    const shown = { ...data, is_visible: true };
    return others.length === announcements.length
      ? { announcements: [...others, shown] }
      : { announcements: announcements.map((it) => (it.id === data.id ? shown : it)) };
  },
  "chat.channels": (state, { channels }) => withChannels(state, channels),
  "chat.read_pointers": ({ readPointers }, pointers) => ({
    readPointers: { ...readPointers, ...pointers },
  }),
  "chat.unread_pointers": ({ unreadPointers }, pointers) => ({
    unreadPointers: { ...unreadPointers, ...pointers },
  }),
  "chat.notification_counts": (_, notificationCounts) => ({ notificationCounts }),
  "chat.notification": ({ notificationCounts }, { event: { channel } }) => ({
    notificationCounts: {
      ...notificationCounts,
      [channel]: (notificationCounts[channel] ?? 0) + 1,
    },
  }),
};

/** Changed rooms keep their position and new rooms are appended, unless an order is given. */
function changedRooms(
  before: readonly SentRoom[],
  { rooms, removed, order }: Pick<WorldChange, "rooms" | "removed" | "order">,
): readonly SentRoom[] {
  const byId = new Map(before.map((room) => [room.id, room]));
  for (const id of removed) byId.delete(id);
  for (const room of rooms) byId.set(room.id, room);
  return (order ?? [...byId.keys()]).flatMap((id) => byId.get(id) ?? []);
}

type Outcomes = {
  [N in keyof Commands]?: (
    state: LiveState,
    payload: Commands[N]["payload"] & { channel?: unknown },
    result: Commands[N]["result"],
  ) => object;
};

/** The state changes for commands whose effect the server pushes only to the user's other connections. */
const outcomes: Outcomes = {
  "user.update": ({ user }, { profile, client_state }) => ({
    user: { ...user, ...(profile && { profile }), ...(client_state && { client_state }) },
  }),
  "chat.join": (state, { channel, volatile }, { unread_pointer }) => {
    const id = String(channel);
    const { channels } = state;
    if (isVolatile(state, id, volatile) || channels.some((it) => it.id === id)) return {};
    return withChannels(state, [...channels, { id, unread_pointer }]);
  },
  "chat.leave": (state, { channel }) =>
    withChannels(state, without(state.channels, { id: String(channel) })),
  "chat.direct.create": (state, _, { id, unread_pointer, members }) => {
    const others = without(state.channels, { id });
    return withChannels(state, [...others, { id, unread_pointer, members }]);
  },
  "chat.mark_read": ({ readPointers }, { channel, id }) => ({
    readPointers: { ...readPointers, [String(channel)]: Number(id) },
  }),
};

/** Returns the state after a push, or the same object if pushes with this name do not affect the state. */
export function nextState(state: LiveState, name: string, data: unknown): LiveState {
  if (!Object.hasOwn(changes, name)) return state;
  const change = changes[name as keyof Pushes] as (state: LiveState, data: unknown) => object;
  return { ...state, ...change(state, data) };
}

/**
 * Returns the state after a command.
 * @param payload the command's payload, as JSON.
 */
export function stateAfter(
  state: LiveState,
  name: string,
  payload: string,
  result: unknown,
): LiveState {
  if (!Object.hasOwn(outcomes, name)) return state;
  const outcome = outcomes[name as keyof Commands] as (
    state: LiveState,
    payload: unknown,
    result: unknown,
  ) => object;
  return { ...state, ...outcome(state, JSON.parse(payload), result) };
}

/**
 * Whether a membership ends with the user's connections. Only moderators can choose; for other
 * users, the room's setting applies.
 */
function isVolatile(state: LiveState, id: string, choice: unknown): boolean {
  const room = state.rooms.find((room) => room.id === id);
  const chat = room?.modules.find(({ type }) => type === "chat.native");
  const isSetSo = chat?.config.volatile === true;
  const mayChoose = room?.permissions.includes("room:chat.moderate");
  return mayChoose ? Boolean(choice ?? isSetSo) : isSetSo;
}

const pointersOf = (channels: readonly SentChannel[]): Pointers =>
  Object.fromEntries(channels.map(({ id, unread_pointer }) => [id, unread_pointer]));

/**
 * Returns the state changes for a new list of rooms. A room's channel has the same id as the room,
 * and is removed from the list of channels once the user may no longer read the channel.
 */
function withRooms(state: LiveState, rooms: LiveState["rooms"]): object {
  const lost = new Set(readIn(state.rooms));
  for (const id of readIn(rooms)) lost.delete(id);
  const channels = state.channels.filter(({ id }) => !lost.has(id));
  const isSame = channels.length === state.channels.length;
  return isSame ? { rooms } : { rooms, ...withChannels(state, channels) };
}

/** Returns the ids of the rooms whose chat the user may read. */
const readIn = (rooms: LiveState["rooms"]): string[] =>
  rooms.filter(({ permissions }) => permissions.includes("room:chat.read")).map(({ id }) => id);

/** Returns the state changes for a new list of channels. */
function withChannels(state: LiveState, channels: SentChannel[]): object {
  const unreadPointers = { ...state.unreadPointers };
  for (const { id } of state.channels) delete unreadPointers[id];
  return { channels, unreadPointers: { ...unreadPointers, ...pointersOf(channels) } };
}

const without = <T extends { id: string }>(list: readonly T[], { id }: { id: string }): T[] =>
  list.filter((it) => it.id !== id);

/** The push omits `is_visible` if the announcement was not visible before. */
const isShown = ({
  is_visible,
  state,
  show_until: until,
}: Pushes["announcement.created_or_updated"]): boolean =>
  is_visible ?? isVisible({ state, show_until: until === null ? null : Date.parse(until) });

/** Returns a room that the user may see. */
export const roomIn = (state: LiveState | undefined, id: string) =>
  state?.rooms.find((room) => room.id === id);
