import type { Store } from "../../db/contract/store.js";
import type { FeedType } from "../../schemas/plain/feed.js";
import type { Contract } from "../contract/db/store-contract/setup.js";
import type { CallKit, CallTable } from "../contract/engines/calls.js";

/** A write, and the types of changes that it appends to the feed, in order. */
export type Shown = [write: () => Promise<unknown>, ...types: FeedType[]];

/** A read, or the reason why a write does not appear in the feed. */
export type Silent = "reads" | { not: string };

/** What the tests of all routes and of all methods of the store know of one resource. */
export interface Resource {
  /** The parameter of its paths, such as `webhook_id`, if its things have ids. */
  readonly parameter?: string;
  /** The status of each route for each caller of test/protocol/routes/access.test.ts. */
  readonly access: Readonly<Record<string, string>>;
  /**
   * A body for each POST and PATCH, by the end of the route; `name` is the only field by default.
   * Receives a text that is not in use, and the URL.
   */
  readonly bodies?: Readonly<Record<string, (fresh: string, url: string) => object>>;
  /** Makes one in the world `demo`. @param room a room, if it is in one. */
  readonly make?: (store: Store, room: string) => Promise<string>;
  readonly has?: (store: Store, id: string) => Promise<boolean>;
  /** If requests alone make, change and delete it: its list, and a draft that has all fields. */
  readonly life?: {
    readonly list: string;
    readonly draft: Readonly<Record<string, unknown>>;
    readonly changes: Readonly<Record<string, unknown>>;
    /** Begins its types in the feed and in the audit. */
    readonly record: string;
  };
  /** The rules of its part of the store, on both engines. */
  readonly contract?: (contract: Contract) => Promise<void>;
  /** A random call of each method of its part of the store. */
  readonly calls?: (kit: CallKit) => CallTable;
  /** Puts one into a store that has something of everything. */
  readonly fill?: (store: Store) => Promise<unknown>;
  /** The methods that the feed does not show, and why. */
  readonly silent?: Readonly<Record<string, Silent>>;
  /** The other methods. */
  readonly shown?: (store: Store) => Promise<Readonly<Record<string, Shown[]>>>;
}

/** A resource whose things have ids. */
export type WithIds = Resource & Required<Pick<Resource, "parameter" | "make" | "has">>;

const inRoom = "401 401 401 403 401 403 403 403 200 200 403";
const inWorld = "401 401 401 403 401 403 403 403 200 200 200";

/** The statuses of calls that need the trait `admin`; in a room, also the right to see it. */
export const ACCESS = {
  read: inWorld,
  make: inWorld.replaceAll("200", "201"),
  delete: inWorld.replaceAll("200", "204"),
  readInRoom: inRoom,
  makeInRoom: inRoom.replaceAll("200", "201"),
  deleteInRoom: inRoom.replaceAll("200", "204"),
};

/**
 * The access to a list and to its things, where each call needs the trait `admin`.
 * @param list the path of the list.
 * @param one the path of one thing.
 */
export const accessTo = (list: string, one: string) => ({
  [`GET ${list}`]: ACCESS.read,
  [`POST ${list}`]: ACCESS.make,
  [`GET ${one}`]: ACCESS.read,
  [`PATCH ${one}`]: ACCESS.read,
  [`DELETE ${one}`]: ACCESS.delete,
});
