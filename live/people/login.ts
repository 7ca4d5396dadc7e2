import { Type } from "@sinclair/typebox";
import type { FastifyBaseLogger } from "fastify";
import type { LiveLimits } from "../../config.js";
import { SERVER } from "../../db/contract/author.js";
import type { InvitationStore } from "../../db/contract/invitation-store.js";
import type { ProgramStore } from "../../db/contract/program-store.js";
import {
  isKeptOut,
  StoreError,
  type UserRecord,
  type WorldStore,
} from "../../db/contract/store.js";
import { closedTo, speakersAtDoor } from "../../db/rules/doors.js";
import type { Clock } from "../../db/runtime.js";
import { type Identified, type Identify, IdentityError } from "../../plugins/auth/identity.js";
import { bannableNetwork, type Guests } from "../../plugins/limits/guests.js";
import { Profile } from "../../schemas/live/users.js";
import type { ClosedPhase } from "../../schemas/plain/access.js";
import { asksForApproval, guestEntry, quietUntil } from "../../schemas/plain/guests.js";
import { MAX_PROFILE } from "../../schemas/plain/limits.js";
import { allowedProfile, hasBlockedName } from "../../schemas/plain/moderation/blocked-words.js";
import { POLL_KINDS } from "../../schemas/plain/polls.js";
import { boundFault, compileValidator } from "../../schemas/validate.js";
import type { World } from "../../schemas/worlds.js";
import { jsonOf } from "../rules/encoding.js";
import {
  banned,
  closedBy,
  invalidPayload,
  LiveError,
  loginDenied,
  rateLimited,
  unknownWorld,
} from "../rules/problems.js";
import { mayInWorld } from "../rules/rights.js";
import { type Counting, ownUser, type SentCrowds } from "../rules/shapes.js";
import type { View, WorldStates } from "../rules/world-state.js";
import type { Connection } from "../socket/connection.js";
import {
  applyInvitation,
  entrantOf,
  reasonToEnd,
  roomOfScreen,
  endWithError,
} from "../socket/endings.js";
import { frameAround } from "../socket/frame.js";
import type { Login } from "../socket/login-state.js";
import type { Arrivals } from "./arrivals.js";
import { MESSAGE_BURST, type UserRateLimits } from "./user-rate-limits.js";
import { requireAllowedName, requireFreeName } from "./names.js";
import { invited, requireInvite, type Scoped, type ScopePorts, screenOf } from "./scoped.js";

/** Ports of the login. */
export interface LoginPorts {
  readonly clock: Clock;
  readonly limits: LiveLimits;
  readonly store: ScopePorts["store"] & {
    readonly worlds: WorldStore;
    readonly invitations: InvitationStore;
    readonly program: Pick<ProgramStore, "get">;
  };
  readonly log: FastifyBaseLogger;
  readonly identify: Identify;
  readonly guests: Guests;
  readonly rates: UserRateLimits;
  readonly arrivals: Arrivals;
  readonly states: WorldStates;
  readonly crowdsIn: (world: string, counting: Counting) => SentCrowds;
  /**
   * Reads the fields that the modules add to the response.
   * @returns a function that computes the fields from the user's view of the world.
   */
  readonly entrance: (
    connection: Connection,
    user: UserRecord,
  ) => Promise<(view: View) => Promise<object>>;
  /** Makes a connection's user a member of the rooms with forced joins. Never rejects. */
  readonly forceJoins: (connection: Connection) => Promise<void>;
}

/** The payload of a login. */
interface Credentials {
  token?: unknown;
  client_id?: unknown;
  invite_token?: unknown;
  profile?: unknown;
  changes?: unknown;
  poll_kinds?: unknown;
}

/**
 * Logs a connection in.
 * @returns the frame of the response, in pieces.
 * @throws {LiveError}
 */
export async function logIn(
  ports: LoginPorts,
  connection: Connection,
  payload: unknown,
): Promise<readonly Buffer[]> {
  if (typeof payload !== "object" || payload === null || Array.isArray(payload)) {
    throw invalidPayload({ non_field_errors: ["Must be an object."] });
  }
  const { changes = false } = payload as Credentials;
  if (typeof changes !== "boolean") {
    throw invalidPayload({ changes: ["Must be true or false."] });
  }
  const pollKinds = pollKindsIn(payload);
  const { identity, world, scope } = await identify(ports, connection, payload);
  const isGuest = identity.clientId !== undefined;
  const who = { traits: identity.traits, state: "" as const, scope };
  if (!mayInWorld(who, "world.view", world.value)) {
    throw isGuest ? new LiveError("auth.missing_token") : loginDenied();
  }
  if (!ports.rates.mayLogIn(connection.world, identity)) throw rateLimited();
  const phase = await closedAtLogin(ports, world.value, { identity, scope });
  if (phase) throw closedBy(phase);
  const { tokenId, clientId, traits, pretalxId } = identity;
  const { world: id, address } = connection;
  const { config } = world.value;
  const profile =
    isGuest && !scope ? guestProfile(payload) : allowedProfile(config, identity.profile);
  if (
    clientId !== undefined &&
    scope?.kind !== "kiosk" &&
    !(await ports.guests.admits(id, clientId, address))
  ) {
    throw new LiveError("auth.too_many_guests");
  }
  if (isGuest && profile) {
    if (hasBlockedName(config, profile)) {
      const me = await ports.store.users.find(id, identity);
      requireAllowedName(world.value, { profile, me });
    }
    await requireFreeName(ports.store.users, world.value, { identity, profile });
  }
  const found = await ports.store.users.enter(connection.world, {
    tokenId,
    clientId,
    traits,
    profile,
    pretalxId,
    login: true,
    ...(scope?.kind !== "kiosk" && { network: bannableNetwork(address) }),
    // The link to a room for people without a name is itself an approval.
    ...(isGuest && !scope && { guest: guestEntry(world.value.config, ports.clock.date()) }),
  });
  const entered = await present(ports, world.value, found);
  if (entered.moderation_state === "waiting") throw new LiveError("auth.approval");
  if (entered.moderation_state === "banned") throw banned(changes);
  // The screen's user was erased during the login, so entering the world created a new user.
  if (scope?.kind === "kiosk" && !entered.profile) {
    throw new LiveError("auth.invalid_token");
  }
  const login: Login = {
    identity,
    ...(scope && { scope }),
    changes,
    ...(pollKinds && { pollKinds }),
    traits: identity.traits,
    user: entered.id,
    state: entered.moderation_state,
  };
  // Pushes start first, and wait for the response. Everything is read after that, so that no change
  // in between is missed.
  try {
    await ports.arrivals.enterWorld(connection, login);
    const user = await ports.store.users.get(connection.world, entered.id);
    if (!user || user.deleted) throw loginDenied();
    await requireInvite(ports, connection.world, scope);
    await requireInvitation(ports, connection, login);
    if (scope?.kind === "kiosk" && roomOfScreen(user) !== scope.room) {
      throw new LiveError("server.unavailable", "Log in again.");
    }
    if (isKeptOut(user.moderation_state)) throw banned(changes);
    // A state that an entry has set in the meantime is newer.
    if (login.state === entered.moderation_state) {
      login.state = user.moderation_state;
    }
    const answer = await answerOf(ports, connection, login, user);
    connection.loop.afterAnswer(async () => {
      ports.arrivals.opened(connection);
      await noteFirstUse(ports, connection, login);
      await ports.forceJoins(connection);
    });
    return answer;
  } catch (error) {
    ports.arrivals.forgetLogin(connection);
    throw error;
  }
}

/** Maximum number of kinds of polls in a login. */
const MAX_KINDS = 100;

/**
 * Returns the kinds of polls that the client can show; undefined if it names none. Unknown kinds are
 * those of later versions.
 */
function pollKindsIn({ poll_kinds: kinds }: Credentials): ReadonlySet<string> | undefined {
  if (kinds === undefined) return undefined;
  const isList = Array.isArray(kinds) && kinds.length <= MAX_KINDS;
  if (!isList || kinds.some((kind) => typeof kind !== "string")) {
    throw invalidPayload({ poll_kinds: [`Must be a list of at most ${MAX_KINDS} names.`] });
  }
  return new Set(POLL_KINDS.filter((kind) => kinds.includes(kind)));
}

/** Returns the phase of the event that keeps out the person who is logging in, or undefined. */
async function closedAtLogin(
  { clock, store }: LoginPorts,
  world: World,
  { identity, scope }: Scoped,
): Promise<ClosedPhase | undefined> {
  const now = clock.date();
  const closedWith = (user?: string, speakers?: ReadonlySet<string>) =>
    closedTo(world, entrantOf({ identity, scope, user }), speakers ?? new Set(), now);
  const phase = closedWith();
  if (phase === undefined || phase === "unpublished" || scope) return phase;
  const user = await store.users.find(world.id, identity);
  return closedWith(user?.id, await speakersAtDoor(store.program, world, now));
}

/**
 * Checks once more that the invitation stands: from here on, every change reaches the connection,
 * but one since the token was verified has not.
 * @throws {LiveError}
 */
async function requireInvitation(
  { clock, store }: LoginPorts,
  connection: Connection,
  login: Login,
): Promise<void> {
  const { invitation } = login.identity;
  if (!invitation) return;
  const standing = await store.invitations.standing(connection.world, invitation.id);
  const world = await store.worlds.get(connection.world);
  if (!world) throw endWithError(connection, "world.unknown_world");
  if (!applyInvitation(connection, login, standing, world.value, clock.date())) {
    throw new LiveError("auth.invalid_token");
  }
}

/** Records the first login with an invitation. If that fails, the next login records it. */
async function noteFirstUse(
  { clock, store, log }: LoginPorts,
  { world }: Connection,
  { identity: { invitation }, user }: Login,
): Promise<void> {
  if (!invitation) return;
  try {
    const standing = await store.invitations.standing(world, invitation.id);
    if (standing?.used_at !== null) return;
    const by = { kind: "user", user } as const;
    await store.invitations.touch(world, invitation.id, clock.date(), by);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    log.warn({ err: error, world }, "the first use of an invitation could not be recorded");
  }
}

const checkLogin = compileValidator(Type.Object({ profile: Profile }));

/**
 * Returns the profile in a guest's login; undefined if there is none.
 * @throws {LiveError} `protocol.invalid_payload`.
 */
function guestProfile({ profile }: Credentials): Record<string, unknown> | undefined {
  if (profile === undefined || profile === null) return undefined;
  const faults = checkLogin({ profile })?.faults;
  if (faults) throw invalidPayload(faults);
  const fault = boundFault(profile, MAX_PROFILE);
  if (fault) throw invalidPayload({ profile: [fault] });
  return profile as Record<string, unknown>;
}

/**
 * Returns a user who has just entered, after a silence whose time is over, and after an approval
 * that the world no longer asks for.
 */
async function present(
  { clock, store }: LoginPorts,
  { id, config }: World,
  user: UserRecord,
): Promise<UserRecord> {
  const now = clock.date();
  if (user.moderation_state === "waiting" && !asksForApproval(config)) {
    return store.users.answer(id, user.id, true, quietUntil(config, now), SERVER);
  }
  if (user.moderated_until === null || user.moderated_until > now) return user;
  await store.users.endModeration(id, now, SERVER);
  return (await store.users.get(id, user.id)) ?? user;
}

/**
 * Identifies the user who is logging in.
 * @throws {LiveError}
 */
async function identify(
  ports: LoginPorts,
  { world }: Connection,
  { token, client_id, invite_token }: Credentials,
): Promise<Identified & Scoped> {
  if (token !== undefined && token !== null) {
    if (typeof token !== "string") throw new LiveError("auth.invalid_token");
    const found = await identifyBy(ports, { token }, world);
    if (found.identity.kiosk !== undefined) {
      return { ...found, ...(await screenOf(ports, world, found.identity)) };
    }
    if (found.identity.tokenId === undefined) {
      throw new LiveError("auth.invalid_token", "The token has no uid.");
    }
    return found;
  }
  if (client_id === undefined || client_id === null || client_id === "") {
    throw new LiveError("auth.missing_id_or_token");
  }
  const clientId =
    typeof client_id === "number" && Number.isSafeInteger(client_id)
      ? String(client_id)
      : client_id;
  const isText = typeof clientId === "string";
  const found = await identifyBy(ports, { clientId: isText ? clientId : "" }, world);
  if ((invite_token ?? "") === "") return found;
  const scoped = await invited(ports, world, found.identity, invite_token);
  return { ...found, ...scoped };
}

/** Error codes, by the problem with a token. */
const TOKEN_CODES = {
  missing: "auth.missing_id_or_token",
  malformed: "auth.invalid_token",
  invalid: "auth.invalid_token",
  expired: "auth.expired_token",
  foreign: "auth.invalid_token",
} as const;

async function identifyBy(
  ports: LoginPorts,
  credentials: { token: string } | { clientId: string },
  world: string,
): Promise<Identified> {
  try {
    return await ports.identify({ ...credentials, screens: true }, world);
  } catch (error) {
    if (!(error instanceof IdentityError)) throw error;
    if ("clientId" in credentials) {
      if (error.reason === "foreign") throw unknownWorld();
      throw invalidPayload({
        client_id: ["Must be 1 to 200 characters of A-Z a-z 0-9 . _ ~ -, or a number."],
      });
    }
    throw new LiveError(TOKEN_CODES[error.reason], error.message);
  }
}

const limitsOf = ({ limits }: LoginPorts) => ({
  messages_per_second: limits.messagesPerSecond,
  messages_at_once: MESSAGE_BURST * limits.messagesPerSecond,
});

/** Builds the response to a login: everything that a client needs to start. */
async function answerOf(
  ports: LoginPorts,
  connection: Connection,
  login: Login,
  user: UserRecord,
): Promise<readonly Buffer[]> {
  const { world: id } = connection;
  const fieldsFor = await ports.entrance(connection, user);
  const state = await ports.states.get(id);
  // While the login was waiting, a key may have been removed, or the world may have been closed.
  // From here on, every change reaches the connection.
  const now = ports.clock.date();
  const speakers = await speakersAtDoor(ports.store.program, state?.world.value, now);
  const ended = reasonToEnd(login, state?.world, now, speakers);
  if (!state || ended) {
    throw endWithError(connection, ended ?? "world.unknown_world");
  }
  const world: World = state.world.value;
  const { changes } = connection.login!;
  const own = ownUser(user, world, now, changes);
  const before = jsonOf({ "user.config": own });
  const view = connection.viewOf(state);
  // From here on, pushes contain the differences from this view.
  if (changes) connection.login!.sentState = view.sentState;
  connection.login!.losses = undefined;
  connection.login!.listed = view;
  const fields = await fieldsFor(view);
  if (ports.states.present(id) !== state) {
    // A right may have been lost since the state was read. The connection records the loss, and
    // does not send a response that took too long.
    const now = await ports.states.get(id);
    if (now) connection.viewOf(now);
  }
  const config = view.json(ports.crowdsIn(id, changes ? "counts" : "words"));
  const after = jsonOf({ ...fields, ...(changes && { limits: limitsOf(ports) }) });
  // The shared part, which is 300 KB for a thousand rooms, is encoded only once.
  return frameAround(
    `["authenticated",${before.slice(0, -1)},"world.config":`,
    config,
    `,${after.slice(1)}]`,
  );
}
