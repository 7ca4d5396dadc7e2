import type { Author } from "../../db/contract/author.js";
import type { RoomValue, Store, Versioned } from "../../db/contract/store.js";
import type { Clock } from "../../db/runtime.js";
import { inviteLink, shortLink } from "../../schemas/plain/links.js";
import { allowsAnonymous } from "./rights.js";

const DAY_MS = 24 * 3_600_000;

/** Lifetime of a new link, and the remaining lifetime below which a link is extended, in milliseconds. */
const INVITE_LIFETIME_MS = 90 * DAY_MS;
const INVITE_RENEWAL_MS = 10 * DAY_MS;

/** Ports of the commands for links that admit people without a name. */
export interface InvitePorts {
  readonly clock: Clock;
  readonly store: { readonly invites: Store["invites"] };
}

/** The parts of a command's context that a link depends on. */
interface LinkContext {
  readonly ports: InvitePorts;
  readonly connection: { readonly world: string; readonly base: string; readonly author: Author };
  readonly room: Versioned<RoomValue>;
}

/**
 * Returns the link that admits people without a name to a room, and its short address. Returns
 * undefined if the room admits nobody without a name.
 */
export async function anonymousLink({
  ports,
  connection,
  room,
}: LinkContext): Promise<{ url: string; short: string } | undefined> {
  if (!allowsAnonymous(room.value)) return undefined;
  const now = ports.clock.date();
  const { token, code } = await ports.store.invites.link(
    connection.world,
    room.value.id,
    { now, soon: now + INVITE_RENEWAL_MS, ends: now + INVITE_LIFETIME_MS },
    connection.author,
  );
  const { base: address, world } = connection;
  return { url: inviteLink({ address, world }, token), short: shortLink(address, code) };
}
