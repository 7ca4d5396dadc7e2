import { hash } from "node:crypto";
import type { Versioned } from "../contract/selections.js";

/** The length of a version in characters of base64url: 132 bits of a SHA-256. */
const LENGTH = 22;

/**
 * Makes a record. Its value, its JSON and its version are computed at their first use: most
 * records that are read while others are written are never sent, and in a crowd of writes
 * most are replaced before anything reads their values.
 * @param toValue gives the value, which is frozen.
 * @param toJson gives the value as compact JSON, the same on every engine.
 * @param state a number that the version also depends on. For a record it is the
 *   revision: a change and its reversal then give a new version. For a page it is
 *   the count, which the JSON does not contain.
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

/** Freezes a value with all that it holds. */
export function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  Object.values(value).forEach(frozen);
  return Object.freeze(value);
}
