import { randomUUID } from "node:crypto";
import type { Json } from "../live/client.js";
import type { Kind } from "./kit.js";

/** A command of either module. */
interface Command {
  action: string;
  kind: Kind;
  /** The right that it asks for. */
  key: string;
  /** Whether it asks for an active module. */
  needsModule: boolean;
  /** What it needs beside a room and an id. */
  payload: Json;
  /** Whether it names a question or a poll. */
  hasId: boolean;
  /** The answer when everything is right but the id is unknown. */
  passes: string;
}

const command = (
  action: string,
  key: string,
  needsModule: boolean,
  hasId: boolean,
  payload: Json = {},
): Command => {
  const kind = action.split(".", 1)[0] as Kind;
  return {
    action,
    kind,
    key: `${kind}.${key}`,
    needsModule,
    hasId,
    payload: hasId ? { id: randomUUID(), ...payload } : payload,
    passes: hasId ? `${kind}.unknown` : "ok",
  };
};

/** The tables of sections 9 and 10. */
export const commands: Command[] = [
  command("question.ask", "ask", true, false, { content: "Why?" }),
  command("question.update", "moderate", true, true, { answered: true }),
  command("question.delete", "moderate", true, true),
  command("question.vote", "vote", true, true),
  command("question.list", "read", false, false),
  command("question.pin", "moderate", false, true),
  command("question.unpin", "moderate", false, false),
  command("poll.create", "manage", true, false, { content: "Which?" }),
  command("poll.update", "manage", true, true, { content: "Which?" }),
  command("poll.delete", "manage", true, true),
  command("poll.vote", "vote", true, true, { options: [] }),
  command("poll.list", "read", true, false),
  command("poll.pin", "manage", false, true),
  command("poll.unpin", "manage", false, false),
];
