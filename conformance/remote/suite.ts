import type { Row } from "../row.js";
import { rows } from "../rows/index.js";
import { verify } from "../verify.js";
import { RemoteSite, type Target } from "./site.js";

/** How a row ended. */
export interface Outcome {
  name: string;
  status: "passed" | "failed" | "skipped";
  /** The expected frames, and the received ones. */
  faults?: readonly string[];
  /** Why it was skipped. */
  reason?: string;
  milliseconds: number;
}

/** The totals of a run. */
export interface Cost {
  connections: number;
  requests: number;
}

/** The rows whose names begin with one of the texts; all rows without a text. */
export function rowsNamed(
  beginnings: readonly string[] = [""],
): readonly [string, Row][] {
  return Object.entries(rows).filter(([name]) =>
    beginnings.some((beginning) => name.startsWith(beginning)),
  );
}

/** A run of the suite on a server. */
export class Suite {
  readonly #site: RemoteSite;

  constructor(target: Target) {
    this.#site = new RemoteSite(target);
  }

  get cost(): Cost {
    const { connections, requests } = this.#site.traffic;
    return { connections, requests };
  }

  /**
   * Reads the worlds, and changes nothing.
   * @throws {Failure} if the server cannot be reached, or the worlds cannot be used.
   */
  open(): Promise<void> {
    return this.#site.open();
  }

  /**
   * Deletes the remains of a killed run. Only after `open`.
   * @throws {Failure} if the key may not change the world.
   */
  start(): Promise<void> {
    return this.#site.start();
  }

  /**
   * Runs a row. Only after `start`.
   * @throws {Failure} if the run cannot go on.
   */
  async run(name: string, row: Row): Promise<Outcome> {
    if (row.inside !== undefined) {
      const reason = `only the harness of Foyer can run it: ${row.inside}`;
      return { name, status: "skipped", reason, milliseconds: 0 };
    }
    const began = Date.now();
    const faults = await this.#faultsOf(name, row);
    this.#site.traffic.check();
    const milliseconds = Date.now() - began;
    if (faults.length === 0) return { name, status: "passed", milliseconds };
    return { name, status: "failed", faults, milliseconds };
  }

  async #faultsOf(name: string, row: Row): Promise<string[]> {
    const stage = this.#site.stage(row.as ?? "member");
    const faults = await verify(this.#site, stage, name, row);
    try {
      await stage.clear();
    } catch (error) {
      faults.push(`cleaning up: ${(error as Error).message}`);
    }
    return [...faults, ...this.#site.takeFaults()];
  }

  /**
   * Cleans up, and gives the world its settings back. Only after `open`.
   * @throws {Failure} if the world could not be restored.
   */
  close(): Promise<void> {
    return this.#site.close();
  }
}
