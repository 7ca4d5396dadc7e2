/**
 * A record and its version. db/rules/versions.ts computes the version from the values
 * that a reader sees and from the revision, which counts the changes of the
 * record from 1. So equal versions mean equal values, on every server and every
 * engine, and a change followed by its reversal gives a third version. Nothing
 * else identifies a state: the same record read twice may be two objects. The
 * value is frozen with all that it holds, as readers share it.
 */
export interface Versioned<T> {
  readonly value: T;
  /** Of characters that an ETag may hold: no quotation mark and no comma. */
  readonly version: string;
  /**
   * The value as compact JSON, its properties in the order of their schema. An
   * engine that keeps JSON need not parse it to give this, so a caller that only
   * sends a record never pays for the objects in it.
   */
  readonly json: string;
}
