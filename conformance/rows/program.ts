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
  "a session that REST makes": {
    act: (it) => it.session(),
    late: true,
    pushes: [["program.updated", "world"]],
  },
};
