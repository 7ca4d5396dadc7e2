import type { CommandRow, Like, Push, Rows } from "../row.js";
import type { AnnouncementChanges } from "../stage.js";

const PUSH = "announcement.created_or_updated";
/** A time before any row runs, in milliseconds since 1970. */
const PAST = Date.parse("2020-01-01T00:00:00Z");

const created = (payload: object, answer: object, pushes: readonly Push[] = []): CommandRow => ({
  as: "admin",
  requires: "world.announce",
  payload: () => payload,
  answer: { announcement: answer },
  pushes,
});

/** Returns a row whose command updates an announcement that the row creates beforehand. */
const updated = (
  made: AnnouncementChanges,
  changes: object,
  push?: Like,
  answer: object = {},
): CommandRow => ({
  ...created({}, answer, push && [[PUSH, "world", push]]),
  refused: { foreigner: "announcement.unknown" },
  payload: async (it) => ({ id: await it.announcement(made), ...changes }),
});

export const announcementRows: Rows = {
  "announcement.create": created(
    { text: "Lunch", state: "active" },
    { text: "Lunch", is_visible: true },
    [[PUSH, "world", { text: "Lunch" }]],
  ),
  "announcement.create: a draft": created({ text: "Lunch" }, { state: "draft", is_visible: false }),
  "announcement.create: archived": created(
    { text: "Breakfast", state: "archived" },
    { state: "archived", is_visible: false },
  ),
  "announcement.update": updated(
    {},
    { state: "archived" },
    { is_visible: false },
    { is_visible: false },
  ),
  "announcement.update: a draft": updated({ state: "draft" }, { text: "Later" }),
  "announcement.update: published": updated(
    { state: "draft" },
    { text: "Now", state: "active" },
    { text: "Now", is_visible: undefined },
    { state: "active", is_visible: true },
  ),
  "announcement.update: while it is shown": updated(
    {},
    { text: "Dinner" },
    { text: "Dinner", is_visible: true },
  ),
  "announcement.update: its time is over": updated(
    {},
    { show_until: "2020-01-01T00:00:00+00:00" },
    { is_visible: false },
    { show_until: "2020-01-01T00:00:00.000Z", is_visible: false },
  ),
  "announcement.update: after its time": updated({ show_until: PAST }, { text: "Late" }),
  "announcement.update: shown again": updated(
    { show_until: PAST },
    { show_until: null },
    { is_visible: undefined },
    { is_visible: true },
  ),
  "announcement.list": {
    as: "admin",
    requires: "world.announce",
    payload: async (it) => {
      await it.announcements();
      await it.announcement({ state: "draft" });
      return null;
    },
    answer: ({ former }) => [...former, { state: "draft" }],
  },
};
