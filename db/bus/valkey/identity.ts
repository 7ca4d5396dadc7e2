import { randomUUID } from "node:crypto";
import type { Client } from "./link.js";

/**
 * Names a Valkey: it is the same for all processes with this key, and another one on
 * another Valkey. It is kept there, and put back if Valkey has lost its data.
 */
export class Identity {
  readonly #key: string;
  #value = "";

  constructor(key: string) {
    this.#key = key;
  }

  /** Empty until the first connection. */
  get value(): string {
    return this.#value;
  }

  /**
   * Reads or sets the identity on the first connection, and restores it on later ones.
   * @throws an error if Valkey does not keep written values, and the errors of the client.
   */
  async meet(client: Client): Promise<void> {
    if (this.#value) {
      // Messages need no writes, so nothing depends on this one.
      await client.set(this.#key, this.#value).catch(() => {});
      return;
    }
    await client.set(this.#key, randomUUID(), { condition: "NX" });
    const value = await client.get(this.#key);
    if (!value) throw new Error("It does not keep written values.");
    this.#value = value;
  }

  /** Puts it back if Valkey has lost it. */
  putBack(client: Client): void {
    client.set(this.#key, this.#value, { condition: "NX" }).catch(() => {});
  }
}
