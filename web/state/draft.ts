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

/** Where a draft comes from, and goes to. */
export interface Source {
  read(): Promise<Snapshot>;
  /**
   * Writes if the version is still the present one.
   * @param changed the names of the values that differ from that version.
   * @throws {Conflict} or a {@link FoyerError} with the status 412 if it is not.
   */
  write(
    values: Values,
    changed: readonly string[],
    version: string,
  ): Promise<Snapshot>;
}

/** Somebody else has changed what was to be written. */
export class Conflict extends Error {}

export interface DraftState {
  /** What is shown, with what is not saved yet; undefined until it is loaded. */
  readonly values: Values | undefined;
  /** The names of what is not saved. */
  readonly unsaved: readonly string[];
  readonly isSaving: boolean;
  /** Why it could not be loaded or saved. */
  readonly problem: string | undefined;
  /** What the server says of single values. */
  readonly faults: Readonly<Record<string, readonly string[]>>;
  /** What somebody else has saved meanwhile. */
  readonly theirs: Snapshot | undefined;
}

/** Whether two values are the same as JSON. */
export const same = (a: unknown, b: unknown): boolean =>
  JSON.stringify(a) === JSON.stringify(b);

/** The names under which two sets of values differ. */
export const differing = (a: Values, b: Values): string[] =>
  [...new Set([...Object.keys(a), ...Object.keys(b)])].filter(
    (name) => !same(a[name], b[name]),
  );

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
  /** What the server has, as far as is known. */
  #base: Snapshot | undefined;

  /** @param known what is already loaded. */
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

  /** Loads the present values. What is not saved is lost. */
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
      // It is shown as it was; the next save says what is wrong.
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

  /** Forgets what is not saved. */
  discard(): void {
    if (this.#base) this.#rebase(this.#base, {});
  }

  /** Saves. @returns whether it is saved; otherwise, the state says why not. */
  async save(): Promise<boolean> {
    return this.#save(true);
  }

  /** Shows what somebody else has saved, and forgets what is not saved. */
  takeTheirs(): void {
    const { theirs } = this.now;
    if (theirs) this.#rebase(theirs, {});
  }

  /** Keeps what is not saved, as changes to what somebody else has saved. */
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
      // What was typed while it was saved stays.
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

/** What is wrong with a value, in the words of the server. */
export const faultsIn = (
  faults: DraftState["faults"],
  name: string,
): string | undefined =>
  Object.entries(faults)
    .filter(([path]) => isWithin(path, name))
    .flatMap(([, messages]) => messages)
    .join(" ") || undefined;

const isWithin = (path: string, name: string) =>
  path === name || path.startsWith(`${name}.`);

const isConflict = (error: unknown) =>
  error instanceof Conflict ||
  (error instanceof FoyerError && error.status === 412);

function faultsOf(error: unknown): Pick<DraftState, "problem" | "faults"> {
  const fields =
    error instanceof FoyerError
      ? error.fields
      : error instanceof LiveError
        ? (error.details ?? {})
        : {};
  return { problem: messageOf(error), faults: fields };
}
