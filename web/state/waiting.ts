import { derived, type Readable } from "svelte/store";
import type { ListedPoll, ListedQuestion, Live, SentRoom } from "../../client/index.js";
import { may } from "../lib/rights.js";
import { listingOf } from "./votes.js";

/** What waits in a part of a room. */
export interface Waiting {
  /** How many things; 0 for none. */
  readonly count: number;
  /** Whether they wait for a moderator. */
  readonly isTask: boolean;
}

/** The polls that the user may still vote in. */
export const unvoted = (polls: readonly ListedPoll[]): ListedPoll[] =>
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
