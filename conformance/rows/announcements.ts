import type { Rows } from "../row.js";

const UNKNOWN = { foreigner: "announcement.unknown" };
const PUSH = "announcement.created_or_updated";
/** A time before any row runs, in milliseconds since 1970. */
const PAST = Date.parse("2020-01-01T00:00:00Z");

export const announcementRows: Rows = {
  "announcement.create": {
    as: "admin",
    requires: "world.announce",
    payload: () => ({ text: "Lunch", state: "active" }),
    answer: { announcement: { text: "Lunch", is_visible: true } },
    pushes: [[PUSH, "world", { text: "Lunch" }]],
  },
  "announcement.create: a draft": {
    as: "admin",
    requires: "world.announce",
    payload: () => ({ text: "Lunch" }),
    answer: { announcement: { state: "draft", is_visible: false } },
  },
  "announcement.create: archived": {
    as: "admin",
    requires: "world.announce",
    payload: () => ({ text: "Breakfast", state: "archived" }),
    answer: { announcement: { state: "archived", is_visible: false } },
  },
  "announcement.update": {
    as: "admin",
    requires: "world.announce",
    refused: UNKNOWN,
    payload: async (it) => ({ id: await it.announcement(), state: "archived" }),
    answer: { announcement: { is_visible: false } },
    pushes: [[PUSH, "world", { is_visible: false }]],
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
  "announcement.update: published": {
    as: "admin",
    requires: "world.announce",
    refused: UNKNOWN,
    payload: async (it) => ({
      id: await it.announcement({ state: "draft" }),
      text: "Now",
      state: "active",
    }),
    answer: { announcement: { state: "active", is_visible: true } },
    pushes: [[PUSH, "world", { text: "Now", is_visible: undefined }]],
  },
  "announcement.update: while it is shown": {
    as: "admin",
    requires: "world.announce",
    refused: UNKNOWN,
    payload: async (it) => ({ id: await it.announcement(), text: "Dinner" }),
    pushes: [[PUSH, "world", { text: "Dinner", is_visible: true }]],
  },
  "announcement.update: its time is over": {
    as: "admin",
    requires: "world.announce",
    refused: UNKNOWN,
    payload: async (it) => ({
      id: await it.announcement(),
      show_until: "2020-01-01T00:00:00+00:00",
    }),
    answer: {
      announcement: {
        show_until: "2020-01-01T00:00:00.000Z",
        is_visible: false,
      },
    },
    pushes: [[PUSH, "world", { is_visible: false }]],
  },
  "announcement.update: after its time": {
    as: "admin",
    requires: "world.announce",
    refused: UNKNOWN,
    payload: async (it) => ({
      id: await it.announcement({ show_until: PAST }),
      text: "Late",
    }),
  },
  "announcement.update: shown again": {
    as: "admin",
    requires: "world.announce",
    refused: UNKNOWN,
    payload: async (it) => ({
      id: await it.announcement({ show_until: PAST }),
      show_until: null,
    }),
    answer: { announcement: { is_visible: true } },
    pushes: [[PUSH, "world", { is_visible: undefined }]],
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
