import { defaultPermissionConfig } from "../../schemas/plain/permissions.js";
import type { Rows } from "../row.js";
import { NAME, ROOM_RULES } from "../stage.js";

// Changes made without a command: through the HTTP API, by an operator, or over time.

export const eventRows: Rows = {
  "a world that REST changes": {
    act: (it) => it.changeWorld({ title: `${NAME}: other` }),
    pushes: [["world.updated", "world", { world: { title: `${NAME}: other` } }]],
  },
  "a room that REST deletes": {
    act: (it) => it.deleteRoom(),
    pushes: [
      ["room.delete", "world -outsider", ({ room }) => ({ id: room })],
      ["world.updated", "world"],
    ],
  },
  "a room that becomes visible to a member": {
    prepare: (it) => it.join("outsider"),
    act: (it) => {
      const { "room.view": _, ...rules } = ROOM_RULES;
      return it.changeRoom(rules);
    },
    pushes: [
      ["world.updated", "world"],
      ["chat.channels", "outsider"],
    ],
  },
  "a key that is removed": {
    act: (it) => it.removeKey(),
    pushes: [["error", "world", { code: "auth.invalid_token" }]],
    ends: "world",
  },
  "a world that closes for some": {
    act: (it) =>
      it.changeWorld({
        permission_config: { ...defaultPermissionConfig, "world.view": ["inside"] },
      }),
    pushes: [
      ["world.updated", "world -outsider"],
      ["error", "outsider", { code: "auth.denied" }],
    ],
    ends: "outsider",
  },
  "a world that is deleted": {
    needs: "deleteWorld",
    act: (it) => it.deleteWorld(),
    pushes: [["error", "world", { code: "world.unknown_world" }]],
    ends: "world",
  },
  "a user erased by REST": {
    act: (it) => it.erase("elsewhere"),
    pushes: [["connection.reload", "elsewhere"]],
    ends: "elsewhere",
  },
  "an announcement whose time is over": {
    // Created after the logins, which may take longer than the announcement stays visible.
    act: (it) => it.announcement({ show_until: it.soon() }),
    late: true,
    pushes: [
      ["announcement.created_or_updated", "world"],
      ["announcement.created_or_updated", "world", { is_visible: false }],
    ],
  },
};
