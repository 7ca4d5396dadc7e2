import type { ChatEventType, ChatStore } from "../../../db/contract/chat-store.js";
import type { UserStore } from "../../../db/contract/store.js";
import type { Clock } from "../../../db/runtime.js";
import type { Presence } from "../../people/presence.js";
import type { Rates } from "../../people/rates.js";
import type { Channels } from "./channels.js";
import type { PageCache } from "./page-cache.js";
import type { ReadStates } from "./unread/read-states.js";

/** Counts the events of channels that this process made. */
export interface ChatMetrics {
  chatted(type: ChatEventType): void;
}

/** The ports of the commands of the chat. */
export interface ChatPorts {
  readonly clock: Clock;
  readonly limits: { readonly maxText: number };
  readonly store: { readonly chat: ChatStore; readonly users: UserStore };
  readonly rates: Rates;
  readonly presence: Presence;
  readonly channels: Channels;
  readonly readStates: ReadStates;
  readonly pages: PageCache;
  readonly metrics: ChatMetrics | undefined;
  /** Counts the new messages of a world. */
  readonly activity: { count(world: string, what: "messages"): void };
}
