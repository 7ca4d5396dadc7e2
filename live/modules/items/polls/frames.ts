import type { Poll } from "../../../../db/contract/polls.js";
import { pushFrame } from "../../../socket/frame.js";
import { sentPoll } from "./shapes.js";

/** The push of a poll with and without its results, each made at most once. */
export class PollFrames {
  #with: Buffer | undefined;
  #without: Buffer | undefined;

  constructor(readonly poll: Poll) {}

  of(withResults: boolean): Buffer {
    return withResults
      ? (this.#with ??= this.#make(true))
      : (this.#without ??= this.#make(false));
  }

  #make(withResults: boolean): Buffer {
    const poll = sentPoll(this.poll, withResults);
    return pushFrame("poll.created_or_updated", { poll });
  }
}
