import type { ConsoleCatalog } from "../en/index.js";
import { words as frame } from "./frame.js";

export const de: ConsoleCatalog = {
  frame,
  pages: {
    world: () => import("./world.js").then(({ words }) => words),
    program: () => import("./program.js").then(({ words }) => words),
    rooms: () => import("./rooms.js").then(({ words }) => words),
    people: () => import("./people.js").then(({ words }) => words),
    invite: () => import("./invite.js").then(({ words }) => words),
    activity: () => import("./activity.js").then(({ words }) => words),
    results: () => import("./results.js").then(({ words }) => words),
    history: () => import("./history.js").then(({ words }) => words),
    reports: () => import("./reports.js").then(({ words }) => words),
    mail: () => import("./mail.js").then(({ words }) => words),
    webhooks: () => import("./webhooks.js").then(({ words }) => words),
    providers: () => import("./providers.js").then(({ words }) => words),
    announcements: () => import("./announcements.js").then(({ words }) => words),
  },
};
