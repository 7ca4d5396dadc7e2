import type { ChatEvent } from "../../../db/contract/chat.js";
import type { PublicUser, SentEvent } from "../../../schemas/live/index.js";
import { Json, type Sendable } from "../../rules/encoding.js";
import { nobody } from "./users.js";

type Content = SentEvent["content"];

/**
 * An event as clients get it. A member event shows the user as they are now.
 * @param userOf finds the public form of a user, without what only administrators see.
 */
export function sentEvent(
  event: ChatEvent,
  userOf: (id: string) => Sendable<PublicUser> | undefined,
): { readonly [K in keyof SentEvent]: Sendable<SentEvent[K]> } {
  const { id, channel, sender, timestamp, type, content, edited } = event;
  return {
    event_id: id,
    channel,
    sender,
    timestamp: new Date(timestamp).toISOString(),
    event_type: type,
    content:
      type === "channel.member" && sender !== null
        ? {
            ...(JSON.parse(content) as Content),
            user: userOf(sender) ?? nobody(sender),
          }
        : new Json<Content>(content),
    edited: edited === null ? null : new Date(edited).toISOString(),
    replaces: event.replaces,
    // There may be a thousand.
    reactions: new Json<SentEvent["reactions"]>(
      JSON.stringify(event.reactions),
    ),
  };
}
