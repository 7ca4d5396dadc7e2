import type { AnyEvent, WorldEvent } from "../../db/events.js";
import type { Poll } from "../../db/polls.js";
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
import { isOver, isPublic, sentPoll } from "./shapes.js";
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
    await pushInRoom(this.#live, state, room, ({ login }, view) => {
      if (!view.may(key, room)) return undefined;
      return frames.of(
        isOver(poll) ||
          seesAllResults(view, room) ||
          voters.includes(login!.user),
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
      const frameFor = (user: string, view: View): Buffer | undefined => {
        if (view.may("poll.manage", room)) return frames.of(true);
        if (!isPublic(poll)) return undefined;
        if (view.may("poll.results", room)) return frames.of(true);
        const isAuthor = authors.has(user);
        const mayRead =
          view.may("poll.read", room) ||
          (isAuthor && view.may("poll.vote", room));
        if (!mayRead) return undefined;
        if (voters.includes(user)) return frames.of(true);
        return isAuthor ? frames.of(isOver(poll)) : undefined;
      };
      return pushInRoom(
        this.#live,
        state,
        room,
        ({ login }, view) => frameFor(login!.user, view),
        authors,
      );
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
      includes: (user: string): boolean =>
        known.has(user) && !this.#votes.isDue(room, id, user),
    };
    return { poll, voters, frames: new Frames(poll) };
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

/** The push of a poll with and without its results, each made at most once. */
class Frames {
  readonly #poll: Poll;
  #with: Buffer | undefined;
  #without: Buffer | undefined;

  constructor(poll: Poll) {
    this.#poll = poll;
  }

  of(withResults: boolean): Buffer {
    return withResults
      ? (this.#with ??= this.#make(true))
      : (this.#without ??= this.#make(false));
  }

  #make(withResults: boolean): Buffer {
    const poll = sentPoll(this.#poll, withResults);
    return pushFrame("poll.created_or_updated", { poll });
  }
}
