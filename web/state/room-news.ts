import { derived, readable, type Readable } from "svelte/store";
import type {
  ListedPoll,
  ListedQuestion,
  Live,
  LiveState,
  SentEvent,
  SentRoom,
} from "../../client/index.js";
import { may, moduleOf } from "../lib/rights.js";
import { isUnread } from "./rooms.js";
import { listingOf } from "./votes.js";

// News in the rooms that the user has joined or moderates, while another room is open.

/** News in a room. */
export interface RoomNews {
  /** Number of unread messages. */
  readonly messages: number;
  /** Number of questions that await the user as a moderator. */
  readonly questions: number;
  /** Number of messages that await the user as a moderator. */
  readonly held: number;
}

/** Number of messages after which counting stops. Pages then show "99+". */
export const MAX_COUNTED = 99;

/**
 * Interval between counts, in milliseconds. The server reports only a room's first unread message,
 * and reports questions only to people in the room.
 */
const COUNT_INTERVAL_MS = 30_000;

/** A room's messages after a read pointer. */
interface Counted {
  readonly pointer: number;
  readonly unseen: Unseen;
  /** Id of the last event counted. */
  upTo: number;
}

interface NewsParts {
  readonly live: Live;
  /** Returns the id of the open room, which never has news. */
  readonly open: () => string | undefined;
  /** Whether the page is hidden. While the page is hidden, nothing is counted. */
  readonly isHidden?: () => boolean;
  readonly pace?: number;
}

/** News by room id. Rooms without news are omitted. */
export const newsOf = ({
  live,
  open,
  isHidden = () => document.hidden,
  pace = COUNT_INTERVAL_MS,
}: NewsParts): Readable<ReadonlyMap<string, RoomNews>> =>
  readable<ReadonlyMap<string, RoomNews>>(new Map(), (set) => {
    const counted = new Map<string, Counted>();
    let timer: ReturnType<typeof setTimeout>;
    let turn = 0;

    async function messagesIn(state: LiveState, id: string): Promise<number> {
      const pointer = state.readPointers[id] ?? 0;
      let known = counted.get(id);
      if (known?.pointer !== pointer) {
        known = { pointer, unseen: new Unseen(), upTo: pointer };
        counted.set(id, known);
      }
      while (known.unseen.count <= MAX_COUNTED) {
        const page = { channel: id, count: 100, after_id: known.upTo };
        const { results } = await live.call("chat.fetch", page);
        for (const event of results) {
          known.unseen.take(event, state.user.id);
          known.upTo = event.event_id;
        }
        if (results.length < page.count) break;
      }
      return known.unseen.count;
    }

    const questionsIn = async (room: string): Promise<number> =>
      (await live.call("question.list", { room })).filter(({ state }) => state === "mod_queue")
        .length;

    const heldIn = async (room: string): Promise<number> =>
      (await live.call("chat.held.list", { channel: room })).count;

    async function newsIn(room: SentRoom): Promise<RoomNews> {
      const state = live.state!;
      const { id } = room;
      const isMember = state.channels.some((channel) => channel.id === id);
      const moderates = moduleOf(room, "question") && may(room, "room:question.moderate");
      const decides = moduleOf(room, "chat.native") && may(room, "room:chat.moderate");
      return {
        messages: isMember && isUnread(state, id) ? await messagesIn(state, id) : 0,
        questions: moderates ? await questionsIn(id) : 0,
        held: decides ? await heldIn(id) : 0,
      };
    }

    async function look() {
      clearTimeout(timer);
      const now = ++turn;
      const all = new Map<string, RoomNews>();
      const rooms = live.isConnected && !isHidden() ? live.state?.rooms : [];
      for (const room of rooms ?? []) {
        if (room.id === open()) continue;
        // If the user has lost a right or the connection, the next count is soon enough.
        const news = await newsIn(room).catch(() => undefined);
        if (now !== turn) return;
        if (news && news.messages + news.questions + news.held > 0) all.set(room.id, news);
      }
      if (live.isConnected && !isHidden()) set(all);
      timer = setTimeout(() => void look(), pace);
    }

    const names = ["authenticated", "chat.unread_pointers"] as const;
    const stops = names.map((name) => live.on(name, () => void look()));
    void look();
    return () => {
      turn++;
      clearTimeout(timer);
      stops.forEach((stop) => stop());
    };
  });

/** Messages that the user has not seen yet, except messages that have been deleted since. */
export class Unseen {
  readonly #ids = new Set<number>();

  get count(): number {
    return this.#ids.size;
  }

  /** @param me the current user's id. The user's own messages are not counted. */
  take(event: SentEvent, me: string | undefined): void {
    const { event_id, event_type, sender, replaces, content } = event;
    if (event_type !== "channel.message") return;
    if (content["type"] === "deleted") this.#ids.delete(replaces ?? event_id);
    else if (replaces === null && sender !== null && sender !== me) {
      this.#ids.add(event_id);
    }
  }

  clear(): void {
    this.#ids.clear();
  }
}

/** Items that await the user in a part of a room. */
export interface Waiting {
  readonly count: number;
  /** Whether the items await the user as a moderator. */
  readonly isTask: boolean;
}

/** Returns the open polls in which the user has not voted. */
const unvoted = (polls: readonly ListedPoll[]): ListedPoll[] =>
  polls.filter(
    ({ state, answers = [], value }) =>
      state === "open" && answers.length === 0 && value === undefined,
  );

/**
 * Counts the questions in the moderation queue for a moderator. For other users, or if the queue is
 * empty, counts the unanswered questions.
 */
export function unanswered(questions: readonly ListedQuestion[], moderates: boolean): Waiting {
  const queue = questions.filter(({ state }) => state === "mod_queue");
  if (moderates && queue.length > 0) return { count: queue.length, isTask: true };
  const open = questions.filter(({ state, answered }) => state === "visible" && !answered);
  return { count: open.length, isTask: false };
}

/**
 * Counts the polls that await the user in a room.
 * @param roomOf returns the room's current state.
 */
const waitingPolls = (live: Live, roomOf: () => SentRoom): Readable<Waiting> =>
  derived(listingOf(live.polls(roomOf().id)), (listing) => ({
    count:
      listing.is === "known" && may(roomOf(), "room:poll.vote") ? unvoted(listing.items).length : 0,
    isTask: false,
  }));

/**
 * Counts the questions that await the user in a room.
 * @param roomOf returns the room's current state.
 */
const waitingQuestions = (live: Live, roomOf: () => SentRoom): Readable<Waiting> =>
  derived(listingOf(live.questions(roomOf().id)), (listing) =>
    unanswered(
      listing.is === "known" ? listing.items : [],
      may(roomOf(), "room:question.moderate"),
    ),
  );

/** Counts the items that await the user in a part of a room, by module type. */
export const waitingIn: Readonly<
  Record<string, (live: Live, roomOf: () => SentRoom) => Readable<Waiting>>
> = { poll: waitingPolls, question: waitingQuestions };
