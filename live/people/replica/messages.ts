import {
  isCount,
  isId,
  isKindOf,
  isListOf,
  isRecord,
  isText,
  isTupleOf,
  type Shape,
} from "../../../schemas/plain/shapes.js";

/** An item, with a key that begins with its topic, and the version of its last change. */
export type Item = readonly [key: string, version: number, value: unknown];

/** The changes of an owner after one version, up to another. */
export interface Changes {
  readonly since: number;
  readonly version: number;
  readonly put: readonly Item[];
  /** The keys of items that were deleted. */
  readonly gone: readonly string[];
}

/** A slice of all that an owner has at some version. */
export interface Slice {
  readonly version: number;
  /** Which slice it is, from 0, and how many there are. */
  readonly slice: number;
  readonly of: number;
  readonly put: readonly Item[];
}

/** The messages between processes about a scope. */
export type Report = {
  /** The sender. */
  readonly process: string;
  /** The scope, unless it is the world of the message. */
  readonly in?: string;
} & (
  | /** A heartbeat, with the version of the process's part. */ {
      readonly kind: "beat";
      readonly version: number;
    }
  | /** It follows the scope no longer, and has nothing in it. */ {
      readonly kind: "bye";
    }
  | /** It asks a process, or all, for what changed after a version. */ {
      readonly kind: "want";
      readonly of?: string;
      readonly since: number;
    }
  | ({ readonly kind: "changes" } & Changes)
  | ({ readonly kind: "whole" } & Slice)
);

/** A key is a topic and an id of up to two parts. */
const MAX_KEY = 1100;

/** How many items a message has at most. */
export const MOST_ITEMS = 500;

/** How many slices all that one owner has may take. */
const MOST_SLICES = 10_000;

const isKey: Shape = (value) =>
  isText(value) && (value as string).length <= MAX_KEY;

/** A list that is not longer than a message may have. */
const isShort =
  (shape: Shape): Shape =>
  (value) =>
    isListOf(shape)(value) && (value as unknown[]).length <= MOST_ITEMS;

// The bus has checked that values are JSON, and their topics check their shapes.
const isPut = isShort(isTupleOf(isKey, isCount, () => true));

const isSlice = isRecord({
  version: isCount,
  slice: isCount,
  of: (value) => isCount(value) && (value as number) <= MOST_SLICES,
  put: isPut,
});

const isOfKind = isKindOf("kind", {
  beat: isRecord({ version: isCount }),
  bye: isRecord({}),
  want: isRecord({ since: isCount }, { of: isId }),
  changes: isRecord({
    since: isCount,
    version: isCount,
    put: isPut,
    gone: isShort(isKey),
  }),
  whole: isSlice,
});

const hasProcess = isRecord({ process: isId }, { in: isId });

/** Whether something is a {@link Report}. */
export const isReport = (value: unknown): value is Report =>
  hasProcess(value) && isOfKind(value);
