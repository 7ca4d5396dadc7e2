import type { Poll, PollStore } from "../../../../db/contract/poll-store.js";
import type { SentPoll } from "../../../../schemas/live/polls.js";
import { isOver, isPublic } from "../../../../schemas/plain/items.js";
import type { PermissionKey } from "../../../../schemas/plain/permissions.js";
import type { Authors } from "../../../delivery/outbox.js";
import type { FrameFor, Pushes, Timing } from "../../../delivery/push.js";
import type { EntryHandlers, EventOf } from "../../../module.js";
import type { View } from "../../../rules/world-state.js";
import type { Connection } from "../../../socket/connection.js";
import { pushFrame } from "../../../socket/frame.js";
import { authorsOf, pushDeleted, pushPinned } from "../shared.js";
import { type Turnout, Voters } from "./voters.js";

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
