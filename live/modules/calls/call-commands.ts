import { SERVER } from "../../../db/contract/author.js";
import type { CallStore } from "../../../db/contract/call-store.js";
import { StoreError, type UserRecord } from "../../../db/contract/store.js";
import type { Clock, Random } from "../../../db/runtime.js";
import type { CommandName, Commands } from "../../../schemas/live/index.js";
import { truncate } from "../../../schemas/plain/texts.js";
import type {
  CallContext,
  CallEngine,
  CallEngines,
  CallParticipant,
  CommandSender,
  CommandTable,
  RoomContext,
} from "../../module.js";
import type { UserRateLimits } from "../../people/user-rate-limits.js";
import { jsonOf } from "../../rules/encoding.js";
import { LiveError, rateLimited, roomDenied, unknownUser } from "../../rules/problems.js";
import { configOf, mayInRoom } from "../../rules/rights.js";
import { publicUser } from "../../rules/shapes.js";
import {
  accessOf,
  CALL,
  isStage,
  placeOf,
  type PlacePorts,
  presentAccess,
  sourcesFor,
} from "./call-rights.js";
import { handsFor, sentCall } from "./call-shapes.js";
import type { DirectCalls } from "./direct-calls.js";
import { type CallKeeper, engineRoom } from "./keeper.js";

/** Lifetime of a ticket, in seconds. It never outlives the login. */
const TICKET_SECONDS = 600;

/** Maximum length of a user's name at the engine, in characters. */
const MAX_NAME = 100;

/** Maximum size of the public user in a ticket, in characters: browsers send tickets in URLs. */
const MAX_METADATA = 2000;

/** Ports of the call commands. */
export interface CallPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly rates: UserRateLimits;
  readonly store: PlacePorts["store"] & { readonly calls: CallStore };
  readonly callEngines: CallEngines;
  /** Undefined on a server without an engine. */
  readonly keeper: CallKeeper | undefined;
  readonly direct: DirectCalls;
}

/** Commands for calls that are also available over HTTP. */
export const sharedCalls: CommandTable<"call.join" | "call.end", CallPorts, CommandSender> = {
  "call.join": { inCall: "call.join", handler: join },
  "call.end": { inRoom: "call.moderate", module: CALL, handler: end },
};

/** Commands for calls in rooms and in direct channels. */
export const calls: CommandTable<
  Extract<CommandName, `call.${string}` | `hand.${string}`>,
  CallPorts
> = {
  ...sharedCalls,
  "call.state": { inRoom: "room.view", module: CALL, handler: state },
  "call.stage": { inRoom: "call.moderate", module: CALL, handler: stage },
  "call.mute": { inRoom: "call.moderate", module: CALL, handler: mute },
  "call.remove": { inRoom: "call.moderate", module: CALL, handler: remove },
  "call.decline": { inChannel: "any", direct: "members", handler: decline },
  "hand.raise": { inRoom: "call.join", module: CALL, handler: raise },
  "hand.lower": { inRoom: "call.join", module: CALL, handler: lower },
};

/** @throws {LiveError} `call.unavailable` on a server without an engine. */
function requireEngine({ callEngines, keeper }: CallPorts): {
  engine: CallEngine;
  keeper: CallKeeper;
} {
  const { livekit: engine } = callEngines;
  if (engine && keeper) return { engine, keeper };
  throw new LiveError("call.unavailable", "This server has no LiveKit.");
}

const nameOf = ({ profile }: UserRecord): string => {
  const name = profile?.display_name;
  return typeof name === "string" ? name : "";
};

/**
 * Returns the public user as JSON. If the JSON is too large, the badges are left out, and the
 * profile is reduced to the name and, if it is small, the avatar.
 */
function metadataOf(
  user: UserRecord,
  { world }: CallContext<CallPorts, CommandSender>,
  now: number,
) {
  const whole = publicUser(user, world.value, now);
  const text = jsonOf(whole);
  if (text.length <= MAX_METADATA) return text;
  const { avatar } = user.profile ?? {};
  const isShort = avatar !== undefined && JSON.stringify(avatar).length <= MAX_METADATA / 2;
  const display_name = truncate(nameOf(user), MAX_NAME);
  return jsonOf({ ...whole, badges: [], profile: { display_name, ...(isShort && { avatar }) } });
}

async function join(
  context: CallContext<CallPorts, CommandSender>,
): Promise<Commands["call.join"]["result"]> {
  const { ports, connection, login, me, channel, room } = context;
  const { world } = connection;
  const { clock, random, store, rates } = ports;
  const { engine, keeper } = requireEngine(ports);
  const isScreen = login.scope !== undefined;
  if (!isScreen && nameOf(me) === "") throw new LiveError("call.missing_profile");
  if (!rates.mayJoinCall(connection)) throw rateLimited();
  // From here on, the keeper notices every change to rights.
  await keeper.watch(world, channel);
  const place = await placeOf(ports, world, channel);
  const user = await store.users.get(world, me.id);
  const now = clock.date();
  const access = place && (await presentAccess(ports, place.world, user, accessOf(login)));
  const { isHeld, isOnStage } = await store.calls.standing(world, channel, me.id);
  if (!room && !isHeld) throw new LiveError("call.unknown");
  const stage = new Set(isOnStage ? [me.id] : []);
  const sources = access && sourcesFor({ ...place, stage }, user, access, now);
  if (!sources || !user) throw roomDenied();
  const identity = `${me.id}:${random.id()}`;
  const { expires: loginEnds = Infinity } = access;
  const expires = Math.min(Math.floor(now / 1000) + TICKET_SECONDS, Math.floor(loginEnds));
  const limit = room && limitOf(configOf(room.value, CALL));
  const device = { identity, user: me.id, hidden: isScreen, access, ends: 1000 * expires };
  try {
    await store.calls.issued(world, channel, device, { now, limit }, connection.author);
  } catch (error) {
    const isFull = error instanceof StoreError && error.problem === "quota";
    throw isFull ? new LiveError("call.full") : error;
  }
  keeper.issued(world, identity, sources, access.expires);
  const ticket = await engine.join({
    room: engineRoom(world, channel),
    identity,
    name: truncate(nameOf(user), MAX_NAME),
    metadata: metadataOf(user, context, now),
    sources,
    hidden: isScreen,
    limit,
    expires,
  });
  return {
    engine: "livekit",
    url: ticket.url,
    token: ticket.token,
    identity,
    mode: isStage(room?.value) ? "stage" : "call",
    speak: sources.length > 0,
    moderate: room !== undefined && moderates(context, room),
    expires: ticket.expires,
  };
}

const limitOf = ({ limit }: Record<string, unknown>): number | undefined =>
  typeof limit === "number" ? limit : undefined;

const moderates = (
  { login, world }: CallContext<CallPorts, CommandSender>,
  room: NonNullable<CallContext["room"]>,
): boolean => mayInRoom(login, "call.moderate", world.value, room.value);

async function state(context: RoomContext<CallPorts>) {
  const { ports, connection, login, world, room, me } = context;
  const { store, clock } = ports;
  const found = await store.calls.get(connection.world, room.value.id);
  const isModerator = mayInRoom(login, "call.moderate", world.value, room.value);
  return {
    ...(await sentCall(store.users, world.value, found, clock.date())),
    ...(isModerator && { on_stage: [...found.stage] }),
    ...handsFor(found.hands, me.id, isModerator),
  };
}

/** @throws {LiveError} `user.not_found`. */
async function userIn(
  { ports, connection }: RoomContext<CallPorts>,
  id: unknown,
): Promise<UserRecord> {
  const user =
    typeof id === "string" ? await ports.store.users.get(connection.world, id) : undefined;
  if (!user || user.deleted) throw unknownUser();
  return user;
}

async function stage(
  context: RoomContext<CallPorts>,
  { user: id, on }: Commands["call.stage"]["payload"],
) {
  const { ports, connection, world, room } = context;
  const { calls } = ports.store;
  const user = await userIn(context, id);
  const place = [connection.world, room.value.id] as const;
  if (on) {
    const who = { traits: new Set(user.traits), state: user.moderation_state };
    if (!mayInRoom(who, "call.speak", world.value, room.value)) throw roomDenied();
  }
  const now = ports.clock.date();
  const isChanged = await calls.stage(...place, user.id, on, now, connection.author);
  if (!on && !isChanged) throw new LiveError("call.not_on_stage");
  return {};
}

/** Returns a user's devices in the room's call, according to the engine. */
async function devicesOf(
  { connection, room, ports }: RoomContext<CallPorts>,
  user: UserRecord,
): Promise<{ engine: CallEngine; name: string; devices: CallParticipant[] }> {
  const { engine } = requireEngine(ports);
  const name = engineRoom(connection.world, room.value.id);
  const all = await engine.participants(name);
  const devices = all.filter(({ identity }) => identity.startsWith(`${user.id}:`));
  return { engine, name, devices };
}

async function mute(
  context: RoomContext<CallPorts>,
  { user: id, source }: Commands["call.mute"]["payload"],
) {
  const { ports, connection, room } = context;
  const user = await userIn(context, id);
  const { engine, name, devices } = await devicesOf(context, user);
  await Promise.all(
    devices.map(async ({ identity, session }) => {
      await engine.update(name, identity, { mute: source });
      // The engine sends no event about a muted source.
      const now = ports.clock.date();
      const change = { source, on: false, at: now, now };
      const place = [connection.world, room.value.id] as const;
      await ports.store.calls.published(...place, { identity, session }, change, SERVER);
    }),
  );
  return {};
}

async function remove(
  context: RoomContext<CallPorts>,
  { user: id }: Commands["call.remove"]["payload"],
) {
  const user = await userIn(context, id);
  const { engine, name, devices } = await devicesOf(context, user);
  await Promise.all(devices.map(({ identity }) => engine.remove(name, identity)));
  return {};
}

async function end({ ports, connection, room }: RoomContext<CallPorts, CommandSender>) {
  const { engine, keeper } = requireEngine(ports);
  const { world, author } = connection;
  const { id } = room.value;
  // The engine comes first, so that the command fails if the engine does not respond.
  await engine.end(engineRoom(world, id));
  await keeper.end(world, id, { by: author });
  return {};
}

async function decline(context: Parameters<DirectCalls["decline"]>[0] & { ports: CallPorts }) {
  await context.ports.direct.decline(context);
  return {};
}

async function raise({ ports, connection, room, me }: RoomContext<CallPorts>) {
  if (!ports.rates.mayReact(connection)) throw rateLimited();
  const { store, clock } = ports;
  await store.calls.raise(connection.world, room.value.id, me.id, clock.date(), connection.author);
  return {};
}

async function lower(
  context: RoomContext<CallPorts>,
  { user: id }: Commands["hand.lower"]["payload"],
) {
  const { ports, connection, room, me, login, world } = context;
  if (!ports.rates.mayReact(connection)) throw rateLimited();
  const isOwn = id === undefined || id === null || id === me.id;
  if (!isOwn && !mayInRoom(login, "call.moderate", world.value, room.value)) throw roomDenied();
  const user = isOwn ? me.id : typeof id === "string" ? id : "";
  await ports.store.calls.lower(connection.world, room.value.id, user, connection.author);
  return {};
}
