import { isDeepStrictEqual } from "node:util";
import type { WorldKey } from "../../../schemas/worlds.js";

/** A thing as the interface shows it, or that there is none. */
export type State = Record<string, unknown> | "gone";

/**
 * One thing that is written to, by one client at a time: what the last answer
 * said of it, and what a write without an answer may have made of it.
 */
export interface Thing<S = State> {
  sure: S;
  maybe?: S | undefined;
}

/** A user who uploads once, and may be erased. */
export interface UserThing extends Thing<"there" | "gone"> {
  /**
   * Whether it ever was there. The name of one that never was may be in what
   * SQLite had begun to write: it was not erased.
   */
  was: boolean;
}

/** An upload that was answered. */
export interface Uploaded {
  path: string;
  /** Which of the files it is. */
  file: string;
  round: number;
}

/** All requests to a server, with its answers: what it has to know after a crash. */
export class Model {
  readonly rooms = new Map<string, Thing>();
  /** Rooms whose creation was not answered, by their names. */
  readonly creating = new Map<string, Record<string, unknown>>();
  readonly users = new Map<string, UserThing>();
  readonly uploads: Uploaded[] = [];
  /** Uploads without an answer: their links are unknown. */
  lostUploads = 0;
  world: Thing = { sure: "gone" };
  key: Thing<WorldKey> | undefined;
  answered = 0;
  doubtful = 0;

  /**
   * Does a write: before it, both outcomes are possible; after its answer, one.
   * @param send gives true when it was done, false when it was refused, and
   *   throws when no answer came.
   * @returns whether an answer came.
   */
  async write<S>(
    thing: Thing<S>,
    next: S,
    send: () => Promise<boolean>,
  ): Promise<boolean> {
    thing.maybe = next;
    try {
      if (await send()) thing.sure = next;
      thing.maybe = undefined;
      this.answered++;
      return true;
    } catch (error) {
      if (!isLost(error)) throw error;
      this.doubtful++;
      return false;
    }
  }
}

/** A thing is what it must be, or may be: never a mixture, never anything else. */
export function settle<S>(thing: Thing<S>, found: S): boolean {
  const { sure, maybe } = thing;
  const ok =
    isDeepStrictEqual(found, sure) ||
    (maybe !== undefined && isDeepStrictEqual(found, maybe));
  thing.sure = found;
  thing.maybe = undefined;
  return ok;
}

/** No answer came, or half of one. */
export function isLost(error: unknown): boolean {
  const { name, message } = error as Error;
  return (
    name === "TypeError" &&
    /fetch failed|terminated|network|closed/i.test(message)
  );
}
