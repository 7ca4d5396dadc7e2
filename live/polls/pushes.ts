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
  withState,
} from "../room-pushes.js";
import type { View, WorldState } from "../world-state.js";
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
        this.#votes.add(subject, [connection.login.user]);
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
        live.inOrder(event.world, () =>
          withState(live, event.world, (state) => this.#push(state, event)),
        );
    }
  }

  async #push(state: WorldState, event: Changed): Promise<void> {
    const { room } = event;
    switch (event.type) {
      case "poll.saved":
        await this.#saved(state, event);
        break;
      case "poll.deleted": {
        const data = { room, id: event.poll };
        const key = audienceOf(event.wasPublic);
        await this.#send(state, room, "poll.deleted", data, key);
        break;
      }
      case "poll.pinned":
        await this.#pinned(state, room, event.poll);
    }
  }

  async #saved(
    state: WorldState,
    { room, poll: id, wasPublic }: Extract<Changed, { wasPublic: boolean }>,
  ): Promise<void> {
    const found = await this.#find(state, room, id);
    if (!found) return;
    const { poll, voters, frames } = found;
    const key = audienceOf(wasPublic || isPublic(poll));
    await pushInRoom(this.#live, state, room, (connection, view) => {
      if (!view.may(key, room)) return undefined;
      return frames.of(
        isOver(poll) ||
          seesAllResults(view, room) ||
          voters.includes(connection),
      );
    });
  }

  /** @returns how many bytes were sent. */
  async #pushVotes(
    { world, place: room, id }: Subject<string>,
    authors: Authors,
  ): Promise<number> {
    const bytes = await inTurn(this.#live, world, async (state) => {
      const found = await this.#find(state, room, id);
      if (!found) return 0;
      const { poll, voters, frames } = found;
      const frameFor = (connection: Connection, view: View) => {
        if (view.may("poll.manage", room)) return frames.of(true);
        if (!isPublic(poll)) return undefined;
        if (view.may("poll.results", room)) return frames.of(true);
        const isAuthor = authors.has(connection.login!.user);
        const mayRead =
          view.may("poll.read", room) ||
          (isAuthor && view.may("poll.vote", room));
        if (!mayRead) return undefined;
        if (voters.includes(connection)) return frames.of(true);
        return isAuthor ? frames.of(isOver(poll)) : undefined;
      };
      return pushInRoom(this.#live, state, room, frameFor, authors);
    });
    return bytes ?? 0;
  }

  /** A poll, who voted in it, and its frames. */
  async #find(state: WorldState, room: string, id: string) {
    const world = state.world.value.id;
    const poll = await this.#live.store.polls.get(world, room, id);
    if (!poll) return undefined;
    // After the poll: whoever withdraws a vote in between sees no results.
    const known = await this.#voters.of(world, room, id);
    const voters = {
      // Who has voted or withdrawn since then gets the next push.
      includes: (connection: Connection): boolean => {
        const { user } = connection.login!;
        if (!known.has(user) || this.#votes.isDue(room, id, user)) return false;
        const voting = this.#voting.get(connection);
        if (voting?.id !== id) return true;
        voting.missed = true;
        return false;
      },
    };
    return { poll, voters, frames: new PollFrames(poll) };
  }

  /** @param id of the poll that was pinned; null for none. */
  async #pinned(state: WorldState, room: string, id: string | null) {
    if (id === null) {
      await this.#send(state, room, "poll.unpinned", { room }, "poll.read");
    }
    // Events of two processes have no order: the pin that the store has is the last.
    const world = state.world.value.id;
    const polls = await this.#live.store.polls.list(world, room, 1);
    const present = polls.find(({ is_pinned }) => is_pinned);
    if (!present || (id ?? present.id) !== present.id) return;
    const data = { room, id: present.id };
    const key = audienceOf(isPublic(present));
    await this.#send(state, room, "poll.pinned", data, key);
  }

  async #send(
    state: WorldState,
    room: string,
    name: string,
    data: object,
    key: "poll.read" | "poll.manage",
  ): Promise<void> {
    const frame = pushFrame(name, data);
    await pushInRoom(this.#live, state, room, (_, view) =>
      view.may(key, room) ? frame : undefined,
    );
  }
}
