import type { SentRoom } from "../../client/index.js";
import { may, moduleOf } from "../lib/rights.js";
import { linkTo } from "./route.js";

// Screens show one thing of a room in a hall. `/w/<world>/?screen=questions&room=<id>`

/** What a screen shows. */
export const screens = ["questions", "poll", "chat", "welcome"] as const;
export type Screen = (typeof screens)[number];

/** The screen that an address asks for; undefined for the event itself. */
export function screenIn(search: string): { screen: Screen; room: string | undefined } | undefined {
  const params = new URLSearchParams(search);
  const wanted = params.get("screen");
  const screen = screens.find((it) => it === wanted);
  if (screen === undefined) return undefined;
  return { screen, room: params.get("room") ?? undefined };
}

/** The address of a screen, beside the page at another address of the event. */
export function screenAddress(href: string, screen: Screen, room: string): string {
  const url = new URL(href);
  url.search = new URLSearchParams({ screen, room }).toString();
  url.hash = "";
  return url.href;
}

/** The address where people take part, for the QR code of a screen. */
export function partAddress(href: string, room: string): string {
  const url = new URL(href);
  url.search = "";
  url.hash = linkTo("rooms", room);
  return url.href;
}

/** An address as people type it: without what a browser adds by itself. */
export const spelled = (address: string): string => {
  const { host, pathname } = new URL(address);
  return `${host}${pathname}`.replace(/\/$/, "");
};

/** The screens that make sense for a room. */
export const screensOf = (room: SentRoom): Screen[] =>
  screens.filter(
    (screen) =>
      screen === "welcome" ||
      moduleOf(room, { questions: "question", poll: "poll", chat: "chat.native" }[screen]) !==
        undefined,
  );

/** Whether to offer the view of a host: to moderators of anything in the room. */
export const mayHost = (room: SentRoom): boolean =>
  ["room:chat.moderate", "room:question.moderate", "room:poll.manage"].some((right) =>
    may(room, right),
  );
