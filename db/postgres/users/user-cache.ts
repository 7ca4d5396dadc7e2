import type { UserRecord, Visitor } from "../../contract/store.js";
import type { Entry } from "../../log/entries.js";
import { toUser, type UserRow } from "../../rules/rows.js";

/** The bound for all users together, in characters of what was read. */
const MAX_SIZE = 16 * 1024 * 1024;

/** The bound for one user. A larger one is read each time. */
const MAX_USER = MAX_SIZE / 16;

/** The memory of a user beside profile, traits and client state, in characters. */
const OVERHEAD = 500;

/**
 * For how long a user is kept, in milliseconds. Most logins of a known user append no entry, so
 * other nodes have an older `last_login`. It tells who is inactive, which takes far longer.
 */
const KEPT = 3_600_000;

/** How many users may have changed until the reads under way are kept no more. */
const MAX_CHANGES = 10_000;

/** An entry about one user. */
export type UserEntry = Extract<
  Entry,
  { type: `user.${string}`; user: string }
>;

/** What tells whether every change of a world will be known. */
interface Followed {
  isCurrent(world: string): boolean;
  follow(world: string): void;
  now(): number;
}

interface Kept {
  readonly world: string;
  readonly user: UserRecord;
  readonly size: number;
  /** When it was read. */
  readonly at: number;
}

/** A change of a user: the number of its entry, and when this process got it. */
interface Changed {
  readonly seq: number;
  readonly turn: number;
}

/** What a user logs in by; with both, the token counts. */
type Name = Pick<Visitor, "tokenId" | "clientId">;

/** A read or a write of users that has begun. */
export interface Begun {
  readonly world: string;
  readonly turn: number;
  readonly at: number;
  /** Whether all later changes of the world will be known. */
  readonly isFollowed: boolean;
}

/**
 * Caches users until an entry of the log of their world names them, and only while it is
 * sure that every entry arrives. Of a user who changed, nothing stays in memory here.
 */
export class UserCache {
  readonly #followed: () => Followed | undefined;
  /** By world and id, the oldest first. */
  readonly #kept = new Map<string, Kept>();
  /** The keys of each world. */
  readonly #keys = new Map<string, Set<string>>();
  /** The keys of users by what logs them in. */
  readonly #names = new Map<string, string>();
  /** The last change of each user, by world and id. */
  readonly #changed = new Map<string, Changed>();
  /** Counts up with every change. */
  #turn = 0;
  /** What began before this turn is not kept. */
  #since = 0;
  #size = 0;

  constructor(followed: () => Followed | undefined) {
    this.#followed = followed;
  }

  /** The known ones of some users, and the ids of all others. */
  known(world: string, ids: readonly string[]) {
    const users: UserRecord[] = [];
    const others: string[] = [];
    const isCurrent = this.#isCurrent(world);
    for (const id of new Set(ids)) {
      const user = isCurrent ? this.#find(keyOf(world, id)) : undefined;
      if (user) users.push(user);
      else others.push(id);
    }
    return { users, others };
  }

  /** The user of a token or of a guest, if it is known. */
  named(world: string, { tokenId, clientId }: Name): UserRecord | undefined {
    const key = this.#names.get(nameOf(world, tokenId, clientId));
    return key !== undefined && this.#isCurrent(world)
      ? this.#find(key)
      : undefined;
  }

  /** To be called before users are read or written, so that they can be {@link keep kept}. */
  begin(world: string): Begun {
    return {
      world,
      turn: this.#turn,
      at: this.#now(),
      isFollowed: this.#isCurrent(world),
    };
  }

  /** Keeps users that were read, unless they have changed since. */
  keep(begun: Begun, rows: readonly UserRow[]): UserRecord[] {
    return rows.map((row) => {
      const user = toUser(row);
      const key = keyOf(begun.world, row.id);
      const { turn = -1 } = this.#changed.get(key) ?? {};
      // A write of this process may have ended meanwhile.
      const isNewer = (this.#kept.get(key)?.at ?? -1) > begun.at;
      if (turn <= begun.turn && !isNewer) this.#set(key, begun, user, row);
      return user;
    });
  }

  /**
   * Keeps a user who was written, unless another write came after that.
   * @param seq the last entry of the world at the end of the write.
   */
  keepWritten(begun: Begun, row: UserRow, seq: number): UserRecord {
    const user = toUser(row);
    const key = keyOf(begun.world, row.id);
    this.#drop(key);
    const changed = this.#changed.get(key);
    // Its own entry came meanwhile, too.
    if ((changed?.seq ?? 0) <= seq) {
      this.#set(key, { ...begun, at: this.#now() }, user, row);
    }
    return user;
  }

  /** Forgets the user that an entry names. */
  forget({ world, user, seq }: UserEntry): void {
    const key = keyOf(world, user);
    this.#drop(key);
    if (this.#changed.size >= MAX_CHANGES) this.#giveUp();
    this.#changed.set(key, { seq, turn: ++this.#turn });
  }

  /** Forgets the users of a world. */
  forgetWorld(world: string): void {
    this.#giveUp();
    for (const key of [...(this.#keys.get(world) ?? [])]) this.#drop(key);
  }

  /** Forgets all. */
  forgetAll(): void {
    this.#giveUp();
    this.#kept.clear();
    this.#keys.clear();
    this.#names.clear();
    this.#size = 0;
  }

  #isCurrent(world: string): boolean {
    return this.#followed()?.isCurrent(world) ?? false;
  }

  #now(): number {
    return this.#followed()?.now() ?? 0;
  }

  #find(key: string): UserRecord | undefined {
    const kept = this.#kept.get(key);
    return kept && this.#now() - kept.at <= KEPT ? kept.user : undefined;
  }

  /** Keeps nothing that has begun. */
  #giveUp(): void {
    this.#changed.clear();
    this.#since = ++this.#turn;
  }

  #set(key: string, begun: Begun, user: UserRecord, row: UserRow): void {
    const { world, turn, at, isFollowed } = begun;
    if (!isFollowed) return this.#followed()?.follow(world);
    if (turn < this.#since) return;
    this.#drop(key);
    const size = sizeOf(row);
    if (size > MAX_USER) return;
    this.#kept.set(key, { world, user, size, at });
    this.#size += size;
    let keys = this.#keys.get(world);
    if (!keys) this.#keys.set(world, (keys = new Set()));
    keys.add(key);
    const { token_id, client_id } = row;
    if (!user.deleted) this.#names.set(nameOf(world, token_id, client_id), key);
    for (const oldest of this.#kept.keys()) {
      if (this.#size <= MAX_SIZE) break;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    const kept = this.#kept.get(key);
    if (!kept) return;
    const { world, user, size } = kept;
    this.#kept.delete(key);
    this.#size -= size;
    const keys = this.#keys.get(world)!;
    keys.delete(key);
    if (keys.size === 0) this.#keys.delete(world);
    const name = nameOf(world, user.token_id, user.client_id);
    if (this.#names.get(name) === key) this.#names.delete(name);
  }
}

const keyOf = (world: string, id: string): string => `${world} ${id}`;

const nameOf = (
  world: string,
  tokenId: string | null | undefined,
  clientId: string | null | undefined,
): string => `${world} ${tokenId == null ? `c${clientId}` : `t${tokenId}`}`;

/** The memory of a user, in characters: the row and the values in it take about the same. */
const sizeOf = ({ profile, traits, client_state }: UserRow): number =>
  OVERHEAD +
  2 *
    ((profile?.length ?? 0) +
      (traits?.length ?? 0) +
      (client_state?.length ?? 0));
