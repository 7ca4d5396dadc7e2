import type { Commands } from "../../../schemas/live/index.js";
import type { PermissionKey } from "../../../schemas/plain/permissions.js";
import type { Module, RoomContext } from "../../dispatch.js";
import { rateLimited, unknownPoll } from "../../rules/problems.js";
import { mayInRoom } from "../../rules/rights.js";
import { hasModule, idIn } from "../../rules/targets.js";
import { requireShort } from "../../rules/texts.js";
import { changedOptions, newOptions, optionTexts } from "./options.js";
import { MAX_LISTED, MAX_LISTED_SIZE } from "./pushes.js";
import { isOver, sentPoll } from "./shapes.js";

const module = "poll";

/** Polls among the people in a room. */
export const polls: Module<Extract<keyof Commands, `poll.${string}`>> = {
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
  { live, connection, room }: RoomContext,
  payload: Commands["poll.create"]["payload"],
) {
  const { content, options = [], state, poll_type } = payload;
  requireShort(live, { content, ...optionTexts(options) });
  const poll = await live.store.polls.create(
    connection.world,
    room.value.id,
    { content, options: newOptions(options), state, poll_type },
    connection.author,
  );
  return { poll: sentPoll(poll, true) };
}

async function update(
  { live, connection, room, me }: RoomContext,
  payload: Commands["poll.update"]["payload"],
) {
  const { content, state, options, is_pinned, poll_type } = payload;
  requireShort(live, { content, ...optionTexts(options ?? []) });
  // It may be a message in the chat.
  const isOpened = state === "open" && hasModule(room.value, "chat.native");
  if (isOpened && !live.rates.mayMessage(connection)) throw rateLimited();
  const { after, delivery } = await live.store.polls.update(
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
  if (delivery) live.metrics?.chatted(delivery.event.type);
  return { poll: sentPoll(after, true) };
}

async function remove(
  { live, connection, room }: RoomContext,
  payload: Commands["poll.delete"]["payload"],
) {
  const { id } = await live.store.polls.delete(
    connection.world,
    room.value.id,
    idIn(payload.id),
    connection.author,
  );
  return { poll: id };
}

async function vote(
  context: RoomContext,
  payload: Commands["poll.vote"]["payload"],
) {
  const { live, connection, room, me } = context;
  // The answer shows the poll.
  if (!may(context, "poll.read") && !may(context, "poll.manage")) {
    throw unknownPoll();
  }
  const id = idIn(payload.id);
  if (!live.rates.mayReact(connection)) throw rateLimited();
  const voted = await live.polls.vote(connection, room.value.id, id, () =>
    live.store.polls.vote(
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

async function list(context: RoomContext) {
  const { live, connection, room, me } = context;
  const where = [connection.world, room.value.id] as const;
  const manages = may(context, "poll.manage");
  const all = await live.store.polls.list(...where, {
    limit: MAX_LISTED,
    size: MAX_LISTED_SIZE,
    isPublic: !manages,
  });
  const ballots = await live.store.polls.ballots(...where, me.id);
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

const may = ({ login, world, room }: RoomContext, key: PermissionKey) =>
  mayInRoom(login, key, world.value, room.value);

/** Whether the caller sees the results of every poll. */
const seesAllResults = (context: RoomContext): boolean =>
  may(context, "poll.manage") || may(context, "poll.results");

async function pin(
  context: RoomContext,
  payload: Commands["poll.pin"]["payload"],
) {
  const id = idIn(payload.id);
  await pinned(context, id);
  return { id };
}

async function unpin(context: RoomContext) {
  await pinned(context, null);
  return {};
}

const pinned = ({ live, connection, room }: RoomContext, id: string | null) =>
  live.store.polls.pin(connection.world, room.value.id, id, connection.author);
