import type { Poll } from "../../../db/contract/poll-store.js";
import type { SentPoll } from "../../../schemas/live/polls.js";
import {
  cutSummary,
  hasCounts,
  isPlainKind,
  type PollResults,
  type PollSummary,
} from "../../../schemas/plain/polls.js";
import type { Login } from "../../socket/login-state.js";
import { pushFrame } from "../../socket/frame.js";

// A poll as clients receive it.

/** Maximum size of a poll push, in bytes. Words and texts are left out above it. */
const MAX_PUSH = 16 * 1024;

/** Whether a client can show polls of a kind. */
export const showsKind = ({ pollKinds }: Pick<Login, "pollKinds">, kind: string): boolean =>
  pollKinds?.has(kind) ?? isPlainKind(kind);

/** A recipient's view of a poll. */
export interface PollView {
  readonly withResults: boolean;
  /**
   * Whether the recipient manages polls, and therefore receives the correct answers and hidden
   * content.
   */
  readonly manages: boolean;
  /** The recipient's login. It says which types and settings of polls the client supports. */
  readonly login: Pick<Login, "changes" | "pollKinds">;
}

/** Identifies the data that recipients with the same view receive. */
export const nameOf = ({ withResults, manages, login }: PollView): string =>
  [withResults, manages, login.changes, login.pollKinds !== undefined].join(" ");

/**
 * Converts a poll to the form that clients receive.
 * @param summary the results that are not counted per option, as the recipient may see them.
 */
export const sentPoll = (
  poll: Poll,
  { withResults, manages, login }: PollView,
  summary: PollSummary | undefined,
): SentPoll => ({
  id: poll.id,
  content: poll.content,
  state: poll.state,
  timestamp: new Date(poll.timestamp).toISOString(),
  room_id: poll.room,
  ...((login.changes || login.pollKinds) && { poll_type: poll.poll_type }),
  ...(login.pollKinds && { settings: poll.settings }),
  ...(poll.ends_at !== undefined && { ends_at: new Date(poll.ends_at).toISOString() }),
  is_pinned: poll.is_pinned,
  options: poll.options.map(({ id, content, order, correct }) => ({
    id,
    content,
    order,
    ...(correct !== undefined && (manages || poll.state === "closed") && { correct }),
  })),
  ...(withResults && { results: resultsOf(poll, summary) }),
});

/** Clients expect an empty list instead of an empty object if there are no options. */
const resultsOf = ({ results }: Poll, summary: PollSummary | undefined): PollResults =>
  summary ?? (Object.keys(results).length > 0 ? results : []);

/** The results of a poll that are not counted per option, for managers and for everyone else. */
export interface Summaries {
  readonly all?: PollSummary | undefined;
  readonly shown?: PollSummary | undefined;
}

/** The frames that push a poll to recipients with different views. Each variant is built at most once. */
export class PollFrames {
  readonly #made = new Map<string, Buffer>();

  constructor(
    readonly poll: Poll,
    readonly summaries: Summaries = {},
  ) {}

  /** Returns the frame for a view; undefined if the recipient's client cannot show the poll. */
  of(view: PollView): Buffer | undefined {
    if (!showsKind(view.login, this.poll.poll_type)) return undefined;
    const key = nameOf(view);
    let frame = this.#made.get(key);
    if (!frame) this.#made.set(key, (frame = this.#frameOf(view)));
    return frame;
  }

  #frameOf(view: PollView): Buffer {
    const frame = (summary: PollSummary | undefined) =>
      pushFrame("poll.created_or_updated", { poll: sentPoll(this.poll, view, summary) });
    if (!view.withResults || hasCounts(this.poll.poll_type)) return frame(undefined);
    const summary = view.manages ? this.summaries.all : this.summaries.shown;
    const whole = frame(summary);
    if (!summary || whole.length <= MAX_PUSH) return whole;
    const empty = frame(cutSummary(summary, 0));
    return frame(cutSummary(summary, MAX_PUSH - empty.length));
  }
}
