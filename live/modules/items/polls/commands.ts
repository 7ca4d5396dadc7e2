import type { Commands } from "../../../../schemas/live/index.js";
import type { PermissionKey } from "../../../../schemas/plain/permissions.js";
import type { PollStore } from "../../../../db/contract/polls.js";
import type { RoomContext } from "../../../context.js";
import type { CommandTable } from "../../../module.js";
import type { Rates } from "../../../people/rates.js";
import { rateLimited, unknownPoll } from "../../../rules/problems.js";
import { mayInRoom } from "../../../rules/rights.js";
import { hasModule } from "../../../rules/room-modules.js";
import { idIn, requireShort } from "../../../rules/texts.js";
import { changedOptions, newOptions, optionTexts } from "./options.js";
import { MAX_LISTED, MAX_LISTED_SIZE, type PollPushes } from "./pushes.js";
import type { ChatEventType } from "../../../../db/contract/chat.js";
import { isOver, sentPoll } from "./shapes.js";

const module = "poll";

/** What the commands about polls need. */
export interface PollPorts {
  readonly limits: { readonly maxText: number };
  readonly rates: Rates;
  readonly store: { readonly polls: PollStore };
  readonly pushes: PollPushes;
  /** A poll became an event of the chat. */
  readonly chatted: (type: ChatEventType) => void;
}

/** Polls among the people in a room. */
export const polls: CommandTable<
  Extract<keyof Commands, `poll.${string}`>,
  PollPorts
> = {
  "poll.create": {
    inRoom: "poll.manage",
    module,
    active: true,
    handler: create,
  },
  "poll.update": {
    inRoom: "poll.manage",
    module,
    active: true,
    handler: update,
  },
  "poll.delete": {
    inRoom: "poll.manage",
    module,
    active: true,
    handler: remove,
  },
  "poll.vote": { inRoom: "poll.vote", module, active: true, handler: vote },
  "poll.list": { inRoom: "poll.read", module, active: true, handler: list },
  "poll.pin": { inRoom: "poll.manage", handler: pin },
  "poll.unpin": { inRoom: "poll.manage", handler: unpin },
};

async function create(
  { ports, connection, room }: RoomContext<PollPorts>,
  payload: Commands["poll.create"]["payload"],
) {
  const { content, options = [], state, poll_type } = payload;
  requireShort(ports.limits.maxText, { content, ...optionTexts(options) });
  const poll = await ports.store.polls.create(
    connection.world,
    room.value.id,
    { content, options: newOptions(options), state, poll_type },
    connection.author,
  );
  return { poll: sentPoll(poll, true) };
}

async function update(
  { ports, connection, room, me }: RoomContext<PollPorts>,
  payload: Commands["poll.update"]["payload"],
) {
  const { content, state, options, is_pinned, poll_type } = payload;
  requireShort(ports.limits.maxText, {
    content,
    ...optionTexts(options ?? []),
  });
  // It may be a message in the chat.
  const isOpened = state === "open" && hasModule(room.value, "chat.native");
  if (isOpened && !ports.rates.mayMessage(connection)) throw rateLimited();
  const { after, delivery } = await ports.store.polls.update(
    connection.world,
    room.value.id,
    idIn(payload.id),
    {
      content,
      state,
      poll_type,
      is_pinned,
      options: options && changedOptions(options),
    },
    me.id,
    connection.author,
  );
  if (delivery) ports.chatted(delivery.event.type);
  return { poll: sentPoll(after, true) };
}

async function remove(
  { ports, connection, room }: RoomContext<PollPorts>,
  payload: Commands["poll.delete"]["payload"],
) {
  const { id } = await ports.store.polls.delete(
    connection.world,
    room.value.id,
    idIn(payload.id),
    connection.author,
  );
  return { poll: id };
}

async function vote(
  context: RoomContext<PollPorts>,
  payload: Commands["poll.vote"]["payload"],
) {
  const { ports, connection, room, me } = context;
  // The answer shows the poll.
  if (!may(context, "poll.read") && !may(context, "poll.manage")) {
    throw unknownPoll();
  }
  const id = idIn(payload.id);
  if (!ports.rates.mayReact(connection)) throw rateLimited();
  const voted = await ports.pushes.vote(connection, room.value.id, id, () =>
    ports.store.polls.vote(
      connection.world,
      room.value.id,
      id,
      me.id,
      payload.options,
      connection.author,
    ),
  );
  const withResults = voted.options.length > 0 || seesAllResults(context);
  return { poll: sentPoll(voted.poll, withResults) };
}

async function list(context: RoomContext<PollPorts>) {
  const { ports, connection, room, me } = context;
  const where = [connection.world, room.value.id] as const;
  const manages = may(context, "poll.manage");
  const all = await ports.store.polls.list(...where, {
    limit: MAX_LISTED,
    size: MAX_LISTED_SIZE,
    isPublic: !manages,
  });
  const ballots = await ports.store.polls.ballots(...where, me.id);
  const answers = new Map(ballots.map(({ poll, options }) => [poll, options]));
  const seesAll = seesAllResults(context);
  return all.map((poll) => {
    const own = answers.get(poll.id);
    const withResults = seesAll || own !== undefined || isOver(poll);
    return {
      ...sentPoll(poll, withResults),
      ...(own && { answers: own }),
    };
  });
}

const may = (
  { login, world, room }: RoomContext<PollPorts>,
  key: PermissionKey,
) => mayInRoom(login, key, world.value, room.value);

/** Whether the caller sees the results of every poll. */
const seesAllResults = (context: RoomContext<PollPorts>): boolean =>
  may(context, "poll.manage") || may(context, "poll.results");

async function pin(
  context: RoomContext<PollPorts>,
  payload: Commands["poll.pin"]["payload"],
) {
  const id = idIn(payload.id);
  await pinned(context, id);
  return { id };
}

async function unpin(context: RoomContext<PollPorts>) {
  await pinned(context, null);
  return {};
}

const pinned = (
  { ports, connection, room }: RoomContext<PollPorts>,
  id: string | null,
) =>
  ports.store.polls.pin(connection.world, room.value.id, id, connection.author);
