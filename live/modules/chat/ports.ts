import type { ChatEventType, ChatStore } from "../../../db/contract/chat.js";
import type { UserStore } from "../../../db/contract/store.js";
import type { Clock } from "../../../db/log/clock.js";
import type { Rates } from "../../people/rates.js";
import type { Channels } from "./channels.js";
import type { PageCache } from "./page-cache.js";
import type { ReadStates } from "./unread/index.js";

/** The ports of the commands of the chat. */
export interface ChatPorts {
  readonly clock: Clock;
  readonly limits: { readonly maxText: number };
  readonly store: { readonly chat: ChatStore; readonly users: UserStore };
  readonly rates: Rates;
  readonly channels: Channels;
  readonly readStates: ReadStates;
  readonly pages: PageCache;
  /** There is a new event of a channel, made by this process. */
  readonly chatted: (type: ChatEventType) => void;
  /** There is a new message in a world, made by this process. */
  readonly counted: (world: string) => void;
}
