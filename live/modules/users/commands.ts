import { kindOf } from "../../../db/rules/user-rows.js";
import type { Faults } from "../../../schemas/errors.js";
import type { Commands } from "../../../schemas/live/index.js";
import { MAX_PROFILE } from "../../../schemas/plain/limits.js";
import { boundFault } from "../../../schemas/validate.js";
import { bind, type CommandTable, type Context, type LiveModule } from "../../module.js";
import { invalidPayload, rateLimited, worldDenied } from "../../rules/problems.js";
import { isSilenced } from "../../rules/rights.js";
import type { Connection } from "../../socket/connection.js";
import { finding } from "./finding.js";
import { type KioskPorts, kiosks, requireSeen } from "./kiosks.js";
import { decisions } from "./moderation.js";
import { subjectNamed, type UserPorts } from "./people.js";
import { Searches, type SearchPorts } from "./searches.js";
import { webPush, type WebPushPorts } from "./web-push.js";

/** The largest client state, in bytes of JSON. */
const MAX_CLIENT_STATE = 32 * 1024;

/** The users of a world, and their moderation. */
export const users: CommandTable<
  Exclude<
    Extract<keyof Commands, `user.${string}` | `exhibition.${string}`>,
    `user.kiosk.${string}` | `user.web_push.${string}`
  >,
  UserPorts
> = {
  "user.update": { requires: "world.view", handler: update },
  "user.admin.update": { requires: "user.delete", handler: updateOther },
  ...finding,
  ...decisions,
  "exhibition.get.staffed_by_user": {
    requires: "login",
    handler: async () => ({ exhibitors: [] }),
  },
};

/** Refuses values that are too large to be stored. */
function boundSize(fields: Record<string, [value: unknown, most: number]>): void {
  const faults: Faults = {};
  for (const [name, [value, most]] of Object.entries(fields)) {
    const fault = value === undefined ? undefined : boundFault(value, most);
    if (fault) faults[name] = [fault];
  }
  if (Object.keys(faults).length > 0) throw invalidPayload(faults);
}

async function update(
  { ports, connection, login, me }: Context<UserPorts>,
  { profile, client_state }: Commands["user.update"]["payload"],
) {
  // All people in the rooms of a silenced user would read the new name.
  if (profile && (isSilenced(me) || login.scope)) throw worldDenied();
  boundSize({ profile: [profile, MAX_PROFILE], client_state: [client_state, MAX_CLIENT_STATE] });
  const changes = { ...(profile && { profile }), ...(client_state && { client_state }) };
  const size = Buffer.byteLength(JSON.stringify(changes));
  if (!ports.rates.mayWrite(connection, size)) throw rateLimited();
  const { users } = ports.store;
  await users.update(connection.world, me.id, changes, connection.author);
  connection.loop.afterAnswer(() => ports.forceJoins(connection));
  return {};
}

async function updateOther(
  context: Context<UserPorts>,
  payload: Commands["user.admin.update"]["payload"],
) {
  const { profile, pretalx_id, client_state } = payload;
  boundSize({ profile: [profile, MAX_PROFILE], client_state: [client_state, MAX_CLIENT_STATE] });
  const { ports, connection } = context;
  const user = await subjectNamed(context, payload);
  const { id } = user;
  const isScreen = kindOf(user) === "kiosk";
  if (profile && isScreen) await requireSeen(context, { profile });
  const changes = {
    ...(profile && { profile }),
    ...(client_state && isScreen && { client_state }),
    ...(pretalx_id !== undefined && { pretalx_id }),
  };
  // Every connection of the user gets the push, also this one.
  const { connection: _, ...by } = connection.author;
  await ports.store.users.update(connection.world, id, changes, by);
  return {};
}

/** The people of a world. */
export function userModule(
  ports: Omit<UserPorts, "searches"> & SearchPorts & KioskPorts & WebPushPorts,
) {
  const searches = new Searches(ports);
  return {
    bound: bind({ ...users, ...kiosks, ...webPush }, { ...ports, searches }),
    // Clients of Venueless expect these.
    entrance: async () => () => ({ exhibition: { exhibitors: [], contact_requests: [] } }),
    leave: (connection: Connection) => searches.end(connection),
  } satisfies LiveModule;
}
