import type { CommandName } from "../../schemas/live/index.js";
import type { Scope } from "../../schemas/plain/permissions.js";

/** The commands of each kind of scope. All others are refused, whatever right they ask for. */
const commandsOf: Readonly<Record<Scope["kind"], ReadonlySet<CommandName>>> = {
  anonymous: new Set<CommandName>([
    ...(["room.enter", "room.leave", "room.react"] as const),
    ...(["question.list", "question.ask", "question.vote"] as const),
    ...(["poll.list", "poll.vote"] as const),
  ]),
  kiosk: new Set<CommandName>([
    ...(["room.enter", "room.leave", "question.list", "poll.list"] as const),
    ...(["chat.subscribe", "chat.unsubscribe", "chat.fetch"] as const),
    ...(["program.get", "user.fetch", "user.update"] as const),
  ]),
};

/** Whether a user may give a command. @param scope undefined for users without one. */
export const isInReach = (
  scope: Scope | undefined,
  command: CommandName,
): boolean => scope === undefined || commandsOf[scope.kind].has(command);
