import type { LiveLimits } from "../../config.js";
import type { UserRecord } from "../../db/contract/store.js";
import type { Clock } from "../../db/runtime.js";
import { type Identified, type Identify, IdentityError } from "../../plugins/auth/identity.js";
import type { Guests } from "../../plugins/limits/guests.js";
import type { World } from "../../schemas/worlds.js";
import { jsonOf } from "../rules/encoding.js";
import {
  banned,
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
import { reasonToEnd, roomOfScreen, throwOut } from "../socket/endings.js";
import { frameAround } from "../socket/frame.js";
import type { Login } from "../socket/login-state.js";
import type { Arrivals } from "./arrivals.js";
import { MESSAGE_BURST, type Rates } from "./rates.js";
import { invited, requireInvite, type Scoped, type ScopePorts, screenOf } from "./scoped.js";

/** What a login needs. */
export interface LoginPorts {
  readonly clock: Clock;
  readonly limits: LiveLimits;
  readonly store: ScopePorts["store"];
  readonly identify: Identify;
  readonly guests: Guests;
  readonly rates: Rates;
  readonly arrivals: Arrivals;
  readonly states: WorldStates;
  readonly crowdsIn: (world: string, counting: Counting) => SentCrowds;
  /**
   * Reads what modules add to the answer.
   * @returns a function that gives the fields by what the user sees of the world.
   */
  readonly entrance: (
    connection: Connection,
    user: UserRecord,
  ) => Promise<(view: View) => Promise<object>>;
  /** Makes the user a member of what asks for that. It never rejects. */
  readonly forceJoins: (connection: Connection) => Promise<void>;
}

/** What a client sends to log in. */
interface Credentials {
  token?: unknown;
  client_id?: unknown;
  invite_token?: unknown;
  changes?: unknown;
}

/**
 * Logs a connection in.
 * @returns the frame of the answer, in pieces.
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
  const { identity, world, scope } = await identify(ports, connection, payload);
  const isGuest = identity.clientId !== undefined;
  const who = { traits: identity.traits, state: "" as const, scope };
  if (!mayInWorld(who, "world.view", world.value)) {
    throw isGuest ? new LiveError("auth.missing_token") : loginDenied();
  }
  if (!ports.rates.mayLogIn(connection.world, identity)) throw rateLimited();
  const { tokenId, clientId, traits, profile, pretalxId } = identity;
  const { world: id, address } = connection;
  if (
    clientId !== undefined &&
    scope?.kind !== "kiosk" &&
    !(await ports.guests.admits(id, clientId, address))
  ) {
    throw new LiveError("auth.too_many_guests");
  }
  const entered = await ports.store.users.enter(connection.world, {
    tokenId,
    clientId,
    traits,
    profile,
    pretalxId,
    login: true,
  });
  if (entered.moderation_state === "banned") throw banned(changes);
  // The user of a screen was erased in between, and the entry made another one.
  if (scope?.kind === "kiosk" && !entered.profile) {
    throw new LiveError("auth.invalid_token");
  }
  const login: Login = {
    identity,
    ...(scope && { scope }),
    changes,
    traits: identity.traits,
    user: entered.id,
    state: entered.moderation_state,
  };
  // First the pushes begin, which wait for the answer. Then everything is read, so
  // that no change in between is missed.
  try {
    await ports.arrivals.enterWorld(connection, login);
    const user = await ports.store.users.get(connection.world, entered.id);
    if (!user || user.deleted) throw loginDenied();
    await requireInvite(ports, connection.world, scope);
    if (scope?.kind === "kiosk" && roomOfScreen(user) !== scope.room) {
      throw new LiveError("server.unavailable", "Log in again.");
    }
    if (user.moderation_state === "banned") throw banned(changes);
    // What an entry has brought meanwhile is newer.
    if (login.state === entered.moderation_state) {
      login.state = user.moderation_state;
    }
    const answer = await answerOf(ports, connection, login, user);
    connection.loop.afterAnswer(async () => {
      ports.arrivals.opened(connection);
      await ports.forceJoins(connection);
    });
    return answer;
  } catch (error) {
    ports.arrivals.forgetLogin(connection);
    throw error;
  }
}

/**
 * Finds out who wants to log in.
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

/** The codes of errors by what is wrong with a token. */
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

/** Everything that a client needs at once. */
async function answerOf(
  ports: LoginPorts,
  connection: Connection,
  login: Login,
  user: UserRecord,
): Promise<readonly Buffer[]> {
  const { world: id } = connection;
  const fieldsFor = await ports.entrance(connection, user);
  const state = await ports.states.get(id);
  // While the login waited, a key may have been removed, or the world been closed. From
  // here on, every change finds the connection.
  const now = ports.clock.date();
  const ended = reasonToEnd(login.identity, state?.world, now, login.scope);
  if (!state || ended) {
    throw throwOut(connection, ended ?? "world.unknown_world");
  }
  const world: World = state.world.value;
  const { changes } = connection.login!;
  const own = ownUser(user, world, now, changes);
  const before = jsonOf({ "user.config": own });
  const view = connection.viewOf(state);
  // From here on, pushes hold the differences from this view.
  if (changes) connection.login!.sentState = view.sentState;
  connection.login!.losses = undefined;
  connection.login!.listed = view;
  const fields = await fieldsFor(view);
  if (ports.states.present(id) !== state) {
    // A right that was lost since the state was read: the connection notes it, and gives up
    // an answer that took long.
    const now = await ports.states.get(id);
    if (now) connection.viewOf(now);
  }
  const config = view.json(ports.crowdsIn(id, changes ? "counts" : "words"));
  const after = jsonOf({ ...fields, ...(changes && { limits: limitsOf(ports) }) });
  // What is the same for many is made once: with a thousand rooms it is 300 KB.
  return frameAround(
    `["authenticated",${before.slice(0, -1)},"world.config":`,
    config,
    `,${after.slice(1)}]`,
  );
}
