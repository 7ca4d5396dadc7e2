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
};
