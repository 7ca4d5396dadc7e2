import type { Identity } from "../../plugins/auth/identity.js";
import type { Bearer, ModerationState } from "../rules/rights.js";
import type { Losses, SentState } from "../rules/sent-state.js";
import type { View } from "../rules/world-state.js";
import type { TokenBucket } from "./pace.js";

/** The login of a connection. Its rights follow from its own token, not from the user's last one. */
export interface Login extends Bearer {
  readonly identity: Identity;
  readonly user: string;
  /** As the store had it last. */
  state: ModerationState;
  /** Whether the client asked for changes of the world instead of whole states. */
  readonly changes: boolean;
  /** What the user sees of the world, as it was made last. */
  view?: View;
  /** What the user has lost since the client got a state of the world, even if it is back. */
  losses?: Losses | undefined;
  /** The last state of the world that the client got, if it asked for changes. */
  sentState?: SentState;
  /** The view by which the client's list of channels was made last. */
  listed?: View;
  /** How many bytes the client may get of the states of the world. */
  states?: TokenBucket;
}
