import type { Rows } from "../row.js";
import { NAME } from "../stage.js";

export const roomRows: Rows = {
  "room.enter": {
    before: { enters: "neither" },
    inRoom: "room.view",
    payload: ({ room }) => ({ room }),
    answer: { viewers: undefined },
    pushes: [["room.viewer.added", "moderator", ({ ids }) => ({ user: { id: ids.me } })]],
  },
  "room.enter: a moderator": {
    as: "moderator",
    before: { enters: "neither" },
    inRoom: "room.view",
    payload: ({ room }) => ({ room }),
    answer: { viewers: [{}, {}, {}, {}] },
    pushes: [["room.viewer.added", "moderator"]],
  },
  "room.enter: the first one": {
    inRoom: "room.view",
    payload: async (it) => ({
      room: await it.addRoom(`${NAME} attic`, { "room.view": ["inside"] }),
    }),
    pushes: [
      [
        "world.user_count_change",
        "world -outsider",
        ({ payload: { room } }) => ({ room, users: "few" }),
      ],
    ],
  },
  "room.leave": { inRoom: "any", payload: ({ room }) => ({ room }), answer: {} },
  "room.react": {
    inRoom: "room.view",
    payload: ({ room }) => ({ room, reaction: "👏" }),
    late: true,
    answer: {},
    pushes: [["room.reaction", "room", ({ room }) => ({ room, reactions: { "👏": 1 } })]],
  },
  "room.create": {
    as: "admin",
    requires: "room.create",
    payload: () => ({
      name: `${NAME} den`,
      description: "",
      modules: [{ type: "chat.native" }],
    }),
    answer: {},
    pushes: [["room.create", "world", { name: `${NAME} den` }]],
  },
  "room.delete": {
    as: "admin",
    inRoom: "room.delete",
    payload: ({ room }) => ({ room }),
    answer: {},
    pushes: [["room.delete", "world -outsider", ({ room }) => ({ id: room })]],
  },
  "room.config.get": {
    as: "admin",
    inRoom: "room.update",
    payload: ({ room }) => ({ room }),
    answer: ({ room }) => ({ id: room }),
  },
  "room.config.patch": {
    as: "admin",
    inRoom: "room.update",
    payload: ({ room }) => ({
      room,
      name: `${NAME} stage`,
      picture: "/p.png",
    }),
    answer: { name: `${NAME} stage`, picture: "/p.png" },
    pushes: [["world.updated", "world"]],
  },
  "room.config.patch: hidden from all but administrators": {
    as: "admin",
    inRoom: "room.update",
    payload: ({ room }) => ({ room, trait_grants: { "room.view": ["admin"] } }),
    pushes: [
      ["world.updated", "world"],
      ["room.viewer.removed", "mine"],
      ["room.viewer.removed", "mine"],
    ],
  },
  "room.invite.anonymous.link": {
    as: "admin",
    inRoom: "room.invite",
    payload: ({ room }) => ({ room }),
  },
  "room.invite.anonymous.end": {
    as: "admin",
    inRoom: "room.update",
    payload: ({ room }) => ({ room }),
    answer: {},
  },
  "room.config.list": {
    as: "admin",
    requires: "room.update",
    answer: ({ room, lobby }) => [{ id: lobby }, { id: room }],
  },
  "room.config.reorder": {
    as: "admin",
    requires: "room.update",
    payload: ({ room, lobby }) => [room, lobby],
    answer: ({ room, lobby }) => [{ id: room }, { id: lobby }],
    pushes: [["world.updated", "world"]],
  },
  "room.schedule": {
    as: "admin",
    inRoom: "room.announce",
    payload: ({ room }) => ({ room, schedule_data: { title: "Now" } }),
    answer: {},
    pushes: [["room.schedule", "room", { schedule_data: { title: "Now" } }]],
    unaware: {
      elsewhere: {
        of: "rooms",
        because: "people outside the room get it with the next world.updated",
      },
    },
  },
};
