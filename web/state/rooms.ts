import type { LiveState, SentRoom } from "../../client/index.js";
import { may, moduleOf, type RoomModule } from "../lib/rights.js";
import { linkTo } from "./route.js";

/** The fields that place a part of a room; `ModuleKind` of modules/index.ts has them. */
export interface Placed {
  readonly place: "stage" | "panel";
  readonly order: number;
  readonly isShown?: (room: SentRoom, module: RoomModule) => boolean;
}

/** A part of a room: a module, and its kind. */
export interface Part<K extends Placed> {
  /** The same for the same part, for as long as the room keeps it. */
  readonly key: string;
  readonly kind: K;
  readonly module: RoomModule;
}

/** The parts of a room. */
export interface Parts<K extends Placed> {
  /** At the top, in the order of the room. */
  readonly stage: readonly Part<K>[];
  /** Beside it, in the order of their kinds. */
  readonly panels: readonly Part<K>[];
  /** The types that these pages do not know. */
  readonly unknown: readonly string[];
}

/** Parts without a module: the viewers. */
const OWN = ["people"];

/**
 * Sorts the modules of a room.
 * @param kindOf gives the kind of a type.
 */
export function partsOf<K extends Placed>(
  room: SentRoom,
  kindOf: (type: string) => K | undefined,
): Parts<K> {
  const unknown = new Set<string>();
  const parts: Part<K>[] = [];
  const counts = new Map<string, number>();
  const own = OWN.filter((type) => kindOf(type)).map((type) => ({ type, config: {} }));
  for (const module of [...room.modules, ...own] as RoomModule[]) {
    const { type } = module;
    const kind = kindOf(type);
    if (!kind) unknown.add(type);
    else if (kind.isShown?.(room, module) ?? true) {
      const count = counts.get(type) ?? 0;
      counts.set(type, count + 1);
      parts.push({ key: `${type}-${count}`, kind, module });
    }
  }
  return {
    stage: parts.filter(({ kind }) => kind.place === "stage"),
    panels: parts
      .filter(({ kind }) => kind.place === "panel")
      .sort((a, b) => a.kind.order - b.kind.order),
    unknown: [...unknown],
  };
}

/** Whether a channel has something that the user has not read, as far as is known. */
export const isUnread = ({ readPointers, unreadPointers }: LiveState, channel: string): boolean =>
  (unreadPointers[channel] ?? 0) > (readPointers[channel] ?? 0);

/** The title of the present session in a room, if a host has set one. */
export function sessionTitle({ schedule_data }: SentRoom): string | undefined {
  const title = schedule_data?.["title"];
  return typeof title === "string" && title.trim() !== "" ? title : undefined;
}

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

/** Whether modules of a type fill a Stage.svelte. */
export const isLivestream = (type: string): boolean => type.startsWith("livestream.");

/** Whether a room shows something that people may want to react to. */
export const hasLivestream = (room: SentRoom): boolean =>
  room.modules.some(({ type }) => isLivestream(type));

/** The properties of a module's view. Another room gets a new instance. */
export interface ViewProps {
  room: SentRoom;
  module: RoomModule;
}

/** The properties of a module's form: its configuration, which it binds and changes. */
export interface FormProps {
  /** The `type` of the module. */
  type: string;
  config: Record<string, unknown>;
  /** Puts a module of another kind in its place. */
  onreplace?: (module: { type: string; config: object }) => void;
}
