import type { Commands } from "../../../../schemas/live/index.js";
import type { PermissionKey } from "../../../../schemas/plain/permissions.js";
import type { QuestionStore } from "../../../../db/contract/questions.js";
import type { RoomContext } from "../../../context.js";
import type { CommandTable } from "../../../module.js";
import type { Rates } from "../../../people/rates.js";
import { rateLimited, unknownQuestion } from "../../../rules/problems.js";
import { mayInRoom } from "../../../rules/rights.js";
import { configOf } from "../../../rules/room-modules.js";
import { idIn, requireShort } from "../../../rules/texts.js";
import { MAX_LISTED, MAX_LISTED_SIZE } from "./pushes.js";
import { sentQuestion } from "./shapes.js";

const module = "question";

/** What the commands about questions need. */
export interface QuestionPorts {
  readonly limits: { readonly maxText: number };
  readonly rates: Rates;
  readonly store: { readonly questions: QuestionStore };
}

/** Questions that the people in a room ask and vote for. */
export const questions: CommandTable<
  Extract<keyof Commands, `question.${string}`>,
  QuestionPorts
> = {
  "question.ask": {
    inRoom: "question.ask",
    module,
    active: true,
    handler: ask,
  },
  "question.update": {
    inRoom: "question.moderate",
    module,
    active: true,
    handler: update,
  },
  "question.delete": {
    inRoom: "question.moderate",
    module,
    active: true,
    handler: remove,
  },
  "question.vote": {
    inRoom: "question.vote",
    module,
    active: true,
    handler: vote,
  },
  "question.list": { inRoom: "question.read", handler: list },
  "question.pin": { inRoom: "question.moderate", handler: pin },
  "question.unpin": { inRoom: "question.moderate", handler: unpin },
};

async function ask(
  { ports, connection, room, me }: RoomContext<QuestionPorts>,
  { content }: Commands["question.ask"]["payload"],
) {
  requireShort(ports.limits.maxText, { content });
  const { requires_moderation } = configOf(room.value, module);
  const state = requires_moderation === false ? "visible" : "mod_queue";
  const { rates } = ports;
  const mayAsk =
    rates.mayMessage(connection, Buffer.byteLength(content)) &&
    (state === "mod_queue" ||
      rates.mayTell(connection.world, room.value.id, content.length));
  if (!mayAsk) throw rateLimited();
  const asked = await ports.store.questions.ask(
    connection.world,
    room.value.id,
    { sender: me.id, content, state },
    connection.author,
  );
  return { question: sentQuestion(asked) };
}

async function update(
  { ports, connection, room, me }: RoomContext<QuestionPorts>,
  payload: Commands["question.update"]["payload"],
) {
  const { content, state, answered, is_pinned } = payload;
  requireShort(ports.limits.maxText, { content });
  const { after } = await ports.store.questions.update(
    connection.world,
    room.value.id,
    idIn(payload.id),
    { content, state, answered, is_pinned },
    me.id,
    connection.author,
  );
  return { question: sentQuestion(after) };
}

async function remove(
  { ports, connection, room }: RoomContext<QuestionPorts>,
  payload: Commands["question.delete"]["payload"],
) {
  const { id } = await ports.store.questions.delete(
    connection.world,
    room.value.id,
    idIn(payload.id),
    connection.author,
  );
  return { question: id };
}

async function vote(
  context: RoomContext<QuestionPorts>,
  { id, vote = true }: Commands["question.vote"]["payload"],
) {
  const { ports, connection, room, me } = context;
  const all = seesAll(context);
  // The answer shows the question.
  if (!all && !may(context, "question.read")) throw unknownQuestion();
  if (!ports.rates.mayReact(connection)) throw rateLimited();
  const question = await ports.store.questions.vote(
    connection.world,
    room.value.id,
    idIn(id),
    me.id,
    vote === true,
    all,
    connection.author,
  );
  return { question: sentQuestion(question) };
}

const may = (
  { login, world, room }: RoomContext<QuestionPorts>,
  key: PermissionKey,
) => mayInRoom(login, key, world.value, room.value);

/** Whether the caller sees the questions of every state. */
const seesAll = (context: RoomContext<QuestionPorts>): boolean =>
  may(context, "question.moderate");

async function list(context: RoomContext<QuestionPorts>) {
  const { ports, connection, room, me } = context;
  const all = seesAll(context);
  const seen = await ports.store.questions.seen(
    connection.world,
    room.value.id,
    me.id,
    all,
    MAX_LISTED,
    MAX_LISTED_SIZE,
  );
  return seen.map((question) => ({
    ...sentQuestion(question),
    voted: question.voted,
  }));
}

async function pin(
  context: RoomContext<QuestionPorts>,
  payload: Commands["question.pin"]["payload"],
) {
  const id = idIn(payload.id);
  await pinned(context, id);
  return { id };
}

async function unpin(context: RoomContext<QuestionPorts>) {
  await pinned(context, null);
  return {};
}

const pinned = (
  { ports, connection, room, me }: RoomContext<QuestionPorts>,
  id: string | null,
) =>
  ports.store.questions.pin(
    connection.world,
    room.value.id,
    id,
    me.id,
    connection.author,
  );
