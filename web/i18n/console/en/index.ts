import type { Translated } from "../../en.js";
import { words as frame } from "./frame.js";

// The console's English messages. Its frame and its first page come with the console; each other
// page loads its own.

const pages = {
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
};

export const en = { frame, pages };

/** A part of the console's messages that pages load. */
export type ConsolePart = keyof typeof pages;
export type ConsoleFrame = Translated<typeof frame>;
export type ConsolePages = {
  [P in ConsolePart]: Translated<Awaited<ReturnType<(typeof pages)[P]>>>;
};

/** The console's messages in a language. */
export interface ConsoleCatalog {
  readonly frame: ConsoleFrame;
  readonly pages: { readonly [P in ConsolePart]: () => Promise<ConsolePages[P]> };
}

type Intersection<U> = (U extends unknown ? (it: U) => void : never) extends (it: infer I) => void
  ? I
  : never;

export type ConsoleMessages = ConsoleFrame & Intersection<ConsolePages[ConsolePart]>;
