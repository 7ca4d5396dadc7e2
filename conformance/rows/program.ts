import type { Rows } from "../row.js";

export const programRows: Rows = {
  "program.get": {
    requires: "program.read",
    payload: async (it) => {
      await it.session("draft");
      await it.session();
      return {};
    },
    answer: { sessions: [{ state: "public" }], speakers: [], favorites: [] },
  },
  "program.link": { requires: "program.read", payload: () => ({ renew: true }) },
  "program.favorite": {
    requires: "program.read",
    refused: { foreigner: "program.unknown" },
    payload: async (it) => ({ session: await it.session(), on: true }),
    answer: {},
    pushes: [["program.favorites", "second", ({ payload }) => ({ favorites: [payload.session] })]],
  },
  "program.favorite: a draft": {
    as: "admin",
    requires: "program.read",
    refused: {
      neighbor: "program.unknown",
      elsewhere: "program.unknown",
      moderator: "program.unknown",
      silenced: "program.unknown",
      outsider: "program.unknown",
      foreigner: "program.unknown",
    },
    payload: async (it) => ({ session: await it.session("draft"), on: true }),
    answer: {},
    pushes: [["program.favorites", "second"]],
  },
  "session.rate": {
    requires: "session.rate",
    refused: { foreigner: "program.unknown" },
    payload: async (it) => {
      await it.changeWorld({ config: { feedback: { sessions: true } } });
      return { session: await it.pastSession(), stars: 4, text: "Lively!" };
    },
    answer: {},
  },
  "session.ratings": { requires: "session.rate", answer: { ratings: [], averages: [] } },
  "session.run": {
    as: "moderator",
    inRoom: "chat.moderate",
    payload: async (it) => ({
      room: it.room,
      session: await it.running(),
      action: "plus",
      minutes: 5,
    }),
    answer: ({ payload }) => ({ moved: [payload.session] }),
    late: true,
    pushes: [["program.updated", "world -outsider"]],
  },
  "session.run: end": {
    as: "admin",
    inRoom: "chat.moderate",
    payload: async (it) => ({ room: it.room, session: await it.running(), action: "end" }),
    answer: ({ payload }) => ({ moved: [payload.session] }),
    late: true,
    pushes: [
      ["program.updated", "world -outsider"],
      ["room.schedule", "room", { schedule_data: null }],
    ],
    unaware: {
      elsewhere: {
        of: "rooms",
        because: "people outside the room get it with the next world.updated",
      },
    },
  },
  "a session that REST makes": {
    act: (it) => it.session(),
    late: true,
    pushes: [["program.updated", "world"]],
  },
};
