import { isSame, type Listed } from "../../../../client/live/item-kind.js";
import type { Client } from "./client.js";

/** How much of a picture counts. */
export interface Scope {
  /** Whether no other client has the same user: the server does not tell what its user does there. */
  readonly isAlone: boolean;
  /**
   * Whether the client asked for changes. Others hear of schedules only where they are, and
   * never that their user is silenced, or of the type of a poll.
   */
  readonly changes: boolean;
}

/** What a client has to know, in a form in which the same is equal. */
export function pictureOf(
  { state, lists, program, viewers, isSilenced }: Client,
  { isAlone, changes }: Scope,
): Record<string, unknown> {
  if (!state) return {};
  const may = (room: string, right: string) =>
    state.rooms.find(({ id }) => id === room)?.permissions.includes(`room:${right}`) ?? false;
  // There is no push about an own question that others do not see.
  const isOwn = (it: Listed & { state?: string }, room: string) =>
    ["mod_queue", "archived"].includes(it.state ?? "") &&
    !may(room, "question.moderate") &&
    !may(room, "poll.manage");
  const items = (list: readonly Listed[] | undefined, room: string) =>
    list
      ?.filter((it) => !isOwn(it, room))
      .map((it) => ({
        ...it,
        ...(!changes && { poll_type: undefined }),
        ...(!isAlone && { voted: null, answers: null, results: null }),
      }))
      .toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return {
    user: {
      ...state.user,
      inactive: undefined,
      moderation_state: changes ? state.user.moderation_state : undefined,
    },
    world: state.world,
    permissions: state.permissions.toSorted(),
    rooms: state.rooms.map(({ permissions, users: _users, count: _count, ...room }) => ({
      ...room,
      schedule_data: changes && room.schedule_data,
      permissions: permissions.toSorted(),
    })),
    // A client puts one last that becomes active; the list is in the order of creation.
    announcements: state.announcements.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    program: program?.sessions ?? null,
    viewers: viewers?.ids ? [...viewers.ids].toSorted() : null,
    channels: Object.fromEntries(
      state.channels.flatMap(({ id, members }) =>
        members || (may(id, "chat.read") && !isSilenced)
          ? [[id, members?.map((member) => member.id).toSorted() ?? null]]
          : [],
      ),
    ),
    lists: Object.fromEntries(
      [...lists.rooms].map(([id, { questions, polls }]) => [
        id,
        { questions: items(questions.items, id), polls: items(polls.items, id) },
      ]),
    ),
  };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

/** The places in which two values of JSON differ. */
export function differences(actual: unknown, expected: unknown, path = ""): string[] {
  if (isSame(actual, expected)) return [];
  if (!isObject(actual) || !isObject(expected)) {
    const [is, not] = [actual, expected].map(
      (value) => JSON.stringify(value)?.slice(0, 200) ?? "nothing",
    );
    return [`${path} is ${is}, not ${not}`];
  }
  const keys = new Set([...Object.keys(actual), ...Object.keys(expected)]);
  return [...keys].flatMap((key) => differences(actual[key], expected[key], `${path}.${key}`));
}
