import {
  type Commands,
  type Foyer,
  FoyerError,
  type Live,
  type RoomDraft,
} from "../../client/index.js";
import type { PermissionConfig } from "../../schemas/plain/permissions.js";

/** A module as it is stored. */
export type Module = Record<string, unknown> & { type: string };

/** The editable values of a room. */
export interface RoomValues {
  name: string;
  description: string;
  module_config: Module[];
  permission_config: PermissionConfig;
  sorting_priority: number;
  picture: string | null;
  force_join: boolean;
  /** The present schedule data; null for none. */
  schedule_data: Record<string, unknown> | null;
}

export type Field = keyof RoomValues;

export const fields: readonly Field[] = [
  "name",
  "description",
  "module_config",
  "permission_config",
  "sorting_priority",
  "picture",
  "force_join",
  "schedule_data",
];

/** The parts of a form, each with the fields that it shows. */
export const parts = {
  basics: ["name", "description"],
  modules: ["module_config"],
  rules: ["permission_config"],
  more: ["picture", "schedule_data", "sorting_priority", "force_join"],
} as const satisfies Record<string, readonly Field[]>;

export type Part = keyof typeof parts;

/** The messages about submitted values, by dotted path. */
export type Problems = Readonly<Record<string, readonly string[]>>;

/** How saving ended. */
export type Outcome =
  | { readonly is: "saved"; readonly values: RoomValues }
  /** Another user was faster; nothing was written. */
  | { readonly is: "changed" }
  | { readonly is: "invalid"; readonly problems: Problems };

/** A field that differs between two versions of a room, as text. */
interface Difference {
  readonly field: Field;
  readonly theirs: string;
  readonly mine: string;
}

/** How often a room is read again that changes while it is read. */
const TRIES = 5;

/** One room in an editor. It never overwrites changes of another user. */
export class RoomEditor {
  readonly id: string;
  readonly #api: Foyer;
  readonly #live: Live;
  #base: { etag: string; values: RoomValues } | undefined;

  constructor({ api, live }: { api: Foyer; live: Live }, id: string) {
    this.#api = api;
    this.#live = live;
    this.id = id;
  }

  /** The values that were loaded or saved last; undefined before. */
  get values(): RoomValues | undefined {
    return this.#base?.values;
  }

  /** Reads the room; later writes are based on this version. */
  async load(): Promise<RoomValues> {
    this.#base = await this.#read();
    return this.#base.values;
  }

  /** The present room. Writes are still based on the loaded version. */
  async theirs(): Promise<RoomValues> {
    return (await this.#read()).values;
  }

  /**
   * Bases later writes on the present room.
   * @param values the values of the form.
   * @returns the same changes, applied to the present room.
   */
  async keep(values: RoomValues): Promise<RoomValues> {
    const before = this.#base!.values;
    return merged(values, before, await this.load());
  }

  /** Whether another user changed the room since it was loaded. */
  async isChanged(): Promise<boolean> {
    const base = this.#base;
    const { etag } = await this.#api.getRoom(this.id);
    // An answer from before the own save says nothing about others.
    return this.#base === base && etag !== base?.etag;
  }

  /** Writes the differences from the loaded values, all or none. */
  async save(values: RoomValues): Promise<Outcome> {
    const base = this.#base!;
    const changes = changed(base.values, values);
    try {
      const { etag } = await this.#api.updateRoom(this.id, changes, { ifMatch: base.etag });
      this.#base = { etag, values: { ...base.values, ...changes } };
    } catch (error) {
      if (isConflict(error)) return { is: "changed" };
      const problems = problemsOf(error);
      if (problems) return { is: "invalid", problems };
      throw error;
    }
    return { is: "saved", values: await this.load() };
  }

  /**
   * Deletes the room.
   * @returns whether it is deleted; false if another user changed it.
   */
  async remove(): Promise<boolean> {
    try {
      await this.#api.deleteRoom(this.id, { ifMatch: this.#base!.etag });
      return true;
    } catch (error) {
      if (isConflict(error)) return false;
      throw error;
    }
  }

  /** Both APIs have a part of the room; it must not change in between. */
  async #read(): Promise<{ etag: string; values: RoomValues }> {
    for (let tries = 1; ; tries++) {
      const room = await this.#api.getRoom(this.id);
      const settings = await this.#live.call("room.config.get", { room: this.id });
      const { etag } = await this.#api.getRoom(this.id);
      if (etag !== room.etag && tries < TRIES) continue;
      return { etag: room.etag, values: valuesOf(settings) };
    }
  }
}

const isConflict = (error: unknown): boolean => error instanceof FoyerError && error.status === 412;

/** The messages about the values that were sent; undefined for another error. */
function problemsOf(error: unknown): Problems | undefined {
  const isInvalid = error instanceof FoyerError && error.status === 400;
  return isInvalid && Object.keys(error.fields).length > 0 ? error.fields : undefined;
}

const valuesOf = (settings: Commands["room.config.get"]["result"]): RoomValues => ({
  name: settings.name,
  description: settings.description,
  module_config: settings.module_config,
  permission_config: settings.trait_grants,
  sorting_priority: settings.sorting_priority,
  picture: settings.picture,
  force_join: settings.force_join,
  schedule_data: settings.schedule_data,
});

/** A module without `config` is one with an empty one. */
const normal = (values: RoomValues, field: Field): unknown =>
  field === "module_config"
    ? values.module_config.map((module) => ({ config: {}, ...module }))
    : values[field];

/** Whether a field has the same value in two versions. */
const agrees = (field: Field, a: RoomValues, b: RoomValues): boolean =>
  isSame(normal(a, field), normal(b, field));

function changed(before: RoomValues, after: RoomValues): Partial<RoomValues> {
  return Object.fromEntries(
    fields.filter((field) => !agrees(field, before, after)).map((field) => [field, after[field]]),
  );
}

/** Whether two versions differ in something that can be edited. */
export const isEdited = (before: RoomValues, after: RoomValues): boolean =>
  fields.some((field) => !agrees(field, before, after));

/** The differences between two versions, field by field. */
export const differences = (theirs: RoomValues, mine: RoomValues): Difference[] =>
  fields
    .filter((field) => !agrees(field, theirs, mine))
    .map((field) => ({ field, theirs: textOf(theirs[field]), mine: textOf(mine[field]) }));

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : value === null ? "" : jsonText(value);

/** The values to fill into the parts of a form that show other values, by part. */
export function refills(now: RoomValues, next: RoomValues): [Part, Partial<RoomValues>][] {
  const all = Object.entries(parts) as [Part, readonly Field[]][];
  return all
    .filter(([, shown]) => shown.some((field) => !agrees(field, now, next)))
    .map(([part, shown]) => [
      part,
      structuredClone(Object.fromEntries(shown.map((field) => [field, next[field]]))),
    ]);
}

/**
 * The values of a form after an answer of the server: fields typed meanwhile stay, and all
 * others take the value of the server.
 * @param sent the values of the form when they were sent.
 * @param open the fields with text that is not in the values yet, as it is no JSON so far.
 */
export function merged(
  now: RoomValues,
  sent: RoomValues,
  saved: RoomValues,
  open: readonly Field[] = [],
): RoomValues {
  const kept = fields.filter((field) => open.includes(field) || !agrees(field, now, sent));
  return {
    ...structuredClone(saved),
    ...Object.fromEntries(kept.map((field) => [field, now[field]])),
  };
}

/** The messages about a field and its content, each with the rest of its path. */
export const problemsAt = (problems: Problems, path: string): string[] =>
  Object.entries(problems).flatMap(([field, messages]) => {
    if (field === path) return [...messages];
    if (!field.startsWith(`${path}.`)) return [];
    const rest = field.slice(path.length + 1);
    return messages.map((message) => `${rest}: ${message}`);
  });

/** The kinds of rooms that a new one can be. */
export const presets = {
  stage: [
    { type: "livestream.native", config: { hls_url: "" } },
    { type: "chat.native", config: { volatile: true } },
    { type: "question", config: { active: true, requires_moderation: true } },
    { type: "poll", config: { active: true } },
  ],
  chat: [{ type: "chat.native", config: { volatile: false } }],
  page: [{ type: "page.markdown", config: { content: "" } }],
  video: [
    { type: "livestream.youtube", config: { ytid: "" } },
    { type: "chat.native", config: { volatile: true } },
  ],
  website: [{ type: "page.iframe", config: { url: "" } }],
  empty: [],
} as const satisfies Record<string, readonly { type: string; config: Record<string, unknown> }[]>;

export type Preset = keyof typeof presets;

/**
 * A new room.
 * @param priority its place in the order of the rooms.
 */
export const draftOf = (name: string, preset: Preset, priority: number): RoomDraft => ({
  name,
  module_config: structuredClone([...presets[preset]]),
  sorting_priority: priority,
});

/** Whether two values of JSON say the same; the order of keys does not matter. */
export function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || !a || !b) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a).filter((key) => valueIn(a, key) !== undefined);
  const others = Object.keys(b).filter((key) => valueIn(b, key) !== undefined);
  return (
    keys.length === others.length && keys.every((key) => isSame(valueIn(a, key), valueIn(b, key)))
  );
}

const valueIn = (of: object, key: string): unknown =>
  Object.hasOwn(of, key) ? (of as Record<string, unknown>)[key] : undefined;

/** A value of JSON, for people to read. */
export const jsonText = (value: unknown): string => JSON.stringify(value, null, 2);
