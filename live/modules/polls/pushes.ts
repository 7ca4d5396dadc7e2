import type { Entry } from "../../../db/log/entries.js";
import type { Poll, PollStore } from "../../../db/contract/polls.js";
import type { EntryHandlers, EventOf } from "../../module.js";
import type { PermissionKey } from "../../../schemas/plain/permissions.js";
import type { Connection } from "../../socket/connection.js";
import { pushFrame } from "../../socket/frame.js";
import {
  type Authors,
  Paced,
  type PacePorts,
  type Sent,
  type Subject,
} from "../../delivery/paced.js";
import {
  authorsOf,
  concernsAnybody,
  inTurn,
  type Place,
  pushChange,
  pushInRoom,
  pushPin,
  type RoomPushPorts,
  tellHolders,
} from "../../delivery/room-pushes.js";
import type { View } from "../../rules/world-state.js";
import { PollFrames } from "./frames.js";
import { isOver, isPublic } from "./shapes.js";
import { Voters } from "./voters.js";

/** How many polls are listed at most, and of how many characters. */
export const MAX_LISTED = 1000;
export const MAX_LISTED_SIZE = 1024 * 1024;

type Saved = Extract<Entry, { type: "poll.saved" }>;

/** The key of those who are told of a poll. */
const audienceOf = (isPublic: boolean): PermissionKey =>
  isPublic ? "poll.read" : "poll.manage";

/** Chooses what somebody gets of a poll; undefined for nothing. There may be no such poll. */
type Choose = (
  poll: Poll | undefined,
  voters: ReadonlySet<string>,
) => (connection: Connection, view: View) => Buffer | undefined;

/** Whether somebody sees the results of every poll in a room. */
const seesAllResults = (view: View, room: string): boolean =>
  view.may("poll.manage", room) || view.may("poll.results", room);

/** What pushes about polls need. */
export interface PollPushPorts extends PacePorts, RoomPushPorts {
  readonly store: { readonly polls: PollStore };
}

/** Tells people in rooms what happens to polls. Results go only to those who may see them. */
export class PollPushes {
  readonly #live: PollPushPorts;
  readonly #voters: Voters;
  readonly #votes: Paced<string>;
  /** Of each poll that is read and pushed now, who has voted or withdrawn since that began. */
  readonly #votedSince = new Map<string, Set<string>>();
  /** The connections that are voting, in which poll. */
  readonly #voting = new Map<Connection, { id: string; missed: boolean }>();

  /** What it does with each entry. */
  readonly handlers: EntryHandlers = {
    "poll.voted": (event) => this.#voted(event),
    "poll.saved": (event) =>
      pushChange(this.#live, event, () => this.#pushSaved(event)),
    "poll.deleted": (event) => this.#deleted(event),
    "poll.pinned": (event) =>
      pushChange(this.#live, event, () =>
        pushPin(this.#live, event, "poll", event.poll, () =>
          this.#pinned(event),
        ),
      ),
  };

  constructor(live: PollPushPorts) {
    this.#live = live;
    this.#voters = new Voters(live.store.polls);
    this.#votes = new Paced(live, {
      send: (...args) => this.#pushVotes(...args),
      sizeOf: (world, room) => live.hub.inRoom(world, room).size,
    });
  }

  close(): void {
    this.#votes.close();
  }

  /**
   * Lets a connection vote in a poll. Pushes wait for its answer, so one with the
   * results of before could follow the answer to a vote that was withdrawn. Meanwhile
   * it counts as one that may not see them, and the vote makes a push of its own.
   */
  async vote<T>(
    connection: Connection,
    room: string,
    id: string,
    write: () => Promise<T>,
  ): Promise<T> {
    const voting = { id, missed: false };
    this.#voting.set(connection, voting);
    try {
      return await write();
    } catch (error) {
      if (voting.missed && connection.login) {
        const subject = { world: connection.world, place: room, id };
        this.#votes.add(subject, [connection.login.user, connection.id]);
      }
      throw error;
    } finally {
      this.#voting.delete(connection);
    }
  }

  /** Nobody is in a world any more. */
  forget(world: string): void {
    this.#voters.forget(world);
  }

  #voted(event: EventOf<"poll.voted">): void {
    if (!concernsAnybody(this.#live, event)) return;
    const { world, room, poll, votes } = event;
    const since = this.#votedSince.get(poll);
    for (const { user } of votes) since?.add(user);
    this.#votes.add({ world, place: room, id: poll }, authorsOf(event));
  }

  #deleted(event: EventOf<"poll.deleted">): void {
    const live = this.#live;
    const key = audienceOf(event.wasPublic);
    const data = { id: event.poll };
    pushChange(live, event, () =>
      tellHolders(live, event, key, "poll.deleted", data),
    );
  }

  async #pushSaved({
    world,
    room,
    poll: id,
    hid,
    hidden,
  }: Saved): Promise<void> {
    const gone = pushFrame("poll.deleted", { room, id });
    const choose: Choose = (poll, voters) => {
      const now = poll && new PollFrames(poll);
      const isRead = poll !== undefined && isPublic(poll);
      // A manager may have changed it once more since it was hidden. If the log no longer
      // has what readers saw, it is gone for them: so it is if it was deleted meanwhile.
      const last = isRead ? now : hidden && new PollFrames(hidden);
      const key = audienceOf(hid || isRead);
      return (connection, view) => {
        if (!view.may(key, room)) return undefined;
        const manages = view.may("poll.manage", room);
        const frames = manages ? now : last;
        if (!frames) return manages ? undefined : gone;
        const seesResults =
          isOver(frames.poll) ||
          seesAllResults(view, room) ||
          (voters.has(connection.login!.user) &&
            !this.#isVoting(connection, id));
        return frames.of(seesResults);
      };
    };
    await this.#push(world, room, id, choose);
  }

  #pushVotes(
    { world, place: room, id }: Subject<string>,
    authors: Authors,
  ): Promise<Sent> {
    const choose: Choose = (poll, voters) => {
      if (!poll) return () => undefined;
      const frames = new PollFrames(poll);
      return (connection, view) => {
        if (view.may("poll.manage", room)) return frames.of(true);
        if (!isPublic(poll)) return undefined;
        if (view.may("poll.results", room)) return frames.of(true);
        const { user } = connection.login!;
        const isAuthor = authors.has(user);
        const isTold =
          view.may("poll.read", room) && (isAuthor || voters.has(user));
        // The next push is for those who vote again meanwhile.
        if (!isTold || this.#isVoting(connection, id)) return undefined;
        return frames.of(isOver(poll) || voters.has(user));
      };
    };
    return inTurn(this.#live, room, () =>
      this.#push(world, room, id, choose, authors),
    );
  }

  /** Pushes a poll as it is now. */
  async #push(
    world: string,
    room: string,
    id: string,
    choose: Choose,
    authors?: Authors,
  ): Promise<Sent> {
    this.#votedSince.set(id, new Set());
    try {
      const poll = await this.#live.store.polls.get(world, room, id);
      // After the poll: whoever withdraws a vote in between sees no results.
      const voters = await this.#voters.of(world, room, id);
      const frameFor = choose(poll, voters);
      return await pushInRoom(this.#live, world, room, frameFor, authors);
    } finally {
      this.#votedSince.delete(id);
    }
  }

  /** Whether the user of a connection has voted or withdrawn since the poll was read, or does so now. */
  #isVoting(connection: Connection, id: string): boolean {
    const { user } = connection.login!;
    if (this.#votedSince.get(id)?.has(user)) return true;
    const voting = this.#voting.get(connection);
    if (voting?.id !== id) return false;
    voting.missed = true;
    return true;
  }

  /** The poll that is pinned now, and the key of those who are told. */
  async #pinned({ world, room }: Place) {
    const polls = await this.#live.store.polls.list(world, room, {
      limit: 1,
    });
    const present = polls.find(({ is_pinned }) => is_pinned);
    return present && { id: present.id, key: audienceOf(isPublic(present)) };
  }
}
