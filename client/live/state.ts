import type {
  Authenticated,
  OwnUser,
  Pushes,
  SentAnnouncement,
  SentRoom,
  SentWorld,
} from "../../schemas/live/index.js";

/** What somebody sees of a world. A new object after each change. */
export interface LiveState {
  readonly user: OwnUser;
  readonly world: SentWorld;
  /** What the user may do in the world, such as `world:announce`. */
  readonly permissions: readonly string[];
  /** The rooms that the user may see, in their order. */
  readonly rooms: readonly SentRoom[];
  /** The announcements to show now. */
  readonly announcements: readonly SentAnnouncement[];
}

/** The state right after a login. */
export const firstState = (answer: Authenticated): LiveState => ({
  user: answer["user.config"],
  ...answer["world.config"],
  announcements: answer.announcements,
});

type Changes = {
  [N in keyof Pushes]?: (state: LiveState, data: Pushes[N]) => object;
};

/** What a push changes. */
const changes: Changes = {
  "world.updated": (_, data) => data,
  "world.user_count_change": ({ rooms }, { room, users }) => ({
    rooms: rooms.map((it) => (it.id === room ? { ...it, users } : it)),
  }),
  "room.create": ({ rooms }, room) => ({
    rooms: [...without(rooms, room), { ...room, users: "none" }],
  }),
  "room.delete": ({ rooms }, room) => ({ rooms: without(rooms, room) }),
  "room.schedule": ({ rooms }, { room, schedule_data }) => ({
    rooms: rooms.map((it) => (it.id === room ? { ...it, schedule_data } : it)),
  }),
  "user.updated": ({ user }, data) =>
    data.id === user.id ? { user: { ...user, ...data } } : {},
  "announcement.created_or_updated": ({ announcements }, data) => {
    const others = without(announcements, data);
    if (!isVisible(data)) return { announcements: others };
    const shown = { ...data, is_visible: true };
    return others.length === announcements.length
      ? { announcements: [...others, shown] }
      : {
          announcements: announcements.map((it) =>
            it.id === data.id ? shown : it,
          ),
        };
  },
};

/** The state after a push; the same object if the push changes nothing in it. */
export function nextState(
  state: LiveState,
  name: string,
  data: unknown,
): LiveState {
  if (!Object.hasOwn(changes, name)) return state;
  const change = changes[name as keyof Pushes] as (
    state: LiveState,
    data: unknown,
  ) => object;
  return { ...state, ...change(state, data) };
}

const without = <T extends { id: string }>(
  list: readonly T[],
  { id }: { id: string },
): T[] => list.filter((it) => it.id !== id);

/** The push leaves out `is_visible` if the announcement was not visible before. */
const isVisible = ({
  is_visible,
  state,
  show_until,
}: Pushes["announcement.created_or_updated"]): boolean =>
  is_visible ??
  (state === "active" &&
    (show_until === null || Date.parse(show_until) > Date.now()));
