import type { ChatEventType } from "../../../db/contract/chat-store.js";
import type {
  Ballot,
  OptionDraft,
  Poll,
  PollChanges,
  PollStore,
} from "../../../db/contract/poll-store.js";
import type { Commands } from "../../../schemas/live/index.js";
import type { Clock } from "../../../db/runtime.js";
import type { SentPoll } from "../../../schemas/live/polls.js";
import { isOver } from "../../../schemas/plain/items.js";
import { blockedWordAction } from "../../../schemas/plain/moderation/blocked-words.js";
import { cutSummary, NUMBERS, POLL_KINDS, type PollSummary } from "../../../schemas/plain/polls.js";
import {
  bind,
  type CommandTable,
  type LiveModule,
  type RoomContext,
  type CommandSender,
} from "../../module.js";
import { type Sendable, shared } from "../../rules/encoding.js";
import { invalidPayload, LiveError, rateLimited } from "../../rules/problems.js";
import { hasModule, namesVoters } from "../../rules/rights.js";
import { type LeaderboardPorts, Leaderboards } from "./leaderboards.js";
import { nameOf, type PollView, sentPoll, showsKind } from "./poll-frames.js";
import { PollPushes, type PollPushPorts } from "./poll-pushes.js";
import { type QuizEndPorts, QuizEnds } from "./quiz-ends.js";
import { SummaryReads, type SummaryPorts } from "./poll-summaries.js";
import {
  itemHandlers,
  ItemLists,
  type ItemPorts,
  MAX_LISTED,
  MAX_LISTED_SIZE,
  may,
  locationOf,
} from "./shared.js";

// Poll options, as sent by clients.

/** An option in a payload. */
interface SentOption {
  id?: unknown;
  content?: string | undefined;
  /** A number, or a decimal string. */
  order?: number | string | undefined;
  correct?: boolean | undefined;
}

/** Returns the text of each option, by field path. */
const optionTexts = (options: readonly SentOption[]): Record<string, string | undefined> =>
  Object.fromEntries(options.map(({ content }, i) => [`options.${i}.content`, content]));

/** Converts a new poll's options to the form that the store accepts. */
export const newOptions = (options: readonly (SentOption & { content: string })[]): OptionDraft[] =>
  options.map(({ content, order, correct }) => ({ content, order: orderOf(order), correct }));

/**
 * Converts a changed poll's options to the form that the store accepts.
 * @throws {LiveError} if an option's id is not a string.
 */
const changedOptions = (options: readonly SentOption[]): NonNullable<PollChanges["options"]> =>
  options.map(({ id, content, order, correct }) => ({
    ...{ id: optionIdOf(id), content, order: orderOf(order), correct },
  }));

/**
 * Parses an option's id.
 * @returns undefined for a new option.
 */
function optionIdOf(id: unknown): string | undefined {
  if (id === undefined || id === null || id === "") return undefined;
  if (typeof id === "string") return id;
  throw invalidPayload({ options: ["The poll has no such option."] });
}

const orderOf = (value: SentOption["order"]): number | undefined =>
  value === undefined ? undefined : Number(value);

/** Ports of the poll commands. */
export interface PollPorts extends ItemPorts {
  readonly store: { readonly polls: PollStore };
  readonly lists: ItemLists<SummedPoll>;
  readonly votes: PollPushes;
  readonly summaries: SummaryReads;
  readonly boards: Leaderboards;
  readonly clock: Clock;
  /** Counts polls that became chat events. */
  readonly metrics: { chatted(type: ChatEventType): void } | undefined;
}

type Context = RoomContext<PollPorts, CommandSender>;

/** Whether the caller sees the results of every poll. */
const seesAllResults = (context: Context): boolean =>
  may(context, "poll.manage") || may(context, "poll.results");

const blockedWord = () => new LiveError("chat.blocked_word");

/** Returns what the caller sees of a poll. */
const viewOf = (context: Context, withResults: boolean): PollView => ({
  withResults,
  manages: may(context, "poll.manage"),
  login: context.login,
});

const { create, update, remove, vote, pin, unpin } = itemHandlers({
  name: "poll",
  manage: "poll.manage",
  store: ({ store }: PollPorts) => store.polls,
  sent: (poll, context) => sentIn(context, poll, true),
  texts: ({ content, options = [] }) => ({ content, ...optionTexts(options) }),

  draft(context, payload) {
    requireAllowed(context, payload);
    const { room: _room, options = [], ...fields } = payload;
    return { ...fields, options: newOptions(options), at: context.ports.clock.date() };
  },

  changes(context, payload) {
    requireAllowed(context, payload);
    const { ports, connection, room } = context;
    const { room: _room, id: _id, options, ...fields } = payload;
    // An opened poll may become a chat message.
    const isOpened = fields.state === "open" && hasModule(room.value, "chat.native");
    if (isOpened && !ports.rates.mayMessage(connection)) throw rateLimited();
    return {
      ...fields,
      options: options && changedOptions(options),
      at: ports.clock.date(),
    };
  },

  changed({ metrics }, { delivery }) {
    if (delivery) metrics?.chatted(delivery.event.type);
  },

  async vote(context, id, { options, value, answers }) {
    const { ports, connection, room, me, world } = context;
    if (answers && blockedWordAction(world.value.config, acceptableIn(answers))) {
      const { code, message } = blockedWord();
      throw new LiveError("poll.vote", message, { code: [code] });
    }
    const anonymous = !namesVoters(room.value);
    const vote = { options, value, answers, at: ports.clock.date(), anonymous };
    const voted = await ports.votes.vote(connection, room.value.id, id, () =>
      ports.store.polls.vote(...locationOf(context), id, me.id, vote, connection.author),
    );
    return sentIn(context, voted.poll, voted.hasVote || seesAllResults(context));
  },
});

/** The most UTF-16 units of a text that a poll accepts. */
const MAX_ANSWER = 2 * NUMBERS.text.length!.most;

/** Returns as much of some answers as a poll may accept: the store refuses all others. */
const acceptableIn = (answers: readonly string[]): string[] =>
  answers
    .slice(0, NUMBERS.text.answers!.most)
    .map((answer) => answer.trim().replace(/\s+/g, " ").slice(0, MAX_ANSWER));

/** @throws {LiveError} if a text of a poll has a blocked word: nobody is exempt. */
function requireAllowed(
  { world }: Context,
  {
    content,
    options = [],
    settings = {},
  }: Pick<Commands["poll.update"]["payload"], "content" | "options" | "settings">,
): void {
  const texts = [content, settings.min_label, settings.max_label];
  texts.push(...options.map(({ content }) => content));
  const written = texts.filter((text) => typeof text === "string");
  if (blockedWordAction(world.value.config, written)) throw blockedWord();
}

/** Returns a poll as the caller sees it, with its results if the caller sees them. */
async function sentIn(context: Context, poll: Poll, withResults: boolean): Promise<SentPoll> {
  const view = viewOf(context, withResults);
  const [world] = locationOf(context);
  const summary = withResults
    ? await context.ports.summaries.read(world, poll, view.manages)
    : undefined;
  return sentPoll(poll, view, summary);
}

const inModule = { module: "poll", active: true } as const;

export const pollList: CommandTable<"poll.list", PollPorts, CommandSender> = {
  "poll.list": { inRoom: "poll.read", ...inModule, handler: list },
};

/** Commands for polls among the people in a room. */
export const polls: CommandTable<Extract<keyof Commands, `poll.${string}`>, PollPorts> = {
  "poll.create": { inRoom: "poll.manage", ...inModule, handler: create },
  "poll.update": { inRoom: "poll.manage", ...inModule, handler: update },
  "poll.delete": { inRoom: "poll.manage", ...inModule, handler: remove },
  "poll.vote": { inRoom: "poll.vote", ...inModule, handler: vote },
  ...pollList,
  "poll.pin": { inRoom: "poll.manage", handler: pin },
  "poll.unpin": { inRoom: "poll.manage", handler: unpin },
  "poll.answers.hide": { inRoom: "poll.manage", ...inModule, handler: hide },
  "poll.leaderboard": { inRoom: "poll.read", ...inModule, handler: leaderboard },
};

async function hide(
  context: RoomContext<PollPorts>,
  { id, answer, hidden }: Commands["poll.answers.hide"]["payload"],
) {
  const { ports, connection } = context;
  const poll = typeof id === "string" ? id : "";
  const place = [...locationOf(context), poll] as const;
  await ports.store.polls.hideAnswer(...place, answer, hidden, connection.author);
  return {};
}

function leaderboard({ ports, world, room, me }: RoomContext<PollPorts>) {
  return ports.boards.of(world.value, room.value.id, me.id);
}

async function list(context: Context): Promise<Sendable<Commands["poll.list"]["result"]>> {
  const { ports, me, login } = context;
  const { polls } = ports.store;
  const [world, room] = locationOf(context);
  const all = may(context, "poll.manage");
  const list = await ports.lists.get({ world, room, all }, async () => {
    const selection = { limit: MAX_LISTED, size: MAX_LISTED_SIZE, isPublic: !all };
    const found = await polls.list(world, room, selection);
    const summaries = found.map((poll) => ports.summaries.read(world, poll, all));
    return cutTo(MAX_LISTED_SIZE, found, await Promise.all(summaries));
  });
  const seesAll = seesAllResults(context);
  const sent = (poll: SummedPoll, hasVoted: boolean) =>
    sentPoll(poll, viewOf(context, seesAll || hasVoted || isOver(poll)), poll.summary);
  const isShown = ({ poll_type }: Poll) => showsKind(login, poll_type);
  const ballots = await polls.ballots(world, room, me.id);
  // Clients that name other kinds than all may name any of them: their lists are not kept.
  const isUsual = (login.pollKinds?.size ?? POLL_KINDS.length) === POLL_KINDS.length;
  if (ballots.length === 0 && isUsual) {
    return list.once(nameOf(viewOf(context, seesAll)), (items) =>
      shared(items.filter(isShown).map((poll) => sent(poll, false))),
    );
  }
  const own = new Map(ballots.map((ballot) => [ballot.poll, ballot]));
  return list.items.filter(isShown).map((poll) => {
    const ballot = own.get(poll.id);
    return { ...sent(poll, ballot !== undefined), ...(ballot && ownVote(ballot)) };
  });
}

/**
 * Adds their summaries to polls.
 * @param size the most bytes of the words and texts of all, those of the last polls first.
 */
function cutTo(
  size: number,
  polls: readonly Poll[],
  summaries: readonly (PollSummary | undefined)[],
): SummedPoll[] {
  let left = size;
  const summed: SummedPoll[] = [];
  for (const [i, poll] of [...polls.entries()].reverse()) {
    const summary = summaries[i] && cutSummary(summaries[i], left);
    if (summary) left -= Buffer.byteLength(JSON.stringify(summary));
    summed.push({ ...poll, summary });
  }
  return summed.reverse();
}

/** Returns a user's vote as listed: options, words and texts are answers. */
function ownVote({ options, value, answers = options }: Ballot) {
  return {
    ...(answers.length > 0 && { answers }),
    ...(value !== undefined && { value }),
  };
}

/** A poll with the results that are not counted by option. */
export interface SummedPoll extends Poll {
  readonly summary: PollSummary | undefined;
}

/** The ports of polls to the other layers. */
type Ports = Omit<PollPorts, "votes" | "lists" | "summaries" | "boards"> &
  Omit<PollPushPorts, "summaries"> &
  LeaderboardPorts &
  SummaryPorts &
  QuizEndPorts;

/** Creates the module for polls among the people in a room. */
export function pollModule(ports: Ports) {
  const summaries = new SummaryReads(ports);
  const pushes = new PollPushes({ ...ports, summaries });
  const lists = new ItemLists<SummedPoll>("poll", ports.isCurrent);
  const boards = new Leaderboards(ports);
  const ends = new QuizEnds(ports);
  return {
    bound: bind(polls, { ...ports, lists, boards, summaries, votes: pushes }),
    lists,
    boards,
    onEntry: pushes.handlers,
    start: () => ends.start(),
    stop: () => ends.stop(),
    forget(world: string) {
      pushes.forget(world);
      lists.forget(world);
      boards.forget(world);
    },
  } satisfies LiveModule & { lists: ItemLists<SummedPoll>; boards: Leaderboards; start(): void };
}
