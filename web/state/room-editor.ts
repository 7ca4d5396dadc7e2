import {
  type Commands,
  type Foyer,
  FoyerError,
  type Live,
  type RoomDraft,
} from "../../client/index.js";
import type { PermissionConfig } from "../../schemas/plain/permissions.js";
import { roomOf, type RoomTemplate, roomTemplates } from "../../schemas/plain/templates.js";
import { t } from "../i18n/index.js";
import { messageOf } from "./session.js";

/** A module, as stored. */
export type Module = Record<string, unknown> & { type: string };

/** A room's editable values. */
export interface RoomValues {
  name: string;
  description: string;
  module_config: Module[];
  permission_config: PermissionConfig;
  sorting_priority: number;
  picture: string | null;
  force_join: boolean;
  /** The current schedule data, or null if there is none. */
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

/** The form's sections, each with its fields. */
export const parts = {
  basics: ["name", "description"],
  modules: ["module_config"],
  rules: ["permission_config"],
  more: ["picture", "schedule_data", "sorting_priority", "force_join"],
} as const satisfies Record<string, readonly Field[]>;

export type Part = keyof typeof parts;

/** Error messages about submitted values, by dotted path. */
export type Problems = Readonly<Record<string, readonly string[]>>;

/** Outcome of a save. */
export type Outcome =
  | { readonly is: "saved"; readonly values: RoomValues }
  /** Another user changed the room first; nothing was written. */
  | { readonly is: "changed" }
  | { readonly is: "invalid"; readonly problems: Problems };

/** A field that differs between two versions of a room, as text. */
interface Difference {
  readonly field: Field;
  readonly theirs: string;
  readonly mine: string;
}

/** Maximum number of attempts if a room changes during a read. */
const TRIES = 5;

/** Edits one room, and never overwrites another user's changes. */
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

  /** The last loaded or saved values, or undefined before the first load. */
  get values(): RoomValues | undefined {
    return this.#base?.values;
  }

  /** Loads the room. Subsequent writes are based on the loaded version. */
  async load(): Promise<RoomValues> {
    this.#base = await this.#read();
    return this.#base.values;
  }

  /** Reads the current room. Writes are still based on the loaded version. */
  async theirs(): Promise<RoomValues> {
    return (await this.#read()).values;
  }

  /**
   * Rebases subsequent writes onto the current room.
   * @param values the form's values.
   * @returns the user's changes, applied to the current room.
   */
  async keep(values: RoomValues): Promise<RoomValues> {
    const before = this.#base!.values;
    return merged(values, before, await this.load());
  }

  /** Whether another user changed the room since it was loaded. */
  async isChanged(): Promise<boolean> {
    const base = this.#base;
    const { etag } = await this.#api.getRoom(this.id);
    // A response from before the user's own save reveals nothing about other users' changes.
    return this.#base === base && etag !== base?.etag;
  }

  /** Writes either all changes to the loaded values or none of them. */
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
   * @returns true if the room was deleted, or false if another user has changed it.
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

  /**
   * Reads the room. The HTTP API provides the version, and the live connection provides the values,
   * so the room must not change between the two reads.
   */
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

/** Returns the messages about submitted values, or undefined if the error is not about such values. */
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

/** Returns a field's value for comparisons. A missing `config` is equivalent to an empty `config`. */
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

/** Whether two versions differ in any editable field. */
export const isEdited = (before: RoomValues, after: RoomValues): boolean =>
  fields.some((field) => !agrees(field, before, after));

/** Returns the fields that differ between two versions. */
export const differences = (theirs: RoomValues, mine: RoomValues): Difference[] =>
  fields
    .filter((field) => !agrees(field, theirs, mine))
    .map((field) => ({ field, theirs: textOf(theirs[field]), mine: textOf(mine[field]) }));

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : value === null ? "" : jsonText(value);

/** Returns new values by form section, only for the sections that show different values. */
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
 * Merges a server response into a form: fields edited since the request are kept, and all other
 * fields are replaced.
 * @param sent the form's values at the time of the request.
 * @param open fields whose text is not in the values, because the text is not valid JSON yet.
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

/** Returns the messages about a field and its contents. A message about contents starts with the rest of the path. */
export const problemsAt = (problems: Problems, path: string): string[] =>
  Object.entries(problems).flatMap(([field, messages]) => {
    if (field === path) return [...messages];
    if (!field.startsWith(`${path}.`)) return [];
    const rest = field.slice(path.length + 1);
    return messages.map((message) => `${rest}: ${message}`);
  });

/** The options for a new room: a template, or a custom set of modules. */
export const roomKinds = [...roomTemplates, "video", "website", "empty"] as const;
export type RoomKind = (typeof roomKinds)[number];

const isTemplate = (kind: RoomKind): kind is RoomTemplate =>
  roomTemplates.some((template) => template === kind);

const otherModules: Record<Exclude<RoomKind, RoomTemplate>, Module[]> = {
  video: [
    { type: "livestream.youtube", config: { ytid: "" } },
    { type: "chat.native", config: { volatile: true } },
  ],
  website: [{ type: "page.iframe", config: { url: "" } }],
  empty: [],
};

/**
 * Returns a new room's draft.
 * @param priority the room's sort position.
 */
export const draftOf = (name: string, kind: RoomKind, priority: number): RoomDraft => ({
  name,
  module_config: isTemplate(kind)
    ? roomOf(kind, name).module_config
    : structuredClone(otherModules[kind]),
  sorting_priority: priority,
});

/**
 * Returns a room's modules after a template was applied: existing modules keep their settings and
 * their order, and missing modules are appended.
 * @param isExact whether to remove modules that the template lacks.
 */
export function withTemplate(
  modules: readonly Module[],
  template: RoomTemplate,
  isExact: boolean,
): Module[] {
  const wanted: readonly Module[] = roomOf(template, "").module_config;
  const isWanted = ({ type }: Module) => wanted.some((it) => it.type === type);
  const missing = wanted.filter(({ type }) => !modules.some((it) => it.type === type));
  return [...(isExact ? modules.filter(isWanted) : modules), ...missing];
}

/**
 * Changes several rooms, one after another. Keeps changes that others make in the meantime.
 * @returns the reasons why rooms could not be changed, by room.
 */
export async function changeRooms(
  access: ConstructorParameters<typeof RoomEditor>[0],
  ids: Iterable<string>,
  change: (values: RoomValues) => Partial<RoomValues>,
): Promise<Map<string, string>> {
  const failures = new Map<string, string>();
  for (const id of ids) {
    const editor = new RoomEditor(access, id);
    try {
      let outcome: Outcome | undefined;
      for (let tries = 0; tries < TRIES && (outcome?.is ?? "changed") === "changed"; tries++) {
        const values = await editor.load();
        const wanted = { ...values, ...change(values) };
        outcome = isEdited(values, wanted) ? await editor.save(wanted) : { is: "saved", values };
      }
      if (outcome?.is === "invalid") failures.set(id, Object.values(outcome.problems).join(" "));
      if (outcome?.is === "changed") failures.set(id, t("rooms.changed"));
    } catch (error) {
      failures.set(id, messageOf(error));
    }
  }
  return failures;
}

/** Whether two JSON values are equal, regardless of the order of keys. */
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

/** Formats a JSON value for display. */
export const jsonText = (value: unknown): string => JSON.stringify(value, null, 2);
