import type { Rows } from "../row.js";
import { NAME } from "../stage.js";

export const worldRows: Rows = {
  "world.config.get": {
    as: "admin",
    requires: "world.update",
    answer: { timezone: "UTC", connection_limit: 0 },
  },
  "world.config.patch": {
    as: "admin",
    requires: "world.update",
    payload: () => ({ title: `${NAME}: renamed` }),
    answer: { title: `${NAME}: renamed` },
    pushes: [
      ["world.updated", "world", { world: { title: `${NAME}: renamed` } }],
    ],
  },
  "world.config.patch: the schedule": {
    as: "admin",
    requires: "world.update",
    payload: () => ({ pretalx: { domain: "https://example.org", event: "e" } }),
    pushes: [
      ["world.updated", "world"],
      ["world.schedule.updated", "world", { event: "e" }],
    ],
  },
  "world.tokens.generate": {
    as: "admin",
    requires: "world.secrets",
    payload: () => ({ number: 1, traits: ["inside"], days: 1 }),
  },
  "world.auditlog.list": { as: "admin", requires: "world.feed" },
  "world.report.generate.attendee_list": {
    as: "admin",
    requires: "world.feed",
    answer: { resultid: "attendee_list:csv" },
  },
  "world.report.generate.chat_history": {
    as: "admin",
    requires: "world.feed",
    refused: { foreigner: "room.unknown" },
    payload: (it) => ({ channel: it.room }),
  },
  "world.report.generate.question_history": {
    as: "admin",
    requires: "world.feed",
    payload: () => ({ format: "xlsx" }),
    answer: { resultid: "question_history:xlsx" },
  },
  "world.report.generate.poll_history": { as: "admin", requires: "world.feed" },
  "world.report.generate.roomviews": { as: "admin", requires: "world.feed" },
  "world.report.generate.sessionviews": { as: "admin", requires: "world.feed" },
  "world.report.generate.views": { as: "admin", requires: "world.feed" },
  "world.report.status": {
    as: "admin",
    requires: "world.feed",
    payload: () => ({ resultid: "poll_history:csv" }),
    answer: { ready: true },
  },
};
