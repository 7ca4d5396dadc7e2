import type { Store } from "../../../db/contract/store.js";

/** A value that represents the same record in each store. */
export class Name<T = string> {
  constructor(
    readonly left: T,
    readonly right: T,
  ) {}
}

export const both = <T>(value: T): Name<T> => new Name(value, value);

/** Replaces names with the values of one store. */
export function inStore<T>(value: T, side: 0 | 1): unknown {
  if (value instanceof Name) return side === 0 ? value.left : value.right;
  if (Array.isArray(value)) return value.map((one) => inStore(one, side));
  const isPlain = typeof value === "object" && value?.constructor === Object;
  if (!isPlain) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, inStore(one, side)]));
}

export const fixedId = (kind: number, n: number) =>
  `${String(kind).padStart(8, "0")}-0000-4000-8000-${String(n).padStart(12, "0")}`;

export const ABSENT = both(fixedId(0, 0));

export type Answers = [left: unknown, right: unknown];

/** An operation on each store: a call whose arguments may contain names, or a custom function. */
export interface Operation {
  /** `<part of the store>.<method>`; defaults to the name of the operation. */
  call?: string;
  args?: unknown[];
  run?: (store: Store, side: 0 | 1) => Promise<unknown>;
  /** Remembers values from the results. */
  keep?: (answers: Answers) => void;
}

/** Creates the arguments of a call, or an operation, by the name of the method. */
export type CallTable = Record<string, () => Operation | unknown[]>;

/** Random arguments, the same for both stores. */
export interface CallKit {
  readonly pick: <T>(list: readonly T[]) => T;
  /** Returns true with this probability. */
  readonly chance: (probability: number) => boolean;
  /** Returns a whole number below the given limit. */
  readonly whole: (below: number) => number;
  readonly text: () => string;
  readonly world: () => string;
  readonly user: () => Name;
  /** Returns the channel of a room or, occasionally, a direct channel. */
  readonly channel: () => Name;
  /** The names of all values remembered so far. */
  readonly rooms: readonly Name[];
  readonly users: readonly Name[];
  readonly directs: Name[];
  readonly page: () => { page: number; pageSize: number };
  /** Picks a name or, occasionally, a name that refers to nothing. */
  readonly from: <T>(names: Name<T>[], none: Name<T>) => Name<T>;
  /** Remembers a name that a function extracts from each result. */
  readonly keepIn: <T, A>(names: Name<T>[], nameIn: (answer: A) => T) => (answers: Answers) => void;
}
