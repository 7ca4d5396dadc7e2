import type { UserRecord } from "../../../db/contract/store.js";
import type { PublicUser } from "../../../schemas/live/index.js";
import type { ChatStore } from "../../../db/contract/chat.js";
import type { Clock } from "../../../db/log/clock.js";
import type { ChannelContext } from "../../context.js";
import { isVolatile } from "../../rules/rights.js";
import { encoded, type Json } from "../../rules/encoding.js";
import { readUsers, sharedUser, type UserReads } from "./users.js";

/** How many members are listed, and how large they may be together, in characters of JSON. */
const MAX_MEMBERS = 1000;
const MAX_SIZE = 256 * 1024;

/** How many members are read at a time. */
const SLICE = 100;

/** For how long a list is kept, in milliseconds. A crowd that comes back asks for it at once. */
const KEPT = 1000;

const NONE = encoded<PublicUser[]>([]);

interface List {
  readonly at: number;
  readonly members: Promise<Json<PublicUser[]>>;
}

/** The ports of lists of members. */
export interface MemberPorts extends UserReads {
  readonly clock: Clock;
  readonly store: UserReads["store"] & { readonly chat: ChatStore };
}

/** The members of channels, as subscribers get them. */
export class Members {
  readonly #ports: MemberPorts;
  readonly #lists = new Map<string, List>();

  constructor(ports: MemberPorts) {
    this.#ports = ports;
  }

  /** Something changed in the members of channels, or in users. */
  forget(): void {
    this.#lists.clear();
  }

  /** The latest to join come first. */
  of(context: ChannelContext): Promise<Json<PublicUser[]>> {
    const { channel, room, may } = context;
    if (room && isVolatile(room.value)) return Promise.resolve(NONE);
    const admin = may("user.manage");
    const key = `${channel} ${admin}`;
    const now = this.#ports.clock.now();
    const known = this.#lists.get(key);
    if (known && now - known.at < KEPT) return known.members;
    for (const [other, { at }] of this.#lists) {
      if (now - at >= KEPT) this.#lists.delete(other);
    }
    const members = read(this.#ports, context, admin).then(encoded<PublicUser[]>);
    this.#lists.set(key, { at: now, members });
    members.catch(() => this.#lists.delete(key));
    return members;
  }
}

async function read(
  { store, clock }: MemberPorts,
  { connection, world, channel, direct }: ChannelContext,
  admin: boolean,
): Promise<Json<PublicUser>[]> {
  const ids = direct ?? (await store.chat.members(connection.world, channel, MAX_MEMBERS));
  const isListed = ({ deleted, moderation_state }: UserRecord) =>
    direct !== undefined || (!deleted && moderation_state !== "banned");
  const members: Json<PublicUser>[] = [];
  let size = 0;
  for (let i = 0; i < ids.length; i += SLICE) {
    const slice = ids.slice(i, i + SLICE);
    const users = await readUsers({ store }, connection.world, slice);
    for (const id of slice) {
      const user = users.get(id);
      if (!user || !isListed(user)) continue;
      const member = sharedUser(user, world.value, clock.date(), admin);
      size += member.text.length;
      if (size > MAX_SIZE) return members;
      members.push(member);
    }
  }
  return members;
}
