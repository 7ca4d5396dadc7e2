import type { Role } from "./cast.js";
import type { Client } from "./client.js";
import type { Stage } from "./stage.js";

/** A server, or the nodes of one, on which rows run. */
export interface Site {
  /** Whether `settled` knows that everything was sent, and does not just wait for a while. */
  readonly isCertain: boolean;
  /** Makes the stage of a row; its world has nothing in it yet. */
  stage(role: Role): Stage;
  /**
   * Opens a websocket to a world.
   * @param turn the nodes take turns.
   */
  connect(world: string, turn: number): Promise<Client>;
  /** Waits until clients have got the pushes about everything that happened before and at their logins. */
  gathered(stage: Stage, clients: readonly Client[]): Promise<void>;
  /** Waits until clients have got the pushes about everything that happened. */
  settled(stage: Stage, clients: readonly Client[]): Promise<void>;
}
