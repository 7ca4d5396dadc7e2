import type { InviteStore } from "../../../db/contract/invite-store.js";
import type { Clock } from "../../../db/runtime.js";
import type { Commands } from "../../../schemas/live/index.js";
import { inviteLink } from "../../../schemas/plain/links.js";
import type { CommandTable, RoomContext } from "../../module.js";

const DAY = 24 * 3_600_000;

/** For how long a new link holds, and when it ends so soon that it is prolonged. */
const VALID = 90 * DAY;
const SOON = 10 * DAY;

/** The ports of the commands about links for people without a name. */
export interface InvitePorts {
  readonly clock: Clock;
  readonly store: { readonly invites: InviteStore };
}

/** The links of rooms for people without a name. */
export const invites: CommandTable<
  Extract<keyof Commands, `room.invite.${string}`>,
  InvitePorts
> = {
  "room.invite.anonymous.link": { inRoom: "room.invite", handler: link },
  "room.invite.anonymous.end": { inRoom: "room.update", handler: end },
};

async function link({ ports, connection, room }: RoomContext<InvitePorts>) {
  const now = ports.clock.date();
  const { token } = await ports.store.invites.link(
    connection.world,
    room.value.id,
    { now, soon: now + SOON, ends: now + VALID },
    connection.author,
  );
  const place = { address: connection.base, world: connection.world };
  return { url: inviteLink(place, token) };
}

async function end({ ports, connection, room }: RoomContext<InvitePorts>) {
  await ports.store.invites.end(connection.world, room.value.id, connection.author);
  return {};
}
