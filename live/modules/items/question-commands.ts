import type {
  Question,
  QuestionDraft,
  QuestionStore,
} from "../../../db/contract/question-store.js";
import type { Commands } from "../../../schemas/live/index.js";
import { blockedWordAction } from "../../../schemas/plain/moderation/blocked-words.js";
import {
  bind,
  type CommandTable,
  type LiveModule,
  type RoomContext,
  type CommandSender,
} from "../../module.js";
import { encoded, type Sendable, shared } from "../../rules/encoding.js";
import { LiveError, rateLimited } from "../../rules/problems.js";
import { configOf, mayInRoom } from "../../rules/rights.js";
import { questionPushes, type QuestionPushPorts, sentQuestion } from "./question-pushes.js";
import {
  itemHandlers,
  ItemLists,
  type ItemPorts,
  MAX_LISTED,
  MAX_LISTED_SIZE,
  may,
  locationOf,
} from "./shared.js";

/** Ports of the question commands. */
export interface QuestionPorts extends ItemPorts {
  readonly store: { readonly questions: QuestionStore };
  readonly lists: ItemLists<Question>;
}

type Context = RoomContext<QuestionPorts, CommandSender>;

/** Whether the caller sees questions in every state. */
const seesAll = (context: Context): boolean => may(context, "question.moderate");

const { create, update, remove, vote, pin, unpin } = itemHandlers({
  name: "question",
  manage: "question.moderate",
  store: ({ store }: QuestionPorts) => store.questions,
  sent: sentQuestion,
  texts: ({ content }) => ({ content }),

  draft(
    { ports: { rates }, connection, login, room, me, world },
    { content, named: isAware },
  ): QuestionDraft {
    const { requires_moderation, show_authors } = configOf(room.value, "question");
    // People who entered through a room's link have no name.
    const named = show_authors === true && login.scope === undefined;
    if (named && isAware === false) {
      throw new LiveError("question.named");
    }
    const blocked = mayInRoom(login, "question.moderate", world.value, room.value)
      ? undefined
      : blockedWordAction(world.value.config, [content]);
    if (blocked === "refuse") throw new LiveError("chat.blocked_word");
    const isVisible = requires_moderation === false && blocked === undefined;
    const state = isVisible ? "visible" : "mod_queue";
    const bytes = Buffer.byteLength(content);
    const mayAsk =
      rates.mayMessage(connection, bytes) &&
      rates.mayStore(connection, bytes) &&
      (state === "mod_queue" || rates.mayNotify(connection.world, room.value.id, content.length));
    if (!mayAsk) throw rateLimited();
    return { sender: me.id, content, state, named };
  },

  changes: (_, { content, state, answered, is_pinned }) => ({
    content,
    state,
    answered,
    is_pinned,
  }),

  async vote(context, id, { vote = true }) {
    const { ports, connection, me } = context;
    const question = await ports.store.questions.vote(
      ...locationOf(context),
      id,
      me.id,
      vote === true,
      seesAll(context),
      connection.author,
    );
    return sentQuestion(question);
  },
});

const moderated = { inRoom: "question.moderate" } as const;
const inModule = { module: "question", active: true } as const;

export const questionList: CommandTable<"question.list", QuestionPorts, CommandSender> = {
  "question.list": { inRoom: "question.read", handler: list },
};

/** Commands for questions that the people in a room ask and vote for. */
export const questions: CommandTable<
  Exclude<Extract<keyof Commands, `question.${string}`>, "question.report">,
  QuestionPorts
> = {
  "question.ask": { inRoom: "question.ask", ...inModule, handler: create },
  "question.update": { ...moderated, ...inModule, handler: update },
  "question.delete": { ...moderated, ...inModule, handler: remove },
  "question.vote": { inRoom: "question.vote", ...inModule, handler: vote },
  ...questionList,
  "question.pin": { ...moderated, handler: pin },
  "question.unpin": { ...moderated, handler: unpin },
};

type Listed = Commands["question.list"]["result"];

async function list(context: Context): Promise<Sendable<Listed>> {
  const { ports, me } = context;
  const { questions } = ports.store;
  const [world, room] = locationOf(context);
  const all = seesAll(context);
  const { voted, hasHidden } = await questions.ofUser(world, room, me.id);
  const read = (user: string) =>
    questions.seen(world, room, user, all, MAX_LISTED, MAX_LISTED_SIZE);
  if (hasHidden && !all) {
    const seen = await read(me.id);
    return seen.map((question) => withVote(question, question.voted));
  }
  const key = { world, room, all };
  const list = await ports.lists.get(key, () => read(""));
  const each = list.once("each", (items) =>
    items.map((question) => encoded(withVote(question, false))),
  );
  if (voted.length === 0) return list.once("all", () => shared<Listed>(each));
  const votes = new Set(voted);
  return list.items.map((question, at) =>
    votes.has(question.id) ? withVote(question, true) : each[at]!,
  );
}

const withVote = (question: Question, voted: boolean) => ({ ...sentQuestion(question), voted });

/** The ports of questions to the other layers. */
type Ports = Omit<QuestionPorts, "lists"> &
  QuestionPushPorts & {
    /** Whether this process has received all entries that were committed to a world's log at least a second ago. */
    readonly isCurrent: (world: string) => boolean;
  };

/** Creates the module for questions that the people in a room ask and vote for. */
export function questionModule(ports: Ports) {
  const lists = new ItemLists<Question>("question", ports.isCurrent);
  return {
    bound: bind(questions, { ...ports, lists }),
    lists,
    onEntry: questionPushes(ports),
    forget: (world: string) => lists.forget(world),
  } satisfies LiveModule & { lists: ItemLists<Question> };
}
