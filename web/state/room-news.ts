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

// What happens in the rooms that the user has joined or moderates, while another one is open.

/** What is new in a room. */
export interface RoomNews {
  /** How many messages are unread. */
  readonly messages: number;
  /** How many questions wait for the user as a moderator. */
  readonly questions: number;
}

/** How many messages are counted; more are "99+". */
export const MOST_COUNTED = 99;

/**
 * How often to count. The server reports only the first unread message of a room, and
 * reports questions only to people in the room.
 */
const COUNT_INTERVAL_MS = 30_000;

/** The messages of a room behind a read pointer. */
interface Counted {
  readonly pointer: number;
  readonly unseen: Unseen;
  /** The last event that was counted. */
  upTo: number;
}

interface NewsParts {
  readonly live: Live;
  /** The room that is open: nothing is new there. */
  readonly open: () => string | undefined;
  /** Nobody looks at a hidden page. */
  readonly isHidden?: () => boolean;
  readonly pace?: number;
}

/** What is new in each room, by its id. Rooms without news are left out. */
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
      while (known.unseen.count <= MOST_COUNTED) {
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

    async function newsIn(room: SentRoom): Promise<RoomNews> {
      const state = live.state!;
      const { id } = room;
      const isMember = state.channels.some((channel) => channel.id === id);
      const moderates = moduleOf(room, "question") && may(room, "room:question.moderate");
      return {
        messages: isMember && isUnread(state, id) ? await messagesIn(state, id) : 0,
        questions: moderates ? await questionsIn(id) : 0,
      };
    }

    async function look() {
      clearTimeout(timer);
      const now = ++turn;
      const all = new Map<string, RoomNews>();
      const rooms = live.isConnected && !isHidden() ? live.state?.rooms : [];
      for (const room of rooms ?? []) {
        if (room.id === open()) continue;
        // A lost right or connection: the next look is soon enough.
        const news = await newsIn(room).catch(() => undefined);
        if (now !== turn) return;
        if (news && news.messages + news.questions > 0) all.set(room.id, news);
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

/** The messages that arrived while nobody looked, except those that were deleted since. */
export class Unseen {
  readonly #ids = new Set<number>();

  get count(): number {
    return this.#ids.size;
  }

  /** @param me the id of the user, whose own messages are not new to them. */
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

/** What waits in a part of a room. */
export interface Waiting {
  /** How many things; 0 for none. */
  readonly count: number;
  /** Whether they wait for a moderator. */
  readonly isTask: boolean;
}

/** The polls that the user may still vote in. */
const unvoted = (polls: readonly ListedPoll[]): ListedPoll[] =>
  polls.filter(({ state, answers = [] }) => state === "open" && answers.length === 0);

/** The questions in the queue for moderators, and the unanswered ones for all others. */
export function unanswered(questions: readonly ListedQuestion[], moderates: boolean): Waiting {
  const queue = questions.filter(({ state }) => state === "mod_queue");
  if (moderates && queue.length > 0) return { count: queue.length, isTask: true };
  const open = questions.filter(({ state, answered }) => state === "visible" && !answered);
  return { count: open.length, isTask: false };
}

/** What waits among the polls of a room. @param roomOf gives its present state. */
const waitingPolls = (live: Live, roomOf: () => SentRoom): Readable<Waiting> =>
  derived(listingOf(live.polls(roomOf().id)), (listing) => ({
    count:
      listing.is === "known" && may(roomOf(), "room:poll.vote") ? unvoted(listing.items).length : 0,
    isTask: false,
  }));

/** What waits among the questions of a room. @param roomOf gives its present state. */
const waitingQuestions = (live: Live, roomOf: () => SentRoom): Readable<Waiting> =>
  derived(listingOf(live.questions(roomOf().id)), (listing) =>
    unanswered(
      listing.is === "known" ? listing.items : [],
      may(roomOf(), "room:question.moderate"),
    ),
  );

/** What waits in the parts of a room, by the types of their modules. */
export const waitingIn: Readonly<
  Record<string, (live: Live, roomOf: () => SentRoom) => Readable<Waiting>>
> = { poll: waitingPolls, question: waitingQuestions };
