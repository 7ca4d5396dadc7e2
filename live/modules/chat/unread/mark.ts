import type { Mark } from "../../../../db/contract/chat.js";
import {
  isCount,
  isFlag,
  isNullOr,
  isNumber,
  isTupleOf,
} from "../../../../schemas/plain/shapes.js";

/** A mark as a user made it. It is never changed, only replaced. */
export interface Made extends Mark {
  readonly world: string;
  readonly pointer: number;
  /** The highest id that was marked since the last write: the pointer may have gone back. */
  readonly cleared: number;
  /** Whether its process may have written a later one since. */
  readonly forward?: boolean;
  /** In milliseconds since 1970, with fractions. The latest mark counts. */
  readonly at: number;
}

/** A mark in a message between processes: the numbers of a {@link Made}. */
export type Told = readonly [
  pointer: number,
  listed: number | null,
  cleared: number,
  at: number,
  isWritten: boolean,
];

/** Whether a value is a {@link Told}. */
export const isTold = isTupleOf(
  ...[isCount, isNullOr(isCount), isCount, isNumber, isFlag],
);

export const toldOf = (
  { pointer, listed, cleared, at }: Made,
  isWritten: boolean,
): Told => [pointer, listed, cleared, at, isWritten];

/** Names the user and the channel of a mark. Ids have no spaces. */
export const keyOf = ({ user, channel, world }: Made): string =>
  `${user} ${channel} ${world}`;

/** The mark of a key; undefined for a key that no process makes. */
export function madeOf(key: string, told: Told): Made | undefined {
  const [user, channel, world, ...rest] = key.split(" ");
  if (!user || !channel || !world || rest.length > 0) return undefined;
  const [pointer, listed, cleared, at] = told;
  return { world, user, channel, pointer, listed, cleared, at };
}

/** The last mark of each user in each channel. */
export class MarkMap {
  readonly #byUser = new Map<string, Map<string, Made>>();
  size = 0;

  get(user: string, channel: string): Made | undefined {
    return this.#byUser.get(user)?.get(channel);
  }

  set(mark: Made): void {
    let marks = this.#byUser.get(mark.user);
    if (!marks) {
      marks = new Map<string, Made>();
      this.#byUser.set(mark.user, marks);
    }
    if (!marks.has(mark.channel)) this.size++;
    marks.set(mark.channel, mark);
  }

  /** Removes a mark. @returns false if another one has replaced it. */
  delete(mark: Made): boolean {
    const marks = this.#byUser.get(mark.user);
    if (marks?.get(mark.channel) !== mark) return false;
    marks.delete(mark.channel);
    if (marks.size === 0) this.#byUser.delete(mark.user);
    this.size--;
    return true;
  }

  has(user: string): boolean {
    return this.#byUser.has(user);
  }

  of(user: string): Iterable<Made> {
    return this.#byUser.get(user)?.values() ?? [];
  }

  *all(): Iterable<Made> {
    for (const marks of this.#byUser.values()) yield* marks.values();
  }
}

/** A mark as the store takes it: if the pointer went back, both, in their order. */
export function rowsOf({ at: _, cleared, ...mark }: Made) {
  return cleared > mark.pointer
    ? [{ ...mark, pointer: cleared }, mark]
    : [mark];
}
