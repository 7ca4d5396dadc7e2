import { createHash } from "node:crypto";
import type { DeviceAccess } from "../../../db/contract/call-store.js";
import type { ChatStore } from "../../../db/contract/chat-store.js";
import type { InvitationStore } from "../../../db/contract/invitation-store.js";
import type { ProgramStore } from "../../../db/contract/program-store.js";
import {
  isGone,
  type RoomStore,
  type RoomValue,
  type UserRecord,
  type UserStore,
  type WorldStore,
} from "../../../db/contract/store.js";
import { grantOf } from "../../../db/rules/invitation-rows.js";
import { closedTo, speakersAtDoor } from "../../../db/rules/doors.js";
import { issuersOf } from "../../../db/rules/world-rows.js";
import type { Clock } from "../../../db/runtime.js";
import type { World } from "../../../schemas/worlds.js";
import type { CallSource } from "../../module.js";
import { type Bearer, configOf, hasModule, mayInRoom, mayInWorld } from "../../rules/rights.js";
import { roomOfScreen } from "../../socket/endings.js";
import type { Login } from "../../socket/login-state.js";

// Decides what a person may do in a call, both on entry and for as long as the person stays.

/** The current state of the room or direct channel in which a call is held. */
export interface CallPlace {
  readonly world: World;
  /** The call's room; undefined for a direct call. */
  readonly room: RoomValue | undefined;
  /** The members of the direct channel; undefined for a room. */
  readonly direct: readonly string[] | undefined;
  /** The users who are speakers in the program, if the world's phase makes that relevant. */
  readonly speakers: ReadonlySet<string>;
  /** The users who were invited to the stage. */
  readonly stage: ReadonlySet<string>;
}

/** The type of the module for calls that are held on the engine. */
export const CALL = "call.native";

export const isStage = (room: RoomValue | undefined): boolean =>
  room !== undefined && configOf(room, CALL).mode === "stage";

type Key = Login["identity"]["key"];

/** Number of digest characters. This many characters distinguish all keys of a world. */
const DIGEST_CHARACTERS = 22;

function digestOf(key: NonNullable<Key>): string {
  const named =
    "secret" in key ? [key.issuer, key.audience, key.secret] : ["", JSON.stringify(key)];
  const hash = createHash("sha256").update(JSON.stringify(named)).digest("base64url");
  return hash.slice(0, DIGEST_CHARACTERS);
}

/** The digests of a world's keys, for each version of the world. */
const digests = new WeakMap<World, ReadonlySet<string>>();

function digestsIn(world: World): ReadonlySet<string> {
  let known = digests.get(world);
  if (!known) {
    const { config } = world;
    known = new Set([...config.JWT_secrets, ...issuersOf(config)].map(digestOf));
    digests.set(world, known);
  }
  return known;
}

/** Returns the part of a login that is needed to check a device's rights later. */
export function accessOf({ identity, scope, traits }: Login): DeviceAccess {
  const { expires, key, invitation } = identity;
  return {
    traits: [...traits],
    ...(scope?.kind === "kiosk" && { scope }),
    ...(expires !== undefined && { expires }),
    ...(key && { key: digestOf(key) }),
    ...(invitation && { invitation }),
  };
}

/**
 * Returns what a device's login currently grants, or undefined if its invitation is no longer
 * valid.
 * @param user the device's user.
 */
export async function presentAccess(
  { store }: PlacePorts,
  world: World,
  user: UserRecord | undefined,
  access: DeviceAccess,
): Promise<DeviceAccess | undefined> {
  const { invitation, expires = Infinity } = access;
  if (!invitation) return access;
  const standing = await store.invitations.standing(world.id, invitation.id);
  const grant = grantOf(standing, invitation, user?.token_id ?? undefined, world.config);
  if (!grant) return undefined;
  const ends = grant.ends === null ? expires : Math.min(expires, grant.ends / 1000);
  return { ...access, traits: grant.traits, expires: ends };
}

/**
 * Returns the sources that a person may currently publish in a call.
 * @param now in milliseconds since 1970.
 * @returns undefined if the person may not be in the call at all.
 */
export function sourcesFor(
  place: CallPlace,
  user: UserRecord | undefined,
  access: DeviceAccess,
  now: number,
): CallSource[] | undefined {
  const { world, room, direct } = place;
  const { scope, expires, key } = access;
  if (!user || isGone(user)) return undefined;
  if (expires !== undefined && now / 1000 >= expires) return undefined;
  if (key !== undefined && !digestsIn(world).has(key)) return undefined;
  const entrant = {
    traits: new Set(access.traits),
    isInvited: user.token_id !== null && !scope,
    user: scope ? undefined : user.id,
  };
  if (closedTo(world, entrant, place.speakers, now)) return undefined;
  if (scope?.kind === "kiosk" && scope.room !== roomOfScreen(user)) return undefined;
  const who: Bearer = { traits: new Set(access.traits), state: user.moderation_state, scope };
  if (room) {
    if (!hasModule(room, CALL) || !mayInRoom(who, "call.join", world, room)) return undefined;
    return speaksIn(who, user.id, place, room) ? sourcesIn(room) : [];
  }
  if (!direct?.includes(user.id) || !mayInWorld(who, "call.join", world)) return undefined;
  return mayInWorld(who, "call.speak", world) ? ["microphone", "camera", "screen"] : [];
}

function speaksIn(who: Bearer, user: string, { world, stage }: CallPlace, room: RoomValue) {
  const may = (key: "call.speak" | "call.moderate") => mayInRoom(who, key, world, room);
  if (!isStage(room)) return may("call.speak");
  return may("call.moderate") || (stage.has(user) && may("call.speak"));
}

/** Returns the sources that a room allows for people who may speak. */
function sourcesIn(room: RoomValue): CallSource[] {
  const { video, screen } = configOf(room, CALL);
  return [
    "microphone",
    ...(video === false ? [] : (["camera"] as const)),
    ...(screen === false ? [] : (["screen"] as const)),
  ];
}

/** Ports for reading the room or direct channel of a call. */
export interface PlacePorts {
  readonly clock: Clock;
  readonly store: {
    readonly worlds: WorldStore;
    readonly rooms: RoomStore;
    readonly users: UserStore;
    readonly chat: Pick<ChatStore, "channel">;
    readonly invitations: Pick<InvitationStore, "standing">;
    readonly program: Pick<ProgramStore, "get">;
  };
}

/**
 * Reads the state of the room or direct channel in which a call is held. Returns undefined if that
 * room or channel, or the world, does not exist.
 */
export async function placeOf(
  { clock, store }: PlacePorts,
  worldId: string,
  channel: string,
): Promise<Omit<CallPlace, "stage"> | undefined> {
  const world = (await store.worlds.get(worldId))?.value;
  if (!world) return undefined;
  const speakers = await speakersAtDoor(store.program, world, clock.date());
  const room = (await store.rooms.get(worldId, channel))?.value;
  if (room) return { world, speakers, room, direct: undefined };
  const direct = (await store.chat.channel(worldId, channel))?.direct;
  return direct && { world, speakers, room: undefined, direct };
}
