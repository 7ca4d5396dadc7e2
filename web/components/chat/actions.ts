import type { SentEvent } from "../../../client/index.js";
import type { Named } from "../../lib/avatars.js";
import type { ChatStore } from "../../state/chat.js";

/** The actions that need a confirmation. */
export type Question = "delete" | "silence" | "ban";

/** The messages that are selected; undefined while none can be. */
export type Selection = readonly number[] | undefined;

/** The actions of messages. */
export interface ChatActions {
  readonly chat: ChatStore;
  readonly mayReact: boolean;
  readonly mayReply: boolean;
  readonly selection: Selection;
  /** The users to offer first as mentions. */
  readonly near: () => readonly Named[];
  may(event: SentEvent): { edit: boolean; delete: boolean; manage: boolean };
  edit(event: SentEvent): void;
  endEdit(): void;
  reply(event: SentEvent): void;
  copyLink(event: SentEvent): void;
  /** Selects a message, or no longer. */
  select(event: SentEvent): void;
  /** Goes to a message. */
  show(id: number): void;
  ask(question: Question, event: SentEvent): void;
  /** Lets a silenced author write again. */
  reactivate(event: SentEvent): void;
  react(event: SentEvent, emoji: string): void;
  /** Lets the user choose a reaction. */
  choose(event: SentEvent, anchor: HTMLElement): void;
  showProfile(user: string): void;
}
