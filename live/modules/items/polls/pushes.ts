import type { Entry } from "../../../../db/log/entries.js";
import type { Poll, PollStore } from "../../../../db/contract/polls.js";
import type { EntryHandlers, EventOf } from "../../../module.js";
import { isOver, isPublic } from "../../../../schemas/plain/items.js";
import type { PermissionKey } from "../../../../schemas/plain/permissions.js";
import type { Connection } from "../../../socket/connection.js";
import { pushFrame } from "../../../socket/frame.js";
import {
  type Authors,
  Paced,
  type PacePorts,
  type Sent,
  type Subject,
} from "../../../delivery/paced.js";
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
} from "../../../delivery/room-pushes.js";
import type { View } from "../../../rules/world-state.js";
import { PollFrames } from "./frames.js";
import { type Voted, Voters } from "./voters.js";
import { Voting } from "./voting.js";

type Saved = Extract<Entry, { type: "poll.saved" }>;

/** The key of those who are told of a poll. */
const audienceOf = (isPublic: boolean): PermissionKey =>
  isPublic ? "poll.read" : "poll.manage";

/** Chooses what somebody gets of a poll; undefined for nothing. There may be no such poll. */
type Choose = (
  poll: Poll | undefined,
  voted: Voted,
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
  readonly #ports: PollPushPorts;
  readonly #voters: Voters;
  readonly #votes: Paced<string>;
  readonly #voting = new Voting();

  /** What it does with each entry. */
  readonly handlers: EntryHandlers = {
    "poll.voted": (event) => this.#voted(event),
    "poll.saved": (event) =>
      pushChange(this.#ports, event, () => this.#pushSaved(event)),
    "poll.deleted": (event) => this.#deleted(event),
    "poll.pinned": (event) =>
      pushChange(this.#ports, event, () =>
        pushPin(this.#ports, event, "poll", event.poll, () =>
          this.#pinned(event),
        ),
      ),
  };

  constructor(ports: PollPushPorts) {
    this.#ports = ports;
    this.#voters = new Voters(ports.store.polls);
    this.#votes = new Paced(ports, {
      send: (...args) => this.#pushVotes(...args),
      sizeOf: (world, room) => ports.hub.inRoom(world, room).size,
    });
  }

  close(): void {
    this.#votes.close();
  }

  /** Lets a connection vote in a poll. If the vote fails, it gets what it missed meanwhile. */
  vote<T>(
    connection: Connection,
    room: string,
    id: string,
    write: () => Promise<T>,
  ): Promise<T> {
    return this.#voting.vote(connection, id, write, () => {
      if (!connection.login) return;
      const subject = { world: connection.world, place: room, id };
      this.#votes.add(subject, [connection.login.user, connection.id]);
    });
  }

  /** Nobody is in a world any more. */
  forget(world: string): void {
    this.#voters.forget(world);
  }

  #voted(event: EventOf<"poll.voted">): void {
    if (!concernsAnybody(this.#ports, event)) return;
    const { world, room, poll, votes } = event;
    this.#voting.voted(
      poll,
      votes.map(({ user }) => user),
    );
    this.#votes.add({ world, place: room, id: poll }, authorsOf(event));
  }

  #deleted(event: EventOf<"poll.deleted">): void {
    const ports = this.#ports;
    const key = audienceOf(event.wasPublic);
    const data = { id: event.poll };
    pushChange(ports, event, () =>
      tellHolders(ports, event, key, "poll.deleted", data),
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
    const choose: Choose = (poll, { users: voters }) => {
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
            !this.#voting.passesOver(connection, id));
        return frames.of(seesResults);
      };
    };
    await this.#push(world, room, id, choose);
  }

  #pushVotes(
    { world, place: room, id }: Subject<string>,
    authors: Authors,
  ): Promise<Sent> {
    const choose: Choose = (poll, { users: voters, changed }) => {
      if (!poll) return () => undefined;
      const frames = new PollFrames(poll);
      return (connection, view) => {
        if (view.may("poll.manage", room)) return frames.of(true);
        if (!isPublic(poll)) return undefined;
        if (view.may("poll.results", room)) return frames.of(true);
        const { user } = connection.login!;
        // An entry that was read late does not say who voted.
        const isAuthor = authors.has(user) || changed.has(user);
        const isTold =
          view.may("poll.read", room) && (isAuthor || voters.has(user));
        // The next push is for those who vote again meanwhile.
        if (!isTold || this.#voting.passesOver(connection, id))
          return undefined;
        return frames.of(isOver(poll) || voters.has(user));
      };
    };
    return inTurn(this.#ports, room, () =>
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
    return this.#voting.during(id, async () => {
      const poll = await this.#ports.store.polls.get(world, room, id);
      // After the poll: whoever withdraws a vote in between sees no results.
      const voted = await this.#voters.of(world, room, id);
      try {
        const frameFor = choose(poll, voted);
        return await pushInRoom(this.#ports, world, room, frameFor, authors);
      } catch (error) {
        this.#voters.again(id);
        throw error;
      }
    });
  }

  /** The poll that is pinned now, and the key of those who are told. */
  async #pinned({ world, room }: Place) {
    const polls = await this.#ports.store.polls.list(world, room, {
      limit: 1,
    });
    const present = polls.find(({ is_pinned }) => is_pinned);
    return present && { id: present.id, key: audienceOf(isPublic(present)) };
  }
}
