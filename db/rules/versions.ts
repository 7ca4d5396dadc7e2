import { hash } from "node:crypto";
import type { Versioned } from "../contract/selections.js";

/** The length of a version in base64url characters: 132 bits of a SHA-256. */
const LENGTH = 22;

/**
 * Creates a record whose version is its ETag. The value, the JSON and the version are computed
 * lazily: while many records are being written, most records are replaced before they are sent or
 * their values are read.
 * @param toValue returns the value, which must be frozen.
 * @param toJson returns the value as compact JSON, which must be the same with every engine.
 * @param state a number on which the version also depends. For a record, it is the revision, so
 * that reverting a change results in a new version. For a page, it is the count, which the JSON
 * does not contain.
 */
export const versioned = <T extends object>(
  toValue: () => T,
  toJson: () => string,
  state: number,
): Versioned<T> => new VersionedValue(toValue, toJson, state);

class VersionedValue<T extends object> implements Versioned<T> {
  readonly #toValue: () => T;
  readonly #toJson: () => string;
  readonly #state: number;
  #value: T | undefined;
  #json: string | undefined;
  #version: string | undefined;

  constructor(toValue: () => T, toJson: () => string, state: number) {
    this.#toValue = toValue;
    this.#toJson = toJson;
    this.#state = state;
    Object.freeze(this);
  }

  get value(): T {
    return (this.#value ??= this.#toValue());
  }

  get json(): string {
    return (this.#json ??= this.#toJson());
  }

  get version(): string {
    return (this.#version ??= digest(`${this.#state} ${this.json}`));
  }
}

const digest = (text: string) => hash("sha256", text, "base64url").slice(0, LENGTH);

/** Deeply freezes a value. */
export function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  Object.values(value).forEach(frozen);
  return Object.freeze(value);
}
