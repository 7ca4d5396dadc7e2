import { derived, type Readable, writable } from "svelte/store";
import type { Live } from "../../client/index.js";
import { languageIn } from "../../schemas/plain/stage/captions.js";
import type { Shelf } from "../lib/storage.js";
import { sharing } from "./viewers.js";

/** A line of captions for display. */
export interface CaptionText {
  readonly id: number;
  readonly text: string;
  readonly isFinal: boolean;
}

/** Number of lines kept for display, including the unfinished one. */
const MAX_LINES = 12;

/** The captions of one room, in one language at a time. */
export class Captions {
  readonly #live: Live;
  readonly #room: string;
  readonly #languages = writable<readonly string[]>([]);
  readonly #lines = writable<readonly CaptionText[]>([]);
  readonly #ends: (() => void)[];
  #lang: string | null = null;
  #last = 0;

  /** The languages that are currently spoken. */
  readonly languages: Readable<readonly string[]> = this.#languages;
  /** The latest lines in the selected language, oldest first. */
  readonly lines: Readable<readonly CaptionText[]> = this.#lines;

  /** Must be created before the room is entered, because the languages arrive then. */
  constructor(live: Live, room: string) {
    this.#live = live;
    this.#room = room;
    this.#ends = [
      live.on("room.caption_languages", ({ room: id, languages }) => {
        if (id === room) this.#languages.set(languages);
      }),
      live.on("room.caption", ({ room: id, lang, text, final }) => {
        if (id === room && lang === this.#lang) this.#add(text, final);
      }),
      // A new connection has no subscriptions, and receives the languages when it enters the room.
      live.on("authenticated", () => {
        this.#languages.set([]);
        if (this.#lang !== null) this.#subscribe();
      }),
    ];
  }

  /** Subscribes to a language instead of the previous one; null for none. */
  follow(lang: string | null): void {
    if (lang === this.#lang) return;
    this.#lang = lang;
    this.#lines.set([]);
    this.#subscribe();
  }

  close(): void {
    this.follow(null);
    for (const end of this.#ends) end();
  }

  #subscribe(): void {
    // If the connection is lost, the subscription is renewed after the reconnection.
    this.#live.call("room.captions", { room: this.#room, lang: this.#lang }).catch(() => {});
  }

  /** A line replaces the previous one, unless the previous line is final. */
  #add(text: string, isFinal: boolean): void {
    this.#lines.update((lines) => {
      const last = lines.at(-1);
      const isOpen = last !== undefined && !last.isFinal;
      const id = isOpen ? last.id : ++this.#last;
      const before = isOpen ? lines.slice(0, -1) : lines;
      return [...before, { id, text, isFinal }].slice(-MAX_LINES);
    });
  }
}

/** A room's captions, shared by the components that show them. */
export const captionsIn = sharing(
  (live, room) => new Captions(live, room),
  (captions) => captions.close(),
);

export const captionSizes = ["small", "medium", "large"] as const;
export const captionPlaces = ["bottom", "top"] as const;

/** A viewer's preferences for captions. */
export interface CaptionChoice {
  /** The language that the viewer last selected; null while captions are off. */
  readonly lang: string | null;
  readonly size: (typeof captionSizes)[number];
  readonly place: (typeof captionPlaces)[number];
}

const KEY = "foyer:captions";

/** Reads the viewer's preferences, which this browser stores for all events. */
export function captionChoice(shelf: Shelf): CaptionChoice {
  let kept: Record<string, unknown> = {};
  try {
    const value: unknown = JSON.parse(shelf.getItem(KEY) ?? "{}");
    if (typeof value === "object" && value !== null) kept = value as Record<string, unknown>;
  } catch {
    // Preferences stored by an older version are ignored.
  }
  const { lang, size, place } = kept;
  return {
    lang: typeof lang === "string" ? lang : null,
    size: captionSizes.find((it) => it === size) ?? "medium",
    place: captionPlaces.find((it) => it === place) ?? "bottom",
  };
}

export const keepCaptionChoice = (shelf: Shelf, choice: CaptionChoice): void =>
  shelf.setItem(KEY, JSON.stringify(choice));

const baseOf = (tag: string): string => tag.split("-", 1)[0]!;

/**
 * Returns the spoken language that is closest to a wanted one: the same language, one with the same
 * base, or the first.
 */
export function closest(wanted: string, languages: readonly string[]): string | undefined {
  const tag = languageIn(wanted) ?? wanted;
  return (
    languages.find((it) => it === tag) ??
    languages.find((it) => baseOf(it) === baseOf(tag)) ??
    languages[0]
  );
}

/** How long the last line stays if no other line follows, in milliseconds. */
export const LINE_MS = 8000;

/** Returns the lines, or none once no line has followed for a while. */
export const fading = (
  lines: Readable<readonly CaptionText[]>,
  duration: number,
): Readable<readonly CaptionText[]> =>
  derived(
    lines,
    (all, set) => {
      set(all);
      const timer = setTimeout(() => set([]), duration);
      return () => clearTimeout(timer);
    },
    [] as readonly CaptionText[],
  );
