import type { UserRecord } from "../../../db/contract/store.js";
import type { Commands, PublicUser, TypedEvent } from "../../../schemas/live/index.js";
import type { Json, SharedJson } from "../../rules/encoding.js";
import { SharedReads } from "../../rules/shared-reads.js";
import type { EntryHandlers } from "../../module.js";

/** How many pages are kept: each entry about a user looks at all of them. */
const MAX_PAGES = 256;

/**
 * How large they are, all together and each, in characters of JSON. No page is larger:
 * the largest is the one that costs most to read.
 */
const MAX_SIZE = 16 * 1024 * 1024;
const MAX_PAGE = 8 * 1024 * 1024;

/** The size of a user of a page, likewise. */
const USER = 1000;

/** A page as it is sent. */
export type FetchedPage = Commands["chat.fetch"]["result"];

/** A page of events, shared by all receivers. Do not change it. */
export interface Page {
  /** How large the results are, in characters of JSON. */
  readonly size: number;
  /** The ids of the users that it carries. */
  readonly involved: readonly string[];
  /** The known ones among them. */
  readonly found: ReadonlyMap<string, UserRecord>;
  readonly results: Json<TypedEvent[]>;
  /** All of them as a receiver without any users gets them, by whether they manage users. */
  readonly everybody: Map<boolean, ShownUsers>;
  /** The whole answers with them. */
  readonly answers: WeakMap<ShownUsers, SharedJson<FetchedPage>>;
}

/** Users by their ids, and the ids. */
export interface ShownUsers {
  readonly ids: ReadonlySet<string>;
  readonly json: Json<Record<string, PublicUser>>;
}

/** Which page it is. */
export interface PageKey {
  readonly world: string;
  readonly channel: string;
  readonly before: number | undefined;
  readonly after: number | undefined;
  readonly limit: number;
  readonly withoutMembers: boolean;
}

/**
 * Pages that many clients fetch at the same time: all arriving users fetch the latest page.
 * A page is kept until an entry of the log may have changed it.
 */
export class PageCache {
  readonly #pages: SharedReads<PageKey, Page>;
  /** The handlers of entries. */
  readonly handlers: EntryHandlers;

  /** @param isCurrent whether this process has got all entries of a world up to a second ago. */
  constructor(isCurrent: (world: string) => boolean) {
    const pages = new SharedReads<PageKey, Page>({
      isCurrent,
      placeOf: ({ channel }) => channel,
      most: MAX_PAGES,
      mostSize: MAX_SIZE,
      mostEach: MAX_PAGE,
      sizeOf: ({ size, found }) => size + USER * (1 + found.size),
    });
    this.#pages = pages;
    const ofChannel = ({ channel }: { channel: string }) => pages.forgetPlace(channel);
    const ofUser = ({ world, user }: { world: string; user: string }) =>
      pages.forget((key, page) => key.world === world && (!page || page.found.has(user)));
    const ofWorld = ({ world }: { world: string }) => this.forget(world);
    this.handlers = {
      "chat.event": ofChannel,
      "chat.reacted": ofChannel,
      "user.entered": ofUser,
      "user.updated": ofUser,
      "user.moderated": ofUser,
      "user.erased": ofUser,
      "chat.erased": ofWorld,
      "room.updated": ofWorld,
      "room.deleted": ofWorld,
      "world.updated": ofWorld,
      "world.deleted": ofWorld,
    };
  }

  /** @param make reads a page that is not kept. */
  get(key: PageKey, make: () => Promise<Page>): Promise<Page> {
    const { channel, before, after, limit, withoutMembers } = key;
    const name = `${channel} ${before} ${after} ${limit} ${withoutMembers}`;
    return this.#pages.get(name, key, make);
  }

  /** Forgets the pages of a world. */
  forget(world: string): void {
    this.#pages.forgetWorld(world);
  }
}
