import { LRUCache } from "lru-cache";
import type { Poll, PollStore } from "../../../db/contract/poll-store.js";
import type { SentPoll } from "../../../schemas/live/polls.js";
import { isOver, isPublic } from "../../../schemas/plain/items.js";
import type { PermissionKey } from "../../../schemas/plain/permissions.js";
import type { Authors } from "../../delivery/outbox.js";
import type { FrameFor, Pushes, Timing } from "../../delivery/push.js";
import type { EntryHandlers, EventOf } from "../../module.js";
import type { View } from "../../rules/world-state.js";
import type { Connection } from "../../socket/connection.js";
import { pushFrame } from "../../socket/frame.js";
import { authorsOf, pushDeleted, pushPinned } from "./shared.js";

/**
 * A poll as clients get it.
 * @param withType whether the client asked for changes: others never got the type.
 */
export const sentPoll = (poll: Poll, withResults: boolean, withType: boolean): SentPoll => ({
  id: poll.id,
  content: poll.content,
  state: poll.state,
  timestamp: new Date(poll.timestamp).toISOString(),
  room_id: poll.room,
  ...(withType && { poll_type: poll.poll_type }),
  is_pinned: poll.is_pinned,
  options: poll.options.map(({ id, content, order }) => ({ id, content, order })),
  ...(withResults && { results: resultsOf(poll) }),
});

/** Without options, clients expect an empty list. */
const resultsOf = ({ results }: Poll): SentPoll["results"] =>
  Object.keys(results).length > 0 ? results : [];

/** The pushes of a poll, with and without its results and its type, each made at most once. */
class PollFrames {
  readonly #made = new Map<string, Buffer>();

  constructor(readonly poll: Poll) {}

  /** The push for a connection. */
  of(withResults: boolean, { login }: Connection): Buffer {
    const withType = login?.changes === true;
    const key = `${withResults} ${withType}`;
    let frame = this.#made.get(key);
    if (!frame) {
      const poll = sentPoll(this.poll, withResults, withType);
      frame = pushFrame("poll.created_or_updated", { poll });
      this.#made.set(key, frame);
    }
    return frame;
  }
}

/** The key of the people who see a poll. */
const audienceOf = (isPublic: boolean): PermissionKey => (isPublic ? "poll.read" : "poll.manage");

/** A poll in a room. */
interface Where {
  readonly world: string;
  readonly room: string;
  readonly id: string;
}

/** Chooses what each connection gets of a poll. There may be no such poll. */
type Choose = (poll: Poll | undefined, turnout: Turnout, authors: Authors) => FrameFor;

/** Whether a view shows the results of every poll in a room. */
const seesAllResults = (view: View, room: string): boolean =>
  view.may("poll.manage", room) || view.may("poll.results", room);

/** What pushes about polls need. */
export interface PollPushPorts {
  readonly store: { readonly polls: PollStore };
  readonly pushes: Pushes;
}

/** Pushes changes of polls to the people in their rooms. Results go only to people who may see them. */
export class PollPushes {
  readonly #ports: PollPushPorts;
  readonly #voters: Voters;

  /** What it does with each entry. */
  readonly handlers: EntryHandlers = {
    "poll.voted": (event) => this.#voted(event),
    "poll.saved": (event) => this.#saved(event),
    "poll.deleted": (event) =>
      pushDeleted(this.#ports.pushes, event, "poll", event.poll, audienceOf(event.wasPublic)),
    "poll.pinned": (event) =>
      pushPinned(this.#ports.pushes, event, "poll", event.poll, () => this.#pinned(event)),
  };

  constructor(ports: PollPushPorts) {
    this.#ports = ports;
    this.#voters = new Voters(ports.store.polls);
  }

  /** Lets a connection vote in a poll. If the vote fails, it gets the push that it missed. */
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

  /** Pushes the results as they are when the push leaves. */
  #pushVotes(where: Where, voters: readonly string[]): void {
    const { room, id } = where;
    const choose: Choose = (poll, { users, changed, isVoting }, authors) => {
      if (!poll) return () => undefined;
      const frames = new PollFrames(poll);
      return (connection, view) => {
        if (view.may("poll.manage", room)) return frames.of(true, connection);
        if (!isPublic(poll)) return undefined;
        if (view.may("poll.results", room)) return frames.of(true, connection);
        const { user } = connection.login!;
        // An entry that was read late does not say who voted.
        const isAuthor = authors.has(user) || changed.has(user);
        const isTold = view.may("poll.read", room) && (isAuthor || users.has(user));
        if (!isTold || isVoting(connection)) return undefined;
        return frames.of(isOver(poll) || users.has(user), connection);
      };
    };
    this.#push(where, choose, { key: id, authors: voters });
  }

  #saved({ world, room, poll: id, hid, hidden }: EventOf<"poll.saved">): void {
    const gone = pushFrame("poll.deleted", { room, id });
    const choose: Choose = (poll, { users, isVoting }) => {
      const now = poll && new PollFrames(poll);
      const isRead = poll !== undefined && isPublic(poll);
      // A manager may have changed it once more since it was hidden. If the log no longer
      // has what readers saw, it is gone for them: so it is if it was deleted meanwhile.
      const last = isRead ? now : hidden && new PollFrames(hidden);
      const key = audienceOf(hid || isRead);
      return (connection: Connection, view) => {
        if (!view.may(key, room)) return undefined;
        const manages = view.may("poll.manage", room);
        const frames = manages ? now : last;
        if (!frames) return manages ? undefined : gone;
        const seesResults =
          isOver(frames.poll) ||
          seesAllResults(view, room) ||
          (users.has(connection.login!.user) && !isVoting(connection));
        return frames.of(seesResults, connection);
      };
    };
    this.#push({ world, room, id }, choose);
  }

  #push(where: Where, choose: Choose, timing?: Timing): void {
    const { pushes, store } = this.#ports;
    const { world, room, id } = where;
    pushes.push(
      { world, room },
      (send, authors) =>
        this.#voters.during(
          where,
          () => store.polls.get(world, room, id),
          (poll, turnout) => send(choose(poll, turnout, authors)),
        ),
      timing,
    );
  }

  /** The poll that is pinned now, and the key of the people who see it. */
  async #pinned({ world, room }: EventOf<"poll.pinned">) {
    const { polls } = this.#ports.store;
    const [present] = await polls.list(world, room, { limit: 1 });
    if (!present?.is_pinned) return undefined;
    return { id: present.id, key: audienceOf(isPublic(present)) };
  }

  /** The last connection of a world has ended. */
  forget(world: string): void {
    this.#voters.forget(world);
  }
}

/** How many voters of all polls are remembered, and of how many polls. */
const MAX_VOTERS = 500_000;
const MAX_POLLS = 1000;

/** The ballots of a poll, as the store had them. */
interface Counted {
  readonly world: string;
  /** The last change of a ballot that is counted in. */
  readonly changed: number;
  /** The users who have a choice. */
  readonly users: Set<string>;
}

/** A connection that votes now. */
interface Ballot {
  readonly poll: string;
  /** A push has passed it over. */
  missed: boolean;
}

/** Who has voted in a poll, as one push of it may show. */
interface Turnout {
  /** The users who have a choice now. */
  readonly users: ReadonlySet<string>;
  /**
   * The users who voted or withdrew since the last push that did not fail; all who ever did,
   * for the first one.
   */
  readonly changed: ReadonlySet<string>;
  /**
   * Whether the user of a connection votes now, or has since this was read. The push passes them
   * over: it waits for the answer to their vote, so it could show results to a user who has just
   * withdrawn it. They get the next push.
   */
  readonly isVoting: (connection: Connection) => boolean;
}

const none: ReadonlySet<string> = new Set();

/** Who votes in polls, and who has voted. Of a poll that was pushed before, only changes are read. */
export class Voters {
  readonly #store: PollStore;
  readonly #counted = new LRUCache<string, Counted>({
    max: MAX_POLLS,
    maxSize: MAX_VOTERS,
    // The largest poll is remembered in any case, instead of all others.
    sizeCalculation: ({ users }) => Math.min(users.size + 1, MAX_VOTERS),
  });
  /** The connections that vote now. */
  readonly #ballots = new Map<Connection, Ballot>();
  /** Of each poll that is read and pushed now, who has voted or withdrawn since that began. */
  readonly #since = new Map<string, Set<string>>();

  constructor(store: PollStore) {
    this.#store = store;
  }

  /**
   * Lets a connection vote.
   * @param write writes the vote.
   * @param onMissed is called if that fails after a push has passed the connection over.
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

  /** Users have voted or withdrawn, as an entry says. */
  voted(poll: string, users: Iterable<string>): void {
    const since = this.#since.get(poll);
    if (since) for (const user of users) since.add(user);
  }

  /**
   * Reads a poll and pushes it.
   * @param read reads the poll, before its voters: a user who withdraws in between sees no results.
   * @param push sends what was read. If it fails, the next push has the same changes once more.
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

  /** @returns whether a connection votes in a poll now. */
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

  /** The last connection of a world has ended. */
  forget(world: string): void {
    for (const [poll, counted] of this.#counted.entries()) {
      if (counted.world === world) this.#counted.delete(poll);
    }
  }
}
