import type { Rows } from "../row.js";

const UNKNOWN = { foreigner: "announcement.unknown" };

export const announcementRows: Rows = {
  "announcement.create": {
    as: "admin",
    requires: "world.announce",
    payload: () => ({ text: "Lunch", state: "active" }),
    answer: { announcement: { text: "Lunch", is_visible: true } },
    pushes: [["announcement.created_or_updated", "world", { text: "Lunch" }]],
  },
  "announcement.create: a draft": {
    as: "admin",
    requires: "world.announce",
    payload: () => ({ text: "Lunch" }),
    answer: { announcement: { state: "draft", is_visible: false } },
  },
  "announcement.update": {
    as: "admin",
    requires: "world.announce",
    refused: UNKNOWN,
    payload: async (it) => ({ id: await it.announcement(), state: "archived" }),
    answer: { announcement: { is_visible: false } },
    pushes: [
      ["announcement.created_or_updated", "world", { is_visible: false }],
    ],
  },
  "announcement.update: a draft": {
    as: "admin",
    requires: "world.announce",
    refused: UNKNOWN,
    payload: async (it) => ({
      id: await it.announcement({ state: "draft" }),
      text: "Later",
    }),
  },
  "announcement.list": {
    as: "admin",
    requires: "world.announce",
    payload: async (it) => {
      await it.announcement({ state: "draft" });
      return null;
    },
    answer: ({ former }) => [...former, { state: "draft" }],
  },
};
