import type { Store } from "../../db/contract/store.js";
import type { FeedType } from "../../schemas/plain/feed.js";
import type { Contract } from "../contract/db/store-contract/setup.js";
import type { CallKit, CallTable } from "../contract/engines/calls.js";

/** A write, and the types of changes that it appends to the feed, in order. */
export type Shown = [write: () => Promise<unknown>, ...types: FeedType[]];

/** A read, or the reason why a write does not appear in the feed. */
export type Silent = "reads" | { not: string };

/** The facts about one resource that tests of all routes and of all store methods use. */
export interface Resource {
  /** The path parameter, such as `webhook_id`, if the resource's records have ids. */
  readonly parameter?: string;
  /** The status of each route for each caller of test/protocol/routes/access.test.ts. */
  readonly access: Readonly<Record<string, string>>;
  /**
   * A body for each POST and PATCH, by the end of the route. By default, `name` is the only field.
   * Receives an unused text, and the URL.
   */
  readonly bodies?: Readonly<Record<string, (fresh: string, url: string) => object>>;
  /**
   * Creates a record in the world `demo`.
   * @param room the record's room, if it belongs to one.
   */
  readonly make?: (store: Store, room: string) => Promise<string>;
  readonly has?: (store: Store, id: string) => Promise<boolean>;
  /**
   * Set if the record can be created, changed and deleted by requests alone: its list, and a draft
   * with all fields.
   */
  readonly life?: {
    readonly list: string;
    readonly draft: Readonly<Record<string, unknown>>;
    readonly changes: Readonly<Record<string, unknown>>;
    /** The prefix of its types in the feed and in the audit. */
    readonly record: string;
  };
  /** The rules of its part of the store, on both engines. */
  readonly contract?: (contract: Contract) => Promise<void>;
  /** A random call of each method of its part of the store. */
  readonly calls?: (kit: CallKit) => CallTable;
  /** Adds a record to a store that contains at least one record of every kind. */
  readonly fill?: (store: Store) => Promise<unknown>;
  /** The methods that do not appear in the feed, with the reasons. */
  readonly silent?: Readonly<Record<string, Silent>>;
  /** The other methods. */
  readonly shown?: (store: Store) => Promise<Readonly<Record<string, Shown[]>>>;
}

/** A resource whose records have ids. */
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
