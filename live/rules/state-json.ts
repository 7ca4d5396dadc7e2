import { LRUCache } from "lru-cache";
import type { RoomValue } from "../../db/contract/store.js";
import type { World } from "../../schemas/worlds.js";
import { jsonOf } from "./encoding.js";
import { sentRoom, sentWorld } from "./shapes.js";
import { oncePer } from "./shared-reads.js";

/** How many views of each state have their JSON kept. */
const KEPT_VIEWS = 16;

/** The JSON of a room before and after the permissions. @param types of its modules; undefined for all. */
const jsonAround =
  (types?: ReadonlySet<string>) =>
  (room: RoomValue): [string, string] => {
    const { modules, ...rest } = sentRoom(room);
    const shown = modules.filter(({ type }) => types?.has(type) ?? true);
    return [`${jsonOf(rest).slice(0, -1)},"permissions":`, `,"modules":${JSON.stringify(shown)}`];
  };

const aroundPermissions = oncePer(jsonAround());
const aroundForAnonymous = oncePer(jsonAround(new Set(["question", "poll"])));

/** The JSON of a view, and a number for the state of its crowds. */
interface SentView {
  readonly json: Buffer;
  readonly changes: number;
}

/** The JSON of a world and its rooms at one moment, made once for all who get the same. */
export class StateJson {
  /** The JSON of lists of permissions: many rooms and views have the same. */
  readonly #lists = new Map<string, string>();
  /** The JSON of the views that were asked for last. */
  readonly #jsons: Record<Counting, LRUCache<object, SentView>> = {
    words: new LRUCache({ max: KEPT_VIEWS }),
    counts: new LRUCache({ max: KEPT_VIEWS }),
  };
  #world: string | undefined;

  /**
   * @param pushKey the key of the server for push services; null without one.
   * @param before of an earlier state. If the world is the same, its JSON stays.
   */
  constructor(
    readonly value: World,
    readonly pushKey: string | null,
    before?: StateJson,
  ) {
    if (before?.value === value) this.#world = before.#world;
  }

  /** The world as people see it, as JSON. */
  get world(): string {
    return (this.#world ??= JSON.stringify(sentWorld(this.value, this.pushKey)));
  }

  /** A list as JSON, which is one string in memory for all equal lists. */
  shared(list: readonly string[]): string {
    const json = JSON.stringify(list);
    const known = this.#lists.get(json);
    if (known === undefined) this.#lists.set(json, json);
    return known ?? json;
  }

  /**
   * A room with a user's permissions, as JSON without the last brace.
   * @param isAnonymous whether it is for a person of the hall, who gets nothing but questions and polls.
   */
  room(room: RoomValue, permissions: string, isAnonymous: boolean): string {
    const around = isAnonymous ? aroundForAnonymous : aroundPermissions;
    const [before, after] = around(room);
    return before + permissions + after;
  }

  /**
   * The JSON of a view. Only a few are kept: each may be large, and there may be as
   * many views as people.
   */
  of(view: object, { counting, changes }: SentCrowds, make: () => string): Buffer {
    const known = this.#jsons[counting].get(view);
    if (known?.changes === changes) return known.json;
    const json = Buffer.from(make());
    this.#jsons[counting].set(view, { json, changes });
    return json;
  }
}

/** Whether a client gets a word for each crowd, or its size as well. */
export type Counting = "words" | "counts";

/** The crowds of a world as they were sent last. */
export interface SentCrowds {
  readonly counting: Counting;
  /** A number that is another one whenever any crowd has changed. */
  readonly changes: number;
  /** The fields of a room about its crowd, as JSON without braces. */
  readonly jsonOf: (room: string) => string;
}
