import type { CommandRow, Like, Push, Rows } from "../row.js";
import { NAME } from "../stage.js";

const config = (
  answer: Like | undefined,
  payload?: object,
  pushes: readonly Push[] = [],
): CommandRow => ({
  as: "admin",
  requires: "world.update",
  ...(payload && { payload: () => payload }),
  ...(answer && { answer }),
  pushes,
});

const report = (payload?: object, answer?: Like): CommandRow => ({
  as: "admin",
  requires: "world.feed",
  ...(payload && { payload: () => payload }),
  ...(answer && { answer }),
});

export const worldRows: Rows = {
  "world.config.get": config({ timezone: "UTC", connection_limit: 0 }),
  "world.config.patch": config({ title: `${NAME}: renamed` }, { title: `${NAME}: renamed` }, [
    ["world.updated", "world", { world: { title: `${NAME}: renamed` } }],
  ]),
  "world.config.patch: the schedule": config(
    undefined,
    { pretalx: { domain: "https://example.org", event: "e" } },
    [
      ["world.updated", "world"],
      ["world.schedule.updated", "world", { event: "e" }],
    ],
  ),
  "world.tokens.generate": {
    as: "admin",
    requires: "world.secrets",
    payload: () => ({ number: 1, traits: ["inside"], days: 1 }),
  },
  "world.auditlog.list": report(),
  "world.report.generate.attendee_list": report(undefined, { resultid: "attendee_list:csv" }),
  "world.report.generate.chat_history": {
    ...report(),
    refused: { foreigner: "room.unknown" },
    payload: (it) => ({ channel: it.room }),
  },
  "world.report.generate.question_history": report(
    { format: "xlsx" },
    { resultid: "question_history:xlsx" },
  ),
  "world.report.generate.poll_history": report(),
  "world.report.generate.roomviews": report(),
  "world.report.generate.sessionviews": report(),
  "world.report.generate.views": report(),
  "world.report.status": report({ resultid: "poll_history:csv" }, { ready: true }),
};
