import type { Transaction } from "./transaction.js";

/** Some methods of a part of the store, as functions of a transaction that do not wait. */
export type Sync<S> = {
  [M in keyof S]?: S[M] extends (...args: infer A) => Promise<infer R>
    ? (tx: Transaction, ...args: A) => R
    : never;
};
