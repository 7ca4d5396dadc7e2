import type { ChatEvent } from "../../db/chat.js";
import type { PublicUser, SentEvent } from "../../schemas/live/index.js";
import { nobody } from "./users.js";

/**
 * An event as clients get it. A member event shows the user as they are now.
 * @param userOf finds the public form of a user, without what only administrators see.
 */
export function sentEvent(
  event: ChatEvent,
  userOf: (id: string) => PublicUser | undefined,
): SentEvent {
  const { id, channel, sender, timestamp, type, content, edited } = event;
  return {
    event_id: id,
    channel,
    sender,
    timestamp: new Date(timestamp).toISOString(),
    event_type: type,
    content:
      type === "channel.member" && sender !== null
        ? { ...content, user: userOf(sender) ?? nobody(sender) }
        : content,
    edited: edited === null ? null : new Date(edited).toISOString(),
    replaces: event.replaces,
    reactions: event.reactions as SentEvent["reactions"],
  };
}
