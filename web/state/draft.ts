import { get, writable, type Readable } from "svelte/store";
import { FoyerError, LiveError } from "../../client/index.js";
import { messageOf } from "./session.js";

/** Values by name. An undefined value is equivalent to a missing value. */
export type Values = Readonly<Record<string, unknown>>;

/** Values stored on the server, and their version. */
export interface Snapshot {
  readonly values: Values;
  readonly version: string;
}

/** Loads and saves a draft's values. */
export interface Source {
  read(): Promise<Snapshot>;
  /**
   * Writes the values if the version is still current.
   * @param changed the names of the values that differ from that version.
   * @throws {Conflict} or a {@link FoyerError} with status 412 if the version is no longer current.
   */
  write(values: Values, changed: readonly string[], version: string): Promise<Snapshot>;
}

/** Thrown if another user has changed the values to be written. */
export class Conflict extends Error {}

export interface DraftState {
  /** The displayed values, including unsaved changes; undefined until they are loaded. */
  readonly values: Values | undefined;
  /** The names of unsaved values. */
  readonly unsaved: readonly string[];
  readonly isSaving: boolean;
  /** The error of the last load or save, if any. */
  readonly problem: string | undefined;
  /** The server's messages about individual values. */
  readonly faults: Readonly<Record<string, readonly string[]>>;
  /** Conflicting values that another user has saved. */
  readonly theirs: Snapshot | undefined;
}

/** Whether two values are equal as JSON. */
export const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Returns the names whose values differ. */
export const differing = (a: Values, b: Values): string[] =>
  [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((name) => !same(a[name], b[name]));

/** Unsaved changes to values that other users may change as well. */
export class Draft implements Readable<DraftState> {
  readonly #source: Source;
  readonly #state = writable<DraftState>({
    values: undefined,
    unsaved: [],
    isSaving: false,
    problem: undefined,
    faults: {},
    theirs: undefined,
  });
  readonly subscribe = this.#state.subscribe;
  /** The server's last known values. */
  #base: Snapshot | undefined;

  /** @param known values that are already loaded. */
  constructor(source: Source, known?: Snapshot) {
    this.#source = source;
    if (known) this.#rebase(known, {});
  }

  get now(): DraftState {
    return get(this.#state);
  }

  /** The saved values; undefined until they are loaded. */
  get saved(): Values | undefined {
    return this.#base?.values;
  }

  /** Loads the current values, discarding unsaved changes. */
  async load(): Promise<void> {
    try {
      this.#rebase(await this.#source.read(), {});
    } catch (error) {
      this.#patch({ problem: messageOf(error) });
    }
  }

  /** Loads the current values, unless there are unsaved changes. */
  async refresh(): Promise<void> {
    const { unsaved, isSaving, theirs } = this.now;
    if (unsaved.length > 0 || isSaving || theirs) return;
    try {
      const snapshot = await this.#source.read();
      const { unsaved, isSaving } = this.now;
      if (unsaved.length === 0 && !isSaving) this.#rebase(snapshot, {});
    } catch {
      // The old values stay; the next save reports the error.
    }
  }

  /** Sets a value. Undefined removes the value. */
  set(name: string, value: unknown): void {
    this.replace({ ...this.now.values, [name]: value });
  }

  replace(values: Values): void {
    if (!this.#base) return;
    const unsaved = differing(this.#base.values, values);
    const changed = differing(this.now.values ?? {}, values);
    const faults = Object.fromEntries(
      Object.entries(this.now.faults).filter(
        ([path]) => !changed.some((name) => isWithin(path, name)),
      ),
    );
    this.#patch({ values, unsaved, faults });
  }

  /** Drops unsaved changes. */
  discard(): void {
    if (this.#base) this.#rebase(this.#base, {});
  }

  /**
   * Saves the changes.
   * @returns whether the changes were saved. If not, the state contains the reason.
   */
  async save(): Promise<boolean> {
    return this.#save(true);
  }

  /** Discards unsaved changes in favor of the values that another user has saved. */
  takeTheirs(): void {
    const { theirs } = this.now;
    if (theirs) this.#rebase(theirs, {});
  }

  /** Rebases unsaved changes onto the values that another user has saved. */
  keepMine(): void {
    const { theirs } = this.now;
    if (theirs) this.#rebase(theirs, this.#mine());
  }

  #mine(): Values {
    const { values = {}, unsaved } = this.now;
    return Object.fromEntries(unsaved.map((name) => [name, values[name]]));
  }

  async #save(mayRetry: boolean): Promise<boolean> {
    const base = this.#base;
    const { values, unsaved } = this.now;
    if (!base || !values) return false;
    this.#patch({ isSaving: true, problem: undefined, faults: {} });
    try {
      const saved = await this.#source.write(values, unsaved, base.version);
      // Keep text typed during the save.
      const later = differing(values, this.now.values ?? {});
      const typed = later.map((name) => [name, this.now.values?.[name]]);
      this.#rebase(saved, Object.fromEntries(typed) as Values);
      return true;
    } catch (error) {
      if (isConflict(error)) return this.#conflict(base, mayRetry);
      this.#patch({ ...faultsOf(error), isSaving: false });
      return false;
    }
  }

  async #conflict(base: Snapshot, mayRetry: boolean): Promise<boolean> {
    try {
      const theirs = await this.#source.read();
      // The other user's change affects nothing in this draft, so save on top of that change.
      if (mayRetry && differing(base.values, theirs.values).length === 0) {
        this.#base = theirs;
        return await this.#save(false);
      }
      this.#patch({ theirs, isSaving: false });
    } catch (error) {
      this.#patch({ problem: messageOf(error), isSaving: false });
    }
    return false;
  }

  #rebase(base: Snapshot, mine: Values): void {
    this.#base = base;
    const values = { ...base.values, ...mine };
    this.#patch({
      values,
      unsaved: differing(base.values, values),
      isSaving: false,
      problem: undefined,
      faults: {},
      theirs: undefined,
    });
  }

  #patch(changes: Partial<DraftState>): void {
    this.#state.update((state) => ({ ...state, ...changes }));
  }
}

/** Returns the server's messages about a value, or undefined if there are none. */
export const faultsIn = (faults: DraftState["faults"], name: string): string | undefined =>
  Object.entries(faults)
    .filter(([path]) => isWithin(path, name))
    .flatMap(([, messages]) => messages)
    .join(" ") || undefined;

const isWithin = (path: string, name: string) => path === name || path.startsWith(`${name}.`);

const isConflict = (error: unknown) =>
  error instanceof Conflict || (error instanceof FoyerError && error.status === 412);

function faultsOf(error: unknown): Pick<DraftState, "problem" | "faults"> {
  const fields =
    error instanceof FoyerError
      ? error.fields
      : error instanceof LiveError
        ? (error.details ?? {})
        : {};
  return { problem: messageOf(error), faults: fields };
}
