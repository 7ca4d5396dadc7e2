import { LRUCache } from "lru-cache";
import type { Poll, PollStore } from "../../../db/contract/poll-store.js";
import type { RoomStore } from "../../../db/contract/store.js";
import { type Clock, sleep } from "../../../db/runtime.js";
import { hasCounts, type PollSummary } from "../../../schemas/plain/polls.js";
import { namesVoters } from "../../rules/rights.js";

/** Minimum time between two reads of one summary, in milliseconds. */
const READ_INTERVAL_MS = 100;

/** Maximum number of polls whose last read is remembered. */
const MAX_POLLS = 1000;

/** Ports of {@link SummaryReads}. */
export interface SummaryPorts {
  readonly clock: Clock;
  readonly store: { readonly polls: PollStore; readonly rooms: Pick<RoomStore, "get"> };
}

/**
 * Reads the results of polls that are not counted per option. A read costs as much as the poll has
 * votes, and the response to every vote contains the results, so all requests that arrive before a
 * read begins share it.
 */
export class SummaryReads {
  readonly #ports: SummaryPorts;
  /** The reads that have not begun yet, by poll and audience. */
  readonly #waiting = new Map<string, Promise<PollSummary | undefined>>();
  /** When the last read began, by {@link Clock.now}. */
  readonly #begun = new LRUCache<string, number>({ max: MAX_POLLS });

  constructor(ports: SummaryPorts) {
    this.#ports = ports;
  }

  /**
   * Returns a summary of a poll that is at least as recent as the call; undefined for a poll that
   * has none.
   * @param all whether the summary is for managers, who also receive hidden content and the
   * authors.
   */
  async read(world: string, poll: Poll, all: boolean): Promise<PollSummary | undefined> {
    if (hasCounts(poll.poll_type)) return undefined;
    const key = `${poll.id} ${all}`;
    const waiting = this.#waiting.get(key);
    if (waiting) return waiting;
    const { clock } = this.#ports;
    const wait = (this.#begun.get(key) ?? -Infinity) + READ_INTERVAL_MS - clock.now();
    if (wait <= 0) return this.#begin(key, world, poll, all);
    const read = sleep(clock, wait).then(() => {
      this.#waiting.delete(key);
      return this.#begin(key, world, poll, all);
    });
    this.#waiting.set(key, read);
    return read;
  }

  async #begin(
    key: string,
    world: string,
    { room, id }: Poll,
    all: boolean,
  ): Promise<PollSummary | undefined> {
    const { clock, store } = this.#ports;
    this.#begun.set(key, clock.now());
    const summary = await store.polls.summary(world, room, id, all);
    if (!all || !summary || !("answers" in summary)) return summary;
    const place = await store.rooms.get(world, room);
    if (place && namesVoters(place.value)) return summary;
    return { ...summary, answers: summary.answers.map(({ user: _user, ...answer }) => answer) };
  }
}
