import type { SentEvent } from "../../../client/index.js";
import type { Named } from "../../lib/avatars.js";
import type { ChatStore } from "../../state/chat.js";

/** What needs a confirmation. */
export type Question = "delete" | "silence" | "ban";

/** What the messages of a chat offer. */
export interface ChatActions {
  readonly chat: ChatStore;
  readonly mayReact: boolean;
  /** Whom to offer first as a mention. */
  readonly near: () => readonly Named[];
  may(event: SentEvent): { edit: boolean; delete: boolean; manage: boolean };
  edit(event: SentEvent): void;
  endEdit(): void;
  ask(question: Question, event: SentEvent): void;
  react(event: SentEvent, emoji: string): void;
  /** Lets the user choose a reaction. */
  choose(event: SentEvent, anchor: HTMLElement): void;
  showProfile(user: string): void;
}
