import type { UserRecord, UserStore } from "../../../db/contract/store.js";
import type { Clock } from "../../../db/runtime.js";
import type { Commands } from "../../../schemas/live/index.js";
import { isOutOfReach } from "../../../schemas/plain/permissions.js";
import { uuid } from "../../../schemas/plain/texts.js";
import type { Context, Sender } from "../../module.js";
import type { Presence } from "../../people/presence.js";
import type { Rates } from "../../people/rates.js";
import { LiveError, unknownUser, worldDenied } from "../../rules/problems.js";
import { publicUser } from "../../rules/shapes.js";
import type { Connection } from "../../socket/connection.js";
import type { ScreenPorts } from "./kiosks.js";
import type { Searches } from "./searches.js";

// The users that payloads name, and users as callers see them.

/** How many users one request reads. */
export const MOST = 100;

const UUID = new RegExp(uuid.pattern);

/** A payload that names one user. */
export type Named = Commands["user.ban"]["payload"];

/** The ports of the commands about users. */
export interface UserPorts {
  readonly clock: Clock;
  readonly store: ScreenPorts["store"] & { readonly users: UserStore };
  readonly presence: Presence;
  readonly searches: Searches;
  readonly rates: Pick<Rates, "mayWrite">;
  /** Makes the user of a connection a member of the rooms that ask for it. It never rejects. */
  readonly forceJoins: (connection: Connection) => Promise<void>;
}

/** A user as the caller sees them. */
export const shown = ({ ports, may, world }: Context<UserPorts>, user: UserRecord) =>
  publicUser(user, world.value, ports.clock.date(), may("user.manage"));

/**
 * The user that a payload names.
 * @param action the last word of the action, if it is not for oneself.
 */
export async function userNamed(
  { ports, connection, me }: Context<UserPorts, Sender>,
  { id }: Named,
  action?: string,
): Promise<UserRecord> {
  if (action !== undefined && id === me.id) {
    throw new LiveError(`user.${action}.self`, "Not for yourself.");
  }
  const isId = typeof id === "string" && UUID.test(id);
  const user = isId && (await ports.store.users.get(connection.world, id));
  if (!user) throw unknownUser();
  return user;
}

/** The same, without users who were erased. */
export async function personNamed(
  context: Context<UserPorts, Sender>,
  payload: Named,
  action?: string,
): Promise<UserRecord> {
  const user = await userNamed(context, payload, action);
  if (user.deleted) throw unknownUser();
  return user;
}

/**
 * The person that a payload names, for a decision of the caller about them.
 * @throws {LiveError} `auth.denied` if the person runs the event with rights that the caller lacks.
 */
export async function subjectNamed(
  context: Context<UserPorts, Sender>,
  payload: Named,
  action?: string,
): Promise<UserRecord> {
  const user = await personNamed(context, payload, action);
  const { permission_config } = context.world.value;
  if (isOutOfReach(user.traits, permission_config, context.may)) {
    throw worldDenied();
  }
  return user;
}

/** The first ids that can name a user. */
export const idsIn = (ids: readonly unknown[]): string[] => [
  ...new Set(
    ids.slice(0, MOST).filter((id): id is string => typeof id === "string" && UUID.test(id)),
  ),
];
