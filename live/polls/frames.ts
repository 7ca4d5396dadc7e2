import type { Poll } from "../../db/polls.js";
import { pushFrame } from "../frame.js";
import { sentPoll } from "./shapes.js";

/** What somebody gets of a poll: nothing, the poll without its results, or both. */
export type Part = "nothing" | "poll" | "results";

/** The push of a poll with and without its results, each made at most once. */
export class PollFrames {
  readonly #poll: Poll;
  readonly #made: { poll?: Buffer; results?: Buffer } = {};

  constructor(poll: Poll) {
    this.#poll = poll;
  }

  of(part: Part): Buffer | undefined {
    if (part === "nothing") return undefined;
    return (this.#made[part] ??= pushFrame("poll.created_or_updated", {
      poll: sentPoll(this.#poll, part === "results"),
    }));
  }
}
