import { SPOKEN_MS } from "../../../schemas/plain/stage/captions.js";
import type { EventOf } from "../../module.js";
import type { Connection } from "../../socket/connection.js";
import { pushFrame } from "../../socket/frame.js";
import type { CaptionPorts } from "./caption-pushes.js";

/** The spoken languages in a room that a user of this process has entered. */
interface Known {
  readonly world: string;
  readonly room: string;
  /** When each language was last heard, in milliseconds since 1970. */
  readonly heard: Map<string, number>;
  /** The pending read of earlier lines; undefined if it must be repeated. */
  read: Promise<void> | undefined;
  isRead: boolean;
  /** The languages last pushed to everyone in the room; undefined if somebody has entered since. */
  told: string | undefined;
  /** Cancels the timer for the next language that expires; undefined if there is none. */
  stop: (() => void) | undefined;
}

/** Pushes to the people in each room which languages are being spoken there. */
export class SpokenLanguages {
  readonly #ports: CaptionPorts;
  readonly #rooms = new Map<string, Known>();

  constructor(ports: CaptionPorts) {
    this.#ports = ports;
  }

  /** Pushes the languages to a connection that has entered a room, unless there are none. */
  entered(connection: Connection, room: string): void {
    const { world } = connection;
    const key = `${world} ${room}`;
    let known = this.#rooms.get(key);
    if (!known) {
      known = {
        world,
        room,
        heard: new Map(),
        read: undefined,
        isRead: false,
        told: undefined,
        stop: undefined,
      };
      this.#rooms.set(key, known);
    }
    known.told = undefined;
    if (known.isRead && this.#languagesIn(known).length === 0) return;
    this.#push(known, new Set([connection]));
  }

  /** Notes lines, and tells everyone in the room if they are in a new language. */
  heard({ world, room, at }: EventOf<"caption.added" | "caption.heard">, langs: string[]): void {
    const known = this.#rooms.get(`${world} ${room}`);
    // The languages are read when somebody enters the room.
    if (!known) return;
    const before = this.#languagesIn(known);
    for (const lang of langs) note(known, lang, at);
    this.#watch(known);
    if (langs.some((lang) => !before.includes(lang))) this.#push(known);
  }

  /** Discards the state of a world that this process no longer follows. */
  forget(world: string): void {
    for (const [key, known] of this.#rooms) {
      if (known.world !== world) continue;
      known.stop?.();
      this.#rooms.delete(key);
    }
  }

  /** Stops all timers. */
  stop(): void {
    for (const { stop } of this.#rooms.values()) stop?.();
    this.#rooms.clear();
  }

  #languagesIn({ heard }: Known): string[] {
    const since = this.#ports.clock.date() - SPOKEN_MS;
    return [...heard].flatMap(([lang, at]) => (at > since ? lang : [])).sort();
  }

  /**
   * @param among the connections to push to; everyone in the room by default.
   */
  #push(known: Known, among?: ReadonlySet<Connection>): void {
    const { world, room } = known;
    this.#ports.pushes.push(
      among ? { world, among } : { world, room },
      async (send) => {
        await this.#read(known);
        const languages = this.#languagesIn(known);
        const all = languages.join();
        if (among ? all === "" : all === known.told) return;
        const frame = pushFrame("room.caption_languages", { room, languages });
        await send((_, view) => (view.sees(room) ? frame : undefined));
        if (!among) known.told = all;
      },
      { queue: room, ...(!among && { key: "caption languages" }) },
    );
  }

  async #read(known: Known): Promise<void> {
    const { store, clock } = this.#ports;
    const { world, room } = known;
    const read = async () => {
      for (const { lang, at } of await store.captions.languages(world, room, clock.date())) {
        note(known, lang, at);
      }
      known.isRead = true;
      this.#watch(known);
    };
    known.read ??= read();
    try {
      await known.read;
    } catch (error) {
      known.read = undefined;
      throw error;
    }
  }

  /**
   * Waits until the next language expires, and then pushes the remaining languages to everyone in
   * the room.
   */
  #watch(known: Known): void {
    const { clock } = this.#ports;
    const { heard } = known;
    if (known.stop || heard.size === 0) return;
    const now = clock.date();
    const next = Math.min(...heard.values()) + SPOKEN_MS - now;
    // The clock of the server that received the line may be ahead of this one.
    const delay = Math.min(Math.max(next, 1), SPOKEN_MS);
    known.stop = clock.after(delay, () => {
      known.stop = undefined;
      const since = clock.date() - SPOKEN_MS;
      const over = [...heard].filter(([, at]) => at <= since);
      for (const [lang] of over) heard.delete(lang);
      if (over.length > 0) this.#push(known);
      this.#watch(known);
    });
  }
}

const note = ({ heard }: Known, lang: string, at: number): void => {
  heard.set(lang, Math.max(heard.get(lang) ?? 0, at));
};
