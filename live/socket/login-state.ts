import type { Identity } from "../../plugins/auth/identity.js";
import type { ModerationState } from "../../db/contract/store.js";
import type { Bearer } from "../rules/rights.js";
import type { Losses, SentState } from "../rules/sent-state.js";
import type { View } from "../rules/world-state.js";
import type { TokenBucket } from "./pace.js";

/** A connection's login. Its rights follow from the token used for this login, not from the user's latest token. */
export interface Login extends Bearer {
  readonly identity: Identity;
  readonly user: string;
  /** The user's moderation state, as last read from the store. */
  state: ModerationState;
  /** Whether the client asked at login to receive changes to the world instead of whole states. */
  readonly changes: boolean;
  /** The kinds of polls that the client can show; undefined if the client named none. */
  readonly pollKinds?: ReadonlySet<string> | undefined;
  /** The user's latest view of the world. */
  view?: View;
  /**
   * Rights that the user has lost since the client last received a world state, even if these
   * rights have been restored.
   */
  losses?: Losses | undefined;
  /** The last world state that the client received, if the client requested changes at login. */
  sentState?: SentState;
  /** The view on which the client's latest channel list is based. */
  listed?: View;
  /** Rate limit for world states, in bytes per second. */
  states?: TokenBucket;
}
