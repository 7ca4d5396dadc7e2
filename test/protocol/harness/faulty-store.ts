import { AsyncLocalStorage } from "node:async_hooks";
import { type Store, StoreError } from "../../../db/contract/store.js";

/**
 * How a call fails: `doubtful` after the write was committed, and `lost` before it; the caller
 * cannot distinguish the two.
 */
export const kinds = ["busy", "throw", "doubtful", "unusable", "lost"] as const;
export type Kind = (typeof kinds)[number];

const READS = [
  "get",
  "at",
  "list",
  "issuing",
  "export",
  "all",
  "find",
  "getMany",
  "byPretalx",
  "search",
  "blocked",
  "has",
  "keys",
  "size",
  "heads",
  "lastId",
  "channel",
  "events",
  "sent",
  "event",
  "deliveries",
  "since",
  "isMember",
  "standing",
  "takenUids",
  "byUser",
  "byEmail",
  "members",
  "memberships",
  "unread",
  "seen",
  "ofUser",
  "ballots",
  "voters",
];

interface Plan {
  /** The number of calls that still succeed before one fails. */
  left: number;
  kind: Kind;
  /** The only method whose calls count; defaults to all. */
  only?: string | undefined;
  failed?: string;
  /** The counted calls, up to the failed one. */
  readonly calls: string[];
}

type Method = (...args: unknown[]) => Promise<unknown>;

/** Makes one call of a store fail, chosen by its world and number. */
export class Faults {
  readonly #plans = new Map<string, Plan>();
  readonly #exempt = new AsyncLocalStorage<true>();

  /** Runs the test's own calls, none of which fail. */
  exempt<T>(act: () => Promise<T>): Promise<T> {
    return this.#exempt.run(true, act);
  }

  /**
   * Makes the n-th call for a world from now on fail, counted from 0.
   * @param world `*` stands for calls that concern all worlds.
   * @param only the method whose calls count, such as `rooms.get`.
   */
  arm(world: string, n: number, kind: Kind, only?: string): void {
    this.#plans.set(world, { left: n, kind, only, calls: [] });
  }

  /** Returns whether the planned call has failed. */
  hasFailed(world: string): boolean {
    return this.#plans.get(world)?.failed !== undefined;
  }

  /**
   * Cancels the plan for a world.
   * @returns the counted calls, and the one that failed; `failed` is undefined if none did.
   */
  disarm(world: string): Pick<Plan, "failed" | "calls"> {
    const { failed, calls = [] } = this.#plans.get(world) ?? {};
    this.#plans.delete(world);
    return { calls, ...(failed !== undefined && { failed }) };
  }

  /** Wraps a store so that its calls fail as planned. */
  wrap(store: Store): Store {
    const parts = Object.entries(store).map(([name, part]) =>
      typeof part === "object"
        ? [name, this.#part(name, part as Record<string, Method>)]
        : [name, part],
    );
    return Object.fromEntries(parts) as Store;
  }

  #part(name: string, part: Record<string, Method>): Record<string, Method> {
    const methods = Object.entries(part).map(([method, call]) => [
      method,
      (...args: unknown[]) => this.#call(`${name}.${method}`, worldsOf(args), () => call(...args)),
    ]);
    return Object.fromEntries(methods) as Record<string, Method>;
  }

  async #call(
    name: string,
    worlds: readonly string[],
    call: () => Promise<unknown>,
  ): Promise<unknown> {
    const isPlanned = (world: string) => this.#plans.get(world)?.failed === undefined;
    const known = worlds.filter((world) => this.#plans.has(world));
    const world = known.find(isPlanned) ?? known[0] ?? "*";
    const plan = this.#plans.get(world);
    const isSpared =
      !plan || plan.failed !== undefined || (plan.only ?? name) !== name || this.#exempt.getStore();
    if (isSpared) return call();
    plan.calls.push(name);
    if (plan.left-- > 0) return call();
    plan.failed = name;
    const isWrite = !READS.includes(name.split(".")[1]!);
    if (plan.kind === "doubtful" && isWrite) await call();
    throw errorOf(plan.kind, isWrite);
  }
}

/** Returns the worlds that a call concerns; empty if it concerns all. */
function worldsOf([first]: unknown[]): string[] {
  if (typeof first === "string") return [first];
  const marks = Array.isArray(first) ? (first as { world: string }[]) : [];
  return marks.map(({ world }) => world);
}

function errorOf(kind: Kind, isWrite: boolean): Error {
  if (kind === "throw") return new Error("A fault of the test.");
  const isInDoubt = kind === "doubtful" || kind === "lost";
  const problem = isInDoubt ? (isWrite ? "doubtful" : "busy") : kind;
  return new StoreError(problem, "A fault of the test.");
}
