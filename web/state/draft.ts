import { get, writable, type Readable } from "svelte/store";
import { FoyerError, LiveError } from "../../client/index.js";
import { messageOf } from "./session.js";

/** Values by name. A name without a value is the same as no name. */
export type Values = Readonly<Record<string, unknown>>;

/** The values of something on the server, and the version that they are of. */
export interface Snapshot {
  readonly values: Values;
  readonly version: string;
}

/** Loads and saves the values of a draft. */
export interface Source {
  read(): Promise<Snapshot>;
  /**
   * Writes if the version is still the present one.
   * @param changed the names of the values that differ from that version.
   * @throws {Conflict} or a {@link FoyerError} with the status 412 if it is not.
   */
  write(values: Values, changed: readonly string[], version: string): Promise<Snapshot>;
}

/** Another user has changed the values that were to be written. */
export class Conflict extends Error {}

export interface DraftState {
  /** The shown values, with unsaved changes; undefined until they are loaded. */
  readonly values: Values | undefined;
  /** The names of unsaved values. */
  readonly unsaved: readonly string[];
  readonly isSaving: boolean;
  /** Why it could not be loaded or saved. */
  readonly problem: string | undefined;
  /** The server's messages on single values. */
  readonly faults: Readonly<Record<string, readonly string[]>>;
  /** The values that another user has saved meanwhile. */
  readonly theirs: Snapshot | undefined;
}

/** Whether two values are the same as JSON. */
export const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** The names under which two sets of values differ. */
export const differing = (a: Values, b: Values): string[] =>
  [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((name) => !same(a[name], b[name]));

/** Changes that are not saved yet, to something that others may change as well. */
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
  /** The last known values of the server. */
  #base: Snapshot | undefined;

  /** @param known the values that are already loaded. */
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

  /** Loads the present values. Unsaved changes are lost. */
  async load(): Promise<void> {
    try {
      this.#rebase(await this.#source.read(), {});
    } catch (error) {
      this.#patch({ problem: messageOf(error) });
    }
  }

  /** Loads the present values, unless something is unsaved. */
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

  /** Changes a value. Undefined removes it. */
  set(name: string, value: unknown): void {
    this.replace({ ...this.now.values, [name]: value });
  }

  /** Changes all values. */
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

  /** Saves. @returns whether it is saved; otherwise, the state has the reason. */
  async save(): Promise<boolean> {
    return this.#save(true);
  }

  /** Shows the values that another user has saved, and drops unsaved changes. */
  takeTheirs(): void {
    const { theirs } = this.now;
    if (theirs) this.#rebase(theirs, {});
  }

  /** Keeps unsaved changes, based on the values that another user has saved. */
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
      // Text typed during the save stays.
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
      // They changed something that is not shown here, and that is not written.
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

/** The faults of a value, in the words of the server. */
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
