import { LRUCache } from "lru-cache";
import type { Poll, PollStore } from "../../../db/contract/poll-store.js";
import { isOver, isPublic } from "../../../schemas/plain/items.js";
import type { PermissionKey } from "../../../schemas/plain/permissions.js";
import type { Authors } from "../../delivery/outbox.js";
import type { FrameFor, PushPipeline, Timing } from "../../delivery/push.js";
import type { EntryHandlers, EventOf } from "../../module.js";
import type { View } from "../../rules/world-state.js";
import type { Connection } from "../../socket/connection.js";
import { pushFrame } from "../../socket/frame.js";
import { PollFrames, showsKind, type Summaries } from "./poll-frames.js";
import type { SummaryReads } from "./poll-summaries.js";
import { authorsOf, pushDeleted, pushPinned } from "./shared.js";

/** Returns the key that people need to see a poll. */
const audienceOf = (isPublic: boolean): PermissionKey => (isPublic ? "poll.read" : "poll.manage");

/** A poll in a room. */
interface Where {
  readonly world: string;
  readonly room: string;
  readonly id: string;
}

/** Chooses the frame about a poll that each connection receives. The poll may no longer exist. */
type Choose = (
  poll: Poll | undefined,
  summaries: Summaries,
  turnout: Turnout,
  authors: Authors,
) => FrameFor;

/** Whether a view shows the results of every poll in a room. */
const seesAllResults = (view: View, room: string): boolean =>
  view.may("poll.manage", room) || view.may("poll.results", room);

/** Ports of the poll pushes. */
export interface PollPushPorts {
  readonly store: { readonly polls: PollStore };
  readonly pushes: PushPipeline;
  readonly summaries: SummaryReads;
}

/** Pushes poll changes to the people in each poll's room. Results go only to people who may see them. */
export class PollPushes {
  readonly #ports: PollPushPorts;
  readonly #voters: Voters;

  readonly handlers: EntryHandlers = {
    "poll.voted": (event) => this.#voted(event),
    "poll.saved": (event) => this.#saved(event),
    "poll.deleted": (event) =>
      pushDeleted(
        this.#ports.pushes,
        event,
        "poll",
        event.poll,
        audienceOf(event.wasPublic),
        event,
      ),
    "poll.pinned": (event) =>
      pushPinned(this.#ports.pushes, event, "poll", event.poll, () => this.#pinned(event)),
  };

  constructor(ports: PollPushPorts) {
    this.#ports = ports;
    this.#voters = new Voters(ports.store.polls);
  }

  /**
   * Runs a connection's vote in a poll. If the vote fails, sends the push that the connection
   * missed while voting.
   */
  vote<T>(connection: Connection, room: string, id: string, write: () => Promise<T>): Promise<T> {
    return this.#voters.vote(connection, id, write, () => {
      const { world, login } = connection;
      if (login) {
        this.#pushVotes({ world, room, id }, [login.user, connection.id]);
      }
    });
  }

  #voted(event: EventOf<"poll.voted">): void {
    const { world, room, poll: id, votes } = event;
    this.#voters.voted(
      id,
      votes.map(({ user }) => user),
    );
    this.#pushVotes({ world, room, id }, authorsOf(event));
  }

  /** Pushes a poll's results, as they are when the push is sent. */
  #pushVotes(where: Where, voters: readonly string[]): void {
    const { room, id } = where;
    const choose: Choose = (poll, summaries, { users, changed, isVoting }, authors) => {
      if (!poll) return () => undefined;
      const frames = new PollFrames(poll, summaries);
      return (connection, view) => {
        const login = connection.login!;
        const frame = (withResults: boolean, manages = false) =>
          frames.of({ withResults, manages, login });
        if (view.may("poll.manage", room)) return frame(true, true);
        if (!isPublic(poll)) return undefined;
        if (view.may("poll.results", room)) return frame(true);
        const { user } = login;
        // An entry that was read late does not name the voters.
        const isAuthor = authors.has(user) || changed.has(user);
        const isNotified = view.may("poll.read", room) && (isAuthor || users.has(user));
        if (!isNotified || isVoting(connection)) return undefined;
        return frame(isOver(poll) || users.has(user));
      };
    };
    this.#push(where, choose, { key: id, authors: voters });
  }

  #saved({ world, room, poll: id, hid, hidden, kind }: EventOf<"poll.saved">): void {
    const gone = pushFrame("poll.deleted", { room, id });
    const choose: Choose = (poll, summaries, { users, isVoting }) => {
      const now = poll && new PollFrames(poll, summaries);
      const isRead = poll !== undefined && isPublic(poll);
      // A manager may have changed the poll again since it was hidden. If the log no longer has the
      // version that readers saw, or the poll has been deleted since, readers are notified that it
      // was deleted.
      const last = isRead ? now : hidden && new PollFrames(hidden, summaries);
      const key = audienceOf(hid || isRead);
      return (connection: Connection, view) => {
        if (!view.may(key, room)) return undefined;
        const login = connection.login!;
        const manages = view.may("poll.manage", room);
        const frames = manages ? now : last;
        if (!frames) {
          return manages || (kind && !showsKind(login, kind)) ? undefined : gone;
        }
        const seesResults =
          isOver(frames.poll) ||
          seesAllResults(view, room) ||
          (users.has(login.user) && !isVoting(connection));
        return frames.of({ withResults: seesResults, manages, login });
      };
    };
    this.#push({ world, room, id }, choose);
  }

  #push(where: Where, choose: Choose, timing?: Timing): void {
    const { pushes, store, summaries } = this.#ports;
    const { world, room, id } = where;
    const summariesOf = async (poll: Poll): Promise<Summaries> => ({
      all: await summaries.read(world, poll, true),
      shown: await summaries.read(world, poll, false),
    });
    pushes.push(
      { world, room },
      (send, authors) =>
        this.#voters.during(
          where,
          () => store.polls.get(world, room, id),
          async (poll, turnout) => {
            const results = poll ? await summariesOf(poll) : {};
            await send(choose(poll, results, turnout, authors));
          },
        ),
      timing,
    );
  }

  /** Returns the currently pinned poll, and the key that people need to see it. */
  async #pinned({ world, room }: EventOf<"poll.pinned">) {
    const { polls } = this.#ports.store;
    const [present] = await polls.list(world, room, { limit: 1 });
    if (!present?.is_pinned) return undefined;
    return { id: present.id, key: audienceOf(isPublic(present)), kind: present.poll_type };
  }

  /** Drops the voters of a world whose last connection has ended. */
  forget(world: string): void {
    this.#voters.forget(world);
  }
}

/** Maximum number of remembered voters in all polls together, and of remembered polls. */
const MAX_VOTERS = 500_000;
const MAX_POLLS = 1000;

/** A poll's ballots, as read from the store. */
interface Counted {
  readonly world: string;
  /** The last change included in the count. */
  readonly changed: number;
  /** The users who currently have a vote. */
  readonly users: Set<string>;
}

/** A connection whose vote is being written. */
interface Ballot {
  readonly poll: string;
  /** Whether a push has skipped the connection. */
  missed: boolean;
}

/** The voters in a poll, as needed for a single push of the poll. */
interface Turnout {
  /** The users who currently have a vote. */
  readonly users: ReadonlySet<string>;
  /**
   * The users who have voted or withdrawn their vote since the last successful push; for the first
   * push, everyone who has ever voted.
   */
  readonly changed: ReadonlySet<string>;
  /**
   * Whether a connection's user is voting now, or has voted since the poll was read. The push skips
   * such a user's connection: otherwise, the push would wait for the response to the vote, and
   * could show results to a user who has just withdrawn a vote. The connection receives the next
   * push.
   */
  readonly isVoting: (connection: Connection) => boolean;
}

const none: ReadonlySet<string> = new Set();

/**
 * Tracks who is voting in polls, and who has voted. For a poll that was pushed before, only changes
 * to its votes are read.
 */
export class Voters {
  readonly #store: PollStore;
  readonly #counted = new LRUCache<string, Counted>({
    max: MAX_POLLS,
    maxSize: MAX_VOTERS,
    // The largest poll is always remembered, even if it evicts all other polls.
    sizeCalculation: ({ users }) => Math.min(users.size + 1, MAX_VOTERS),
  });
  /** The connections whose vote is being written. */
  readonly #ballots = new Map<Connection, Ballot>();
  /**
   * For each poll that is being read and pushed, the users who have voted or withdrawn their vote
   * since the read began.
   */
  readonly #since = new Map<string, Set<string>>();

  constructor(store: PollStore) {
    this.#store = store;
  }

  /**
   * Runs a connection's vote.
   * @param write writes the vote.
   * @param onMissed called if the write fails after a push has skipped the connection.
   */
  async vote<T>(
    connection: Connection,
    poll: string,
    write: () => Promise<T>,
    onMissed: () => void,
  ): Promise<T> {
    const ballot: Ballot = { poll, missed: false };
    this.#ballots.set(connection, ballot);
    try {
      return await write();
    } catch (error) {
      if (ballot.missed) onMissed();
      throw error;
    } finally {
      this.#ballots.delete(connection);
    }
  }

  /** Records the users who, according to an entry, have voted or withdrawn their vote. */
  voted(poll: string, users: Iterable<string>): void {
    const since = this.#since.get(poll);
    if (since) for (const user of users) since.add(user);
  }

  /**
   * Reads a poll and pushes it.
   * @param read reads the poll. It runs before the voters are read, so that a user who withdraws a
   * vote between the two reads sees no results.
   * @param push sends the poll. If `push` fails, the next push reads all voters again.
   */
  async during<P>(
    { world, room, id }: { world: string; room: string; id: string },
    read: () => Promise<P>,
    push: (poll: P, turnout: Turnout) => Promise<unknown>,
  ): Promise<void> {
    const since = new Set<string>();
    this.#since.set(id, since);
    try {
      const poll = await read();
      const counted = await this.#count(world, room, id);
      const isVoting = (connection: Connection) =>
        since.has(connection.login!.user) || this.#passOver(connection, id);
      await push(poll, { ...counted, isVoting });
    } catch (error) {
      this.#counted.delete(id);
      throw error;
    } finally {
      this.#since.delete(id);
    }
  }

  /** @returns whether a push must skip a connection because its user is voting in the poll. */
  #passOver(connection: Connection, poll: string): boolean {
    const ballot = this.#ballots.get(connection);
    if (ballot?.poll !== poll) return false;
    ballot.missed = true;
    return true;
  }

  async #count(world: string, room: string, poll: string) {
    const known = this.#counted.get(poll);
    const since = known?.changed ?? 0;
    const found = await this.#store.voters(world, room, poll, since);
    if (!found) {
      this.#counted.delete(poll);
      return { users: none, changed: none };
    }
    const users = known?.users ?? new Set<string>();
    for (const { id, voted } of found.users) {
      if (voted) users.add(id);
      else users.delete(id);
    }
    this.#counted.set(poll, { world, changed: found.changed, users });
    return { users, changed: new Set(found.users.map(({ id }) => id)) };
  }

  /** Drops the voters of a world whose last connection has ended. */
  forget(world: string): void {
    for (const [poll, counted] of this.#counted.entries()) {
      if (counted.world === world) this.#counted.delete(poll);
    }
  }
}
