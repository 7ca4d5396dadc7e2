import type { CallMode, CallSource } from "../../../schemas/plain/calls.js";
import type { Named } from "../profile.js";

/** The quality of a device's connection to the media server. */
export type Quality = "unknown" | "good" | "poor" | "lost";

/** A device in a call, as displayed in its tile. */
export interface Person {
  /** The device's identity at the media server. */
  readonly identity: string;
  readonly user: Named;
  readonly isMe: boolean;
  /** Whether the device may publish. */
  readonly maySpeak: boolean;
  readonly isSpeaking: boolean;
  /** The sources that the device is sending. A muted microphone is not included. */
  readonly sends: ReadonlySet<CallSource>;
  readonly quality: Quality;
}

/** A picture in a call. */
export interface Picture {
  readonly person: Person;
  readonly source: "camera" | "screen";
}

/** Number of tiles on a page. */
export const PAGE_TILES = 25;

/**
 * Whether a person has a tile: in a call, everyone who may speak; on a stage, everyone who
 * publishes.
 */
export const hasTile = ({ maySpeak, sends }: Person, mode: CallMode): boolean =>
  mode === "call" ? maySpeak : sends.size > 0;

/** Returns the people in a call, without additional devices of the same user. */
export const personsIn = (people: readonly Person[]): Person[] => [
  ...new Map(people.toReversed().map((it) => [it.user.id, it])).values(),
];

/**
 * Returns the picture to show large: a shared screen, or else the pinned person, the current
 * speaker, the previous large picture, or the first other person, in this order.
 * @param before the identity of the previous large picture.
 */
export function largeIn(
  people: readonly Person[],
  { pinned, before }: { pinned?: string | undefined; before?: string | undefined } = {},
): Picture | undefined {
  const find = (identity: string | undefined) => people.find((it) => it.identity === identity);
  const chosen = find(pinned);
  if (chosen) return { person: chosen, source: chosen.sends.has("screen") ? "screen" : "camera" };
  const presents = people.find(({ sends, isMe }) => sends.has("screen") && !isMe);
  if (presents) return { person: presents, source: "screen" };
  const others = people.filter(({ isMe }) => !isMe);
  const last = others.find(({ identity }) => identity === before);
  const speaks = last?.isSpeaking ? last : others.find(({ isSpeaking }) => isSpeaking);
  const person = speaks ?? last ?? others[0] ?? people[0];
  return person && { person, source: "camera" };
}

/** A page of a list. */
export interface PageOf<T> {
  readonly items: readonly T[];
  /** From 0; clamped to the existing pages. */
  readonly page: number;
  readonly pages: number;
}

/** Returns a page of a list, or the last one if there are fewer. */
export function pageOf<T>(all: readonly T[], wanted: number, size = PAGE_TILES): PageOf<T> {
  const pages = Math.max(1, Math.ceil(all.length / size));
  const page = Math.min(Math.max(0, wanted), pages - 1);
  return { items: all.slice(page * size, (page + 1) * size), page, pages };
}

/** Above this number of people, arrivals and departures are not announced. */
const MAX_ANNOUNCED = 25;

/** A change in a call that screen readers announce. */
export interface CallNews {
  readonly is: "came" | "left" | "muted" | "unmuted" | "shares";
  readonly user: Named;
}

/** Returns the changes to other people between two states of a call. */
export function newsBetween(before: readonly Person[], after: readonly Person[]): CallNews[] {
  if (Math.max(before.length, after.length) > MAX_ANNOUNCED) return [];
  const old = new Map(before.map((it) => [it.identity, it]));
  const now = new Set(after.map(({ user }) => user.id));
  const was = new Set(before.map(({ user }) => user.id));
  const news: CallNews[] = [];
  for (const { identity, user, isMe, sends } of after) {
    if (isMe) continue;
    const earlier = old.get(identity);
    if (!earlier) {
      if (!was.has(user.id)) news.push({ is: "came", user });
      continue;
    }
    const had = earlier.sends.has("microphone");
    if (had !== sends.has("microphone")) news.push({ is: had ? "muted" : "unmuted", user });
    if (sends.has("screen") && !earlier.sends.has("screen")) news.push({ is: "shares", user });
  }
  for (const user of new Map(before.map((it) => [it.user.id, it.user])).values()) {
    if (!now.has(user.id)) news.push({ is: "left", user });
  }
  return news;
}
