import type { LiveState, SentRoom, SentSession } from "../../client/index.js";
import { may, moduleOf, type RoomModule } from "../lib/rights.js";
import { linkTo } from "./route.js";

/** The fields that position a part of a room. `ModuleKind` in modules/index.ts includes these fields. */
export interface Placed {
  readonly place: "stage" | "panel";
  readonly order: number;
  readonly isShown?: (room: SentRoom, module: RoomModule) => boolean;
}

/** A part of a room: a module, and its kind. */
export interface Part<K extends Placed> {
  /** Stable for as long as the room has this part. */
  readonly key: string;
  readonly kind: K;
  readonly module: RoomModule;
}

/** A room's parts, by position. */
export interface Parts<K extends Placed> {
  /** At the top of the room, in the room's order. */
  readonly stage: readonly Part<K>[];
  /** Next to the stage, in the order of their kinds. */
  readonly panels: readonly Part<K>[];
  /** Module types that these pages do not know. */
  readonly unknown: readonly string[];
}

/** Types of parts without a module: the list of viewers. */
const OWN = ["people"];

/**
 * Sorts a room's modules into parts.
 * @param kindOf returns the kind for a module type.
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

/** Whether a channel has unread events, as far as is known. */
export const isUnread = ({ readPointers, unreadPointers }: LiveState, channel: string): boolean =>
  (unreadPointers[channel] ?? 0) > (readPointers[channel] ?? 0);

/** Returns the title of a room's current session, if a host has set one. */
export function sessionTitle({ schedule_data }: SentRoom): string | undefined {
  const title = schedule_data?.["title"];
  return typeof title === "string" && title.trim() !== "" ? title : undefined;
}

// Screens show one aspect of a room at the venue: `/w/<world>/?screen=questions&room=<id>`.

/** The kinds of screens. The first one is host-controlled. */
export const screens = [
  "live",
  "questions",
  "poll",
  "chat",
  "call",
  "captions",
  "welcome",
] as const;
export type Screen = (typeof screens)[number];

/** Returns the screen that an address requests, or undefined for the event itself. */
export function screenIn(
  search: string,
): { screen: Screen; room: string | undefined; lang: string | undefined } | undefined {
  const params = new URLSearchParams(search);
  const wanted = params.get("screen");
  const screen = screens.find((it) => it === wanted);
  if (screen === undefined) return undefined;
  return {
    screen,
    room: params.get("room") ?? undefined,
    lang: params.get("lang") ?? undefined,
  };
}

/** Derives a screen's address from another address of the event. */
export function screenAddress(href: string, screen: Screen, room: string): string {
  const url = new URL(href);
  url.search = new URLSearchParams({ screen, room }).toString();
  url.hash = "";
  return url.href;
}

/** Returns the address where people take part, for a screen's QR code. */
export function partAddress(href: string, room: string): string {
  const url = new URL(href);
  url.search = "";
  url.hash = linkTo("rooms", room);
  return url.href;
}

/** Shortens an address to the part that people need to type. */
export const spelled = (address: string): string => {
  const { host, pathname } = new URL(address);
  return `${host}${pathname}`.replace(/\/$/, "");
};

/** The module that each screen shows. */
const MODULES = {
  questions: "question",
  poll: "poll",
  chat: "chat.native",
  call: "call.native",
} as const;

/** Returns the screens that make sense for a room. */
export const screensOf = (room: SentRoom): Screen[] =>
  screens.filter(
    (screen) =>
      screen === "live" ||
      screen === "welcome" ||
      screen === "captions" ||
      moduleOf(room, MODULES[screen]) !== undefined,
  );

/** Whether a user controls a room's screen. */
export const drivesScreen = (room: SentRoom): boolean =>
  may(room, "room:question.moderate") || may(room, "room:poll.manage");

/**
 * Whether a user runs the room's program. Clients receive no permission string for `program.update`.
 * Without a rule of its own, this key follows `room.update`.
 */
export const runsProgram = (room: SentRoom, state: LiveState | undefined): boolean =>
  may(room, "room:chat.moderate") || may(state, "room:update");

/** Whether to offer the host view, which is for users who moderate anything in the room. */
export const mayHost = (room: SentRoom): boolean =>
  ["room:chat.moderate", "room:question.moderate", "room:poll.manage", "room:call.moderate"].some(
    (right) => may(room, right),
  );

/** Whether modules of a type are rendered in Stage.svelte. */
export const isLivestream = (type: string): boolean => type.startsWith("livestream.");

/** Whether a room has a stream. */
export const hasLivestream = (room: SentRoom): boolean =>
  room.modules.some(({ type }) => isLivestream(type));

/** The sessions next to the current one. */
interface Around {
  readonly next: SentSession | undefined;
  readonly over: readonly SentSession[];
}

/**
 * Whether a room's stage shows streams: the room's own stream, or streams of sessions. Between
 * sessions, such a stage shows a countdown.
 */
export const hasStreams = (room: SentRoom, { next, over }: Around): boolean =>
  hasLivestream(room) || [next, ...over].some((it) => it?.stream);

/** Whether a room shows something that people may want to react to. */
export const hasReactions = (room: SentRoom): boolean =>
  hasLivestream(room) || moduleOf(room, "call.native") !== undefined;

/** Props of a module's view, which is created anew for each room. */
export interface ViewProps {
  room: SentRoom;
  module: RoomModule;
}

/** Props of a module's form, which edits the bound configuration in place. */
export interface FormProps {
  /** The module's `type`. */
  type: string;
  config: Record<string, unknown>;
  /** Replaces the module with a module of another kind. */
  onreplace?: (module: { type: string; config: object }) => void;
}
