import type { ChatEventType } from "../../../db/contract/chat-store.js";
import type { OptionDraft, Poll, PollChanges, PollStore } from "../../../db/contract/poll-store.js";
import type { Commands } from "../../../schemas/live/index.js";
import { isOver } from "../../../schemas/plain/items.js";
import {
  bind,
  type CommandTable,
  type LiveModule,
  type RoomContext,
  type Sender,
} from "../../module.js";
import { type Sendable, shared } from "../../rules/encoding.js";
import { invalidPayload, rateLimited } from "../../rules/problems.js";
import { hasModule } from "../../rules/rights.js";
import { PollPushes, type PollPushPorts, sentPoll } from "./poll-pushes.js";
import {
  itemHandlers,
  ItemLists,
  type ItemPorts,
  MAX_LISTED,
  MAX_LISTED_SIZE,
  may,
  locationOf,
} from "./shared.js";

// The options of a poll, as clients send them.

/** An option in a payload. */
interface SentOption {
  id?: unknown;
  content?: string | undefined;
  /** A number or its decimal text. */
  order?: number | string | undefined;
}

/** The texts of options by the paths of their fields. */
const optionTexts = (options: readonly SentOption[]): Record<string, string | undefined> =>
  Object.fromEntries(options.map(({ content }, i) => [`options.${i}.content`, content]));

/** The options of a new poll. */
export const newOptions = (options: readonly (SentOption & { content: string })[]): OptionDraft[] =>
  options.map(({ content, order }) => ({ content, order: orderOf(order) }));

/** The options that a poll has from now on. @throws {LiveError} */
const changedOptions = (options: readonly SentOption[]): NonNullable<PollChanges["options"]> =>
  options.map(({ id, content, order }) => ({ id: optionIdOf(id), content, order: orderOf(order) }));

/** @returns undefined for a new option. */
function optionIdOf(id: unknown): string | undefined {
  if (id === undefined || id === null || id === "") return undefined;
  if (typeof id === "string") return id;
  throw invalidPayload({ options: ["The poll has no such option."] });
}

const orderOf = (value: SentOption["order"]): number | undefined =>
  value === undefined ? undefined : Number(value);

/** What the commands about polls need. */
export interface PollPorts extends ItemPorts {
  readonly store: { readonly polls: PollStore };
  readonly lists: ItemLists<Poll>;
  readonly votes: PollPushes;
  /** Counts polls that became events of the chat. */
  readonly metrics: { chatted(type: ChatEventType): void } | undefined;
}

type Context = RoomContext<PollPorts, Sender>;

/** Whether the caller sees the results of every poll. */
const seesAllResults = (context: Context): boolean =>
  may(context, "poll.manage") || may(context, "poll.results");

/** Whether the caller's client learns what older ones never got. */
const asksForChanges = ({ connection }: Context): boolean => connection.login?.changes === true;

const { create, update, remove, vote, pin, unpin } = itemHandlers({
  name: "poll",
  manage: "poll.manage",
  store: ({ store }: PollPorts) => store.polls,
  sent: (poll, context) => sentPoll(poll, true, asksForChanges(context)),
  texts: ({ content, options = [] }) => ({ content, ...optionTexts(options) }),

  draft: (_, { room: _room, options = [], ...fields }) => ({
    ...fields,
    options: newOptions(options),
  }),

  changes({ ports, connection, room }, payload) {
    const { room: _room, id: _id, options, ...fields } = payload;
    // It may be a message in the chat.
    const isOpened = fields.state === "open" && hasModule(room.value, "chat.native");
    if (isOpened && !ports.rates.mayMessage(connection)) throw rateLimited();
    return { ...fields, options: options && changedOptions(options) };
  },

  changed({ metrics }, { delivery }) {
    if (delivery) metrics?.chatted(delivery.event.type);
  },

  async vote(context, id, { options }) {
    const { ports, connection, room, me } = context;
    const voted = await ports.votes.vote(connection, room.value.id, id, () =>
      ports.store.polls.vote(...locationOf(context), id, me.id, options, connection.author),
    );
    const withResults = voted.options.length > 0 || seesAllResults(context);
    return sentPoll(voted.poll, withResults, asksForChanges(context));
  },
});

const inModule = { module: "poll", active: true } as const;

/** The list of polls. */
export const pollList: CommandTable<"poll.list", PollPorts, Sender> = {
  "poll.list": { inRoom: "poll.read", ...inModule, handler: list },
};

/** Polls among the people in a room. */
export const polls: CommandTable<Extract<keyof Commands, `poll.${string}`>, PollPorts> = {
  "poll.create": { inRoom: "poll.manage", ...inModule, handler: create },
  "poll.update": { inRoom: "poll.manage", ...inModule, handler: update },
  "poll.delete": { inRoom: "poll.manage", ...inModule, handler: remove },
  "poll.vote": { inRoom: "poll.vote", ...inModule, handler: vote },
  ...pollList,
  "poll.pin": { inRoom: "poll.manage", handler: pin },
  "poll.unpin": { inRoom: "poll.manage", handler: unpin },
};

async function list(context: Context): Promise<Sendable<Commands["poll.list"]["result"]>> {
  const { ports, me } = context;
  const { polls } = ports.store;
  const [world, room] = locationOf(context);
  const all = may(context, "poll.manage");
  const list = await ports.lists.get({ world, room, all }, () =>
    polls.list(world, room, { limit: MAX_LISTED, size: MAX_LISTED_SIZE, isPublic: !all }),
  );
  const seesAll = seesAllResults(context);
  const withType = asksForChanges(context);
  const sent = (poll: Poll, hasVoted: boolean) =>
    sentPoll(poll, seesAll || hasVoted || isOver(poll), withType);
  const ballots = await polls.ballots(world, room, me.id);
  if (ballots.length === 0) {
    return list.once(`${seesAll} ${withType}`, (items) =>
      shared(items.map((poll) => sent(poll, false))),
    );
  }
  const answers = new Map(ballots.map(({ poll, options }) => [poll, options]));
  return list.items.map((poll) => {
    const own = answers.get(poll.id);
    return { ...sent(poll, own !== undefined), ...(own && { answers: own }) };
  });
}

/** The ports of polls to the other floors. */
type Ports = Omit<PollPorts, "votes" | "lists"> &
  PollPushPorts & {
    /** Whether this process has got all entries of a world up to a second ago. */
    readonly isCurrent: (world: string) => boolean;
  };

/** Polls among the people in a room. */
export function pollModule(ports: Ports) {
  const pushes = new PollPushes(ports);
  const lists = new ItemLists<Poll>("poll", ports.isCurrent);
  return {
    bound: bind(polls, { ...ports, lists, votes: pushes }),
    lists,
    onEntry: pushes.handlers,
    forget(world: string) {
      pushes.forget(world);
      lists.forget(world);
    },
  } satisfies LiveModule & { lists: ItemLists<Poll> };
}
