import { keyOf, rules } from "../../helper.js";
import type { Rows } from "../row.js";

// Changes without a command: by REST, by an operator, or by time.

export const eventRows: Rows = {
  "a world that REST changes": {
    act: ({ store, world }) => store.worlds.update(world, { title: "Other" }),
    pushes: [["world.updated", "world", { world: { title: "Other" } }]],
  },
  "a room that REST deletes": {
    act: ({ store, world, room }) => store.rooms.delete(world, room),
    pushes: [
      ["room.delete", "world -outsider", ({ room }) => ({ id: room })],
      ["world.updated", "world"],
    ],
  },
  "a room that becomes visible to a member": {
    prepare: ({ store, world, room, ids }) =>
      store.chat.join(world, room, ids.outsider),
    act: ({ store, world, room }) =>
      store.rooms.update(world, room, {
        permission_config: { "chat.moderate": [["moderator", "admin"]] },
      }),
    pushes: [
      ["world.updated", "world"],
      ["chat.channels", "outsider"],
    ],
    todo: "the channel of a room that becomes visible is not listed before the next login",
  },
  "a key that is removed": {
    act: ({ store, world }) =>
      store.worlds.update(world, { config: { JWT_secrets: [keyOf("other")] } }),
    pushes: [["error", "world", { code: "auth.invalid_token" }]],
    ends: "world",
  },
  "a world that closes for some": {
    act: ({ store, world }) =>
      store.worlds.configure(world, {
        permission_config: rules({ "world.view": ["inside"] }),
      }),
    pushes: [
      ["world.updated", "world -outsider"],
      ["error", "outsider", { code: "auth.denied" }],
    ],
    ends: "outsider",
  },
  "a world that is deleted": {
    act: ({ store, world }) => store.worlds.delete(world),
    pushes: [["error", "world", { code: "world.unknown_world" }]],
    ends: "world",
  },
  "a user whom REST erases": {
    act: ({ store, world, ids }) =>
      store.users.erase(world, { user_id: ids.elsewhere }),
    pushes: [["connection.reload", "elsewhere"]],
    ends: "elsewhere",
  },
  "an announcement whose time is over": {
    prepare: (it) => it.announcement({ show_until: Date.now() + 3000 }),
    act: async () => {},
    late: true,
    pushes: [
      ["announcement.created_or_updated", "world", { is_visible: false }],
    ],
  },
};
