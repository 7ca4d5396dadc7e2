import type { AnyEvent, WorldEvent } from "../../db/events.js";
import type { Connection } from "../connection.js";
import { pushFrame } from "../frame.js";
import type { Live } from "../live.js";
import { type Authors, Paced, type Subject } from "../paced.js";
import {
  authorsOf,
  concernsAnybody,
  inTurn,
  pushInRoom,
  readingNow,
} from "../room-pushes.js";
import type { View } from "../world-state.js";
import { PollFrames } from "./frames.js";
import { isOver, isPublic } from "./shapes.js";
import { Voters } from "./voters.js";

type Changed = Extract<
  WorldEvent,
  { type: "poll.saved" | "poll.deleted" | "poll.pinned" }
>;

/** The key of those who are told of a poll. */
const audienceOf = (isPublic: boolean) =>
  isPublic ? "poll.read" : "poll.manage";

/** Whether somebody sees the results of every poll in a room. */
const seesAllResults = (view: View, room: string): boolean =>
  view.may("poll.manage", room) || view.may("poll.results", room);

/** Tells people in rooms what happens to polls. Results go only to those who may see them. */
export class PollPushes {
  readonly #live: Live;
  readonly #voters: Voters;
  readonly #votes: Paced<string>;
  /** The connections that are voting, in which poll. */
  readonly #voting = new Map<Connection, { id: string; missed: boolean }>();
  readonly #unsubscribe: () => void;

  constructor(live: Live) {
    this.#live = live;
    this.#voters = new Voters(live.store.polls);
    this.#votes = new Paced(live, (...args) => this.#pushVotes(...args));
    this.#unsubscribe = live.events.subscribe((event) => this.#receive(event));
  }

  close(): void {
    this.#unsubscribe();
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

  #receive(event: AnyEvent): void {
    const live = this.#live;
    switch (event.type) {
      case "poll.voted": {
        if (!concernsAnybody(live, event)) return;
        const { world, room, poll } = event;
        this.#votes.add({ world, place: room, id: poll }, authorsOf(event));
        break;
      }
      case "poll.saved":
      case "poll.deleted":
      case "poll.pinned":
        if (!concernsAnybody(live, event)) return;
        live.inOrder(event.world, () => readingNow(() => this.#push(event)));
    }
  }

  async #push(event: Changed): Promise<void> {
    const { world, room } = event;
    switch (event.type) {
      case "poll.saved":
        await this.#saved(world, event);
        break;
      case "poll.deleted": {
        const data = { room, id: event.poll };
        const key = audienceOf(event.wasPublic);
        await this.#send(world, room, "poll.deleted", data, key);
        break;
      }
      case "poll.pinned":
        await this.#pinned(world, room, event.poll);
    }
  }

  async #saved(
    world: string,
    { room, poll: id, wasPublic }: Extract<Changed, { wasPublic: boolean }>,
  ): Promise<void> {
    const found = await this.#find(world, room, id);
    if (!found) return;
    const { poll, voters, frames } = found;
    const key = audienceOf(wasPublic || isPublic(poll));
    await pushInRoom(this.#live, world, room, (connection, view) => {
      if (!view.may(key, room)) return undefined;
      return frames.of(
        isOver(poll) ||
          seesAllResults(view, room) ||
          (voters.has(connection.login!.user) &&
            !this.#isVoting(connection, room, id)),
      );
    });
  }

  /** @returns how many bytes were sent. */
  async #pushVotes(
    { world, place: room, id }: Subject<string>,
    authors: Authors,
  ): Promise<number> {
    return inTurn(this.#live, world, async () => {
      const found = await this.#find(world, room, id);
      if (!found) return 0;
      const { poll, voters, frames } = found;
      const frameFor = (connection: Connection, view: View) => {
        if (view.may("poll.manage", room)) return frames.of(true);
        if (!isPublic(poll)) return undefined;
        if (view.may("poll.results", room)) return frames.of(true);
        const { user } = connection.login!;
        const isAuthor = authors.has(user);
        const mayRead =
          view.may("poll.read", room) ||
          (isAuthor && view.may("poll.vote", room));
        const isTold = mayRead && (isAuthor || voters.has(user));
        // The next push is for those who vote again meanwhile.
        if (!isTold || this.#isVoting(connection, room, id)) return undefined;
        return frames.of(isOver(poll) || voters.has(user));
      };
      return pushInRoom(this.#live, world, room, frameFor, authors);
    });
  }

  /** A poll, who voted in it, and its frames. */
  async #find(world: string, room: string, id: string) {
    const poll = await this.#live.store.polls.get(world, room, id);
    if (!poll) return undefined;
    // After the poll: whoever withdraws a vote in between sees no results.
    const voters = await this.#voters.of(world, room, id);
    return { poll, voters, frames: new PollFrames(poll) };
  }

  /** Whether the user of a connection has voted or withdrawn since the present push was due, or does so now. */
  #isVoting(connection: Connection, room: string, id: string): boolean {
    if (this.#votes.isDue(room, id, connection.login!.user)) return true;
    const voting = this.#voting.get(connection);
    if (voting?.id !== id) return false;
    voting.missed = true;
    return true;
  }

  /** @param id of the poll that was pinned; null for none. */
  async #pinned(world: string, room: string, id: string | null) {
    if (id === null) {
      await this.#send(world, room, "poll.unpinned", { room }, "poll.read");
    }
    // Events of two processes have no order: the pin that the store has is the last.
    const polls = await this.#live.store.polls.list(world, room, 1);
    const present = polls.find(({ is_pinned }) => is_pinned);
    if (!present || (id ?? present.id) !== present.id) return;
    const data = { room, id: present.id };
    const key = audienceOf(isPublic(present));
    await this.#send(world, room, "poll.pinned", data, key);
  }

  async #send(
    world: string,
    room: string,
    name: string,
    data: object,
    key: "poll.read" | "poll.manage",
  ): Promise<void> {
    const frame = pushFrame(name, data);
    await pushInRoom(this.#live, world, room, (_, view) =>
      view.may(key, room) ? frame : undefined,
    );
  }
}
