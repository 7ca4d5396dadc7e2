import type { Poll } from "../../db/polls.js";
import { pushFrame } from "../frame.js";
import { sentPoll } from "./shapes.js";

/** The push of a poll with and without its results, each made at most once. */
export class PollFrames {
  readonly #poll: Poll;
  readonly #made: { with?: Buffer; without?: Buffer } = {};

  constructor(poll: Poll) {
    this.#poll = poll;
  }

  of(withResults: boolean): Buffer {
    return (this.#made[withResults ? "with" : "without"] ??= pushFrame(
      "poll.created_or_updated",
      { poll: sentPoll(this.#poll, withResults) },
    ));
  }
}
