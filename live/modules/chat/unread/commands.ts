import type { Commands } from "../../../../schemas/live/index.js";
import type { ChatPorts } from "../ports.js";
import type { ChannelContext } from "../../../context.js";
import type { CommandTable } from "../../../module.js";
import { invalidPayload, LiveError } from "../../../rules/problems.js";
import { createDirect } from "../direct.js";

/** Read marks, and direct channels. */
export const reading: CommandTable<
  "chat.mark_read" | "chat.direct.create",
  ChatPorts
> = {
  "chat.mark_read": {
    inChannel: "any",
    direct: "all",
    handler: markRead,
  },
  "chat.direct.create": { requires: "chat.direct", handler: createDirect },
};

async function markRead(
  context: ChannelContext<ChatPorts>,
  { id }: Commands["chat.mark_read"]["payload"],
) {
  await context.ports.readStates.mark(context, pointerIn(id));
  return {};
}

/**
 * The id of an event that a payload names.
 * @throws {LiveError}
 */
function pointerIn(id: unknown): number {
  const isDecimal = typeof id === "string" && /^[0-9]{1,16}$/.test(id);
  const pointer = isDecimal ? Number(id) : id;
  if (!pointer)
    throw new LiveError("chat.invalid_body", "Invalid message body.");
  if (!Number.isSafeInteger(pointer) || (pointer as number) < 0) {
    throw invalidPayload({ id: ["Must be the id of an event."] });
  }
  return pointer as number;
}
