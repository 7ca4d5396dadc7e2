import type { AuditStore } from "../../../db/contract/audit.js";
import { kioskToken } from "../../../db/rules/acts.js";
import { signKiosk } from "../../../db/worlds.js";
import { kindOf, kioskId } from "../../../db/rules/user-kinds.js";
import type { UserStore } from "../../../db/contract/store.js";
import { requireSeen, type ScreenPorts } from "./screens.js";
import type { Clock } from "../../../db/log/clock.js";
import type { Random } from "../../../db/log/random.js";
import { boundFault } from "../../../schemas/validate.js";
import type { Commands } from "../../../schemas/live/index.js";
import { MAX_PROFILE } from "../../../schemas/plain/limits.js";
import type { Context } from "../../context.js";
import type { CommandTable } from "../../module.js";
import { invalidPayload, unknownUser } from "../../rules/problems.js";
import { publicUser } from "../../rules/shapes.js";

/** The ports of the commands about screens. */
export interface KioskPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: ScreenPorts["store"] & {
    readonly users: UserStore;
    readonly audit: AuditStore;
  };
}

/** Users that are screens. To end the token of a screen, erase its user. */
export const kiosks: CommandTable<Extract<keyof Commands, `user.kiosk.${string}`>, KioskPorts> = {
  "user.kiosk.create": { requires: "world.update", handler: create },
  "user.kiosk.fetch": { requires: "user.manage", handler: fetchKiosk },
};

async function create(
  context: Context<KioskPorts>,
  { profile }: Commands["user.kiosk.create"]["payload"],
) {
  const fault = boundFault(profile, MAX_PROFILE);
  if (fault) throw invalidPayload({ profile: [fault] });
  await requireSeen(context, { profile });
  const { ports, connection, world, may } = context;
  const { store, random, clock } = ports;
  const visitor = { clientId: kioskId(random.id()), traits: new Set<string>() };
  const user = await store.users.enter(
    connection.world,
    { ...visitor, profile },
    connection.author,
  );
  const admin = may("user.manage");
  return { user: publicUser(user, world.value, clock.date(), admin) };
}

async function fetchKiosk(
  context: Context<KioskPorts>,
  { id }: Commands["user.kiosk.fetch"]["payload"],
) {
  const { ports, connection, world } = context;
  const user =
    typeof id === "string" ? await ports.store.users.get(connection.world, id) : undefined;
  if (!user || kindOf(user) !== "kiosk") throw unknownUser();
  await requireSeen(context, user);
  const [, name] = user.client_id!.split(":");
  // Before it is shown: a token without a trace must not exist.
  await ports.store.audit.record(connection.world, kioskToken(user.id), connection.author);
  return {
    ...publicUser(user, world.value, ports.clock.date(), true),
    client_state: user.client_state,
    token: await signKiosk(world.value, name!),
  };
}
