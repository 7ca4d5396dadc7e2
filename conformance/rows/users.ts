import type { Rows } from "../row.js";

const UNKNOWN = { foreigner: "user.not_found" };

/** A public key in the form that browsers send: the base point of the P-256 curve. */
const P256_POINT =
  "BGsX0fLhLEJH-Lzm5WOkQPJ3A32BLeszoPShOUXYmMKWT-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU";

export const userRows: Rows = {
  "user.update": {
    requires: "world.view",
    refused: { silenced: "auth.denied" },
    payload: () => ({ profile: { display_name: "New" }, client_state: { a: 1 } }),
    answer: {},
    pushes: [
      ["user.updated", "second", { profile: { display_name: "New" }, client_state: { a: 1 } }],
    ],
  },
  "user.admin.update": {
    as: "admin",
    requires: "user.delete",
    refused: UNKNOWN,
    payload: ({ ids }) => ({ id: ids.neighbor, pretalx_id: "ABC" }),
    answer: {},
    pushes: [["user.updated", "neighbor", { pretalx_id: "ABC" }]],
  },
  "user.fetch": {
    requires: "world.view",
    refused: UNKNOWN,
    payload: ({ ids }) => ({ id: ids.neighbor }),
    answer: ({ ids }) => ({ id: ids.neighbor, moderation_state: undefined }),
  },
  "user.fetch: several, by an administrator": {
    as: "admin",
    requires: "world.view",
    payload: ({ ids }) => ({ ids: [ids.silenced, ids.banned] }),
    answer: ({ ids }) => ({
      [ids.silenced]: { moderation_state: "silenced" },
      [ids.banned]: { moderation_state: "banned" },
    }),
  },
  "user.list": { as: "admin", requires: "user.list", payload: () => ({ include_banned: false }) },
  "user.web_push.subscribe": {
    requires: "world.view",
    payload: () => ({
      subscription: {
        endpoint: "https://1.1.1.1/conformance",
        expirationTime: null,
        keys: { p256dh: P256_POINT, auth: "A".repeat(22) },
      },
    }),
    answer: {},
  },
  "user.kiosk.create": {
    as: "admin",
    requires: "world.update",
    payload: ({ room }) => ({ profile: { display_name: "Screen", room_id: room } }),
    answer: { user: { profile: { display_name: "Screen" } } },
  },
  "user.kiosk.fetch": {
    as: "admin",
    requires: "user.manage",
    refused: { foreigner: "user.not_found" },
    payload: async (it) => ({ id: await it.kiosk() }),
    answer: ({ payload: { id } }) => ({ id, deleted: false }),
  },
  "user.list.search": {
    requires: "login",
    payload: (it) => ({ search_term: it.nameOf("neighbor").slice(0, -2).toUpperCase(), page: 1 }),
    answer: ({ ids }) => ({ results: [{ id: ids.neighbor }], isLastPage: true }),
  },
  "user.list.search: the banned are not found": {
    requires: "login",
    payload: (it) => ({ search_term: it.nameOf("banned"), page: 1 }),
    answer: { results: [] },
  },
  "user.online_status": {
    requires: "world.view",
    payload: ({ ids }) => ({ ids: [ids.elsewhere, ids.banned] }),
    answer: ({ ids }) => ({ [ids.elsewhere]: true, [ids.banned]: false }),
  },
  "user.ban": {
    as: "admin",
    requires: "user.manage",
    refused: UNKNOWN,
    payload: ({ ids }) => ({ id: ids.neighbor }),
    answer: {},
    pushes: [
      ["connection.reload", "neighbor"],
      ["room.viewer.removed", "mine moderator"],
    ],
    ends: "neighbor",
  },
  "user.silence": {
    as: "admin",
    requires: "user.manage",
    refused: UNKNOWN,
    payload: ({ ids }) => ({ id: ids.elsewhere }),
    answer: {},
    pushes: [
      ["world.updated", "elsewhere"],
      ["connection.reload", "elsewhere"],
    ],
    ends: "elsewhere",
  },
  "user.reactivate": {
    as: "admin",
    requires: "user.manage",
    refused: UNKNOWN,
    payload: ({ ids }) => ({ id: ids.silenced }),
    answer: {},
    pushes: [["world.updated", "silenced"]],
  },
  "user.ban: with the network": {
    as: "admin",
    requires: "user.manage",
    refused: UNKNOWN,
    payload: ({ ids }) => ({ id: ids.neighbor, network: 24 }),
    // Without a proxy whose headers are trusted, the network may be unknown.
    answer: {},
    pushes: [
      ["connection.reload", "neighbor"],
      ["room.viewer.removed", "mine moderator"],
    ],
    ends: "neighbor",
  },
  "user.silence: until a time": {
    as: "admin",
    requires: "user.manage",
    refused: UNKNOWN,
    payload: ({ ids }) => ({
      id: ids.elsewhere,
      until: new Date(Date.now() + 3.6e6).toISOString(),
    }),
    answer: {},
    pushes: [
      ["world.updated", "elsewhere"],
      ["connection.reload", "elsewhere"],
    ],
    ends: "elsewhere",
  },
  "user.messages.delete": {
    as: "admin",
    requires: "user.manage",
    refused: UNKNOWN,
    payload: async (it) => {
      await it.message("neighbor");
      return { id: it.ids.neighbor };
    },
    answer: { deleted: 1 },
    pushes: [["chat.event", "room", { content: { type: "deleted" } }]],
  },
  "guest.list": {
    as: "admin",
    requires: "user.manage",
    payload: () => null,
    answer: { count: 0, guests: [] },
  },
  "guest.approve": {
    as: "admin",
    requires: "user.manage",
    refused: UNKNOWN,
    payload: ({ ids }) => ({ id: ids.silenced }),
    answer: { state: "silenced" },
  },
  "guest.reject": {
    as: "admin",
    requires: "user.manage",
    refused: UNKNOWN,
    payload: ({ ids }) => ({ id: ids.neighbor }),
    answer: { state: "" },
  },
  "user.delete": {
    as: "admin",
    requires: "user.delete",
    refused: UNKNOWN,
    payload: ({ ids }) => ({ id: ids.elsewhere }),
    answer: {},
    pushes: [["connection.reload", "elsewhere"]],
    ends: "elsewhere",
  },
  "user.block": {
    requires: "login",
    refused: UNKNOWN,
    payload: ({ ids }) => ({ id: ids.elsewhere }),
    answer: {},
  },
  "user.unblock": {
    requires: "login",
    refused: UNKNOWN,
    payload: async (it) => {
      await it.block("me", "elsewhere");
      return { id: it.ids.elsewhere };
    },
    answer: {},
  },
  "user.list.blocked": {
    requires: "login",
    payload: async (it) => {
      await it.block("me", "elsewhere");
      return null;
    },
    answer: ({ ids }) => ({ users: [{ id: ids.elsewhere }] }),
  },
  "exhibition.get.staffed_by_user": {
    requires: "login",
    payload: ({ ids }) => ({ user_id: ids.me }),
    answer: { exhibitors: [] },
  },
};
