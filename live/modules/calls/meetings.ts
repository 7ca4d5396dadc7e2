import type { ChatStore } from "../../../db/contract/chat-store.js";
import type { UserRecord } from "../../../db/contract/store.js";
import type { Clock } from "../../../db/runtime.js";
import type { CommandName, Commands } from "../../../schemas/live/index.js";
import {
  type BigBlueButton,
  type CallEngines,
  type CommandContext,
  type CommandTable,
  EngineUnavailable,
  type MeetingUser,
  type RoomContext,
} from "../../module.js";
import type { UserRateLimits } from "../../people/user-rate-limits.js";
import { LiveError, rateLimited } from "../../rules/problems.js";
import { configOf, mayInRoom } from "../../rules/rights.js";
import { engineRoom } from "./keeper.js";

// BigBlueButton and Jitsi meetings, which pages open through a signed link.

const BBB = "call.bigbluebutton";
const JITSI = "call.jitsi";

/** Lifetime of a link to a Jitsi meeting, in seconds. It never outlives the login. */
const LINK_SECONDS = 600;

/** Ports of the meeting commands. */
export interface MeetingPorts {
  readonly clock: Clock;
  readonly rates: UserRateLimits;
  readonly store: { readonly chat: ChatStore };
  readonly callEngines: CallEngines;
}

/** Commands for BigBlueButton and Jitsi meetings. */
export const meetings: CommandTable<
  Extract<CommandName, `bbb.${string}` | `jitsi.${string}`>,
  MeetingPorts
> = {
  "bbb.room_url": { inRoom: "call.join", module: BBB, handler: roomUrl },
  "bbb.call_url": { requires: "login", handler: callUrl },
  "bbb.recordings": { inRoom: "call.recordings", module: BBB, handler: recordings },
  "jitsi.room_url": { inRoom: "call.join", module: JITSI, handler: jitsiUrl },
};

function requireBbb({ callEngines }: MeetingPorts): BigBlueButton {
  const { bigbluebutton } = callEngines;
  if (bigbluebutton) return bigbluebutton;
  throw new LiveError("call.unavailable", "This server has no BigBlueButton.");
}

/**
 * Waits for the result of a request to BigBlueButton.
 * @throws {LiveError} `bbb.failed` if BigBlueButton is unavailable.
 */
async function asked<T>(request: Promise<T>): Promise<T> {
  try {
    return await request;
  } catch (error) {
    if (!(error instanceof EngineUnavailable)) throw error;
    throw new LiveError("bbb.failed", error.message);
  }
}

/** @throws {LiveError} if the caller has no display name, or has joined calls too often. */
function visitorOf(
  { ports, connection, me }: CommandContext<MeetingPorts>,
  moderate: boolean,
  missing: "bbb.join.missing_profile" | "call.missing_profile",
): MeetingUser {
  const name = me.profile?.display_name;
  if (typeof name !== "string" || name === "") throw new LiveError(missing);
  if (!ports.rates.mayJoinCall(connection)) throw rateLimited();
  const avatarUrl = avatarOf(me);
  return { id: me.id, name, moderate, ...(avatarUrl !== undefined && { avatarUrl }) };
}

function avatarOf({ profile }: UserRecord): string | undefined {
  const { url } = (profile?.avatar ?? {}) as { url?: unknown };
  return typeof url === "string" && /^https?:\/\//.test(url) ? url : undefined;
}

const moderates = ({ login, world, room }: RoomContext<MeetingPorts>): boolean =>
  mayInRoom(login, "call.moderate", world.value, room.value);

const pageOf = ({ connection: { base, world } }: CommandContext<MeetingPorts>, place: string) =>
  `${base}/w/${encodeURIComponent(world)}/#/${place}`;

async function roomUrl(context: RoomContext<MeetingPorts>) {
  const { ports, connection, room } = context;
  const engine = requireBbb(ports);
  const user = visitorOf(context, moderates(context), "bbb.join.missing_profile");
  const { id, name } = room.value;
  const meeting = {
    id: engineRoom(connection.world, id),
    title: name,
    options: configOf(room.value, BBB),
    logoutUrl: pageOf(context, `rooms/${id}`),
  };
  return { url: await asked(engine.joinUrl(meeting, user)) };
}

/** In a direct call's message, the id of the call is the id of the direct channel. */
async function callUrl(
  context: CommandContext<MeetingPorts>,
  { call }: Commands["bbb.call_url"]["payload"],
) {
  const { ports, connection, me } = context;
  const { world } = connection;
  const channel =
    typeof call === "string" ? await ports.store.chat.channel(world, call) : undefined;
  const isMember = channel?.direct?.includes(me.id) === true && context.may("call.join");
  if (!isMember) throw new LiveError("call.unknown");
  const engine = requireBbb(ports);
  const user = visitorOf(context, true, "bbb.join.missing_profile");
  const meeting = {
    id: engineRoom(world, channel.id),
    title: context.world.value.title,
    options: {},
    logoutUrl: pageOf(context, `messages/${channel.id}`),
  };
  return { url: await asked(engine.joinUrl(meeting, user)) };
}

async function recordings({
  ports,
  connection,
  room,
}: RoomContext<MeetingPorts>): Promise<Commands["bbb.recordings"]["result"]> {
  const engine = requireBbb(ports);
  const found = await asked(engine.recordings(engineRoom(connection.world, room.value.id)));
  // Venueless's clients expect the number as a string, as in BigBlueButton's XML.
  return { results: found.map((it) => ({ ...it, participants: String(it.participants) })) };
}

async function jitsiUrl(context: RoomContext<MeetingPorts>) {
  const { ports, connection, room, login } = context;
  const { jitsi } = ports.callEngines;
  if (!jitsi) throw new LiveError("call.unavailable", "This server has no Jitsi.");
  const user = visitorOf(context, moderates(context), "call.missing_profile");
  const { id, name } = room.value;
  const { expires = Infinity } = login.identity;
  const ends = Math.min(Math.floor(ports.clock.date() / 1000) + LINK_SECONDS, expires);
  return { url: await jitsi.joinUrl(engineRoom(connection.world, id), name, user, ends) };
}
