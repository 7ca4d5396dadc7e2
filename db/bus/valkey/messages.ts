import { received, type Sent } from "../shapes.js";
import { whole } from "./short-hints.js";

/** The purpose of an envelope. */
type Kind =
  /** It has messages. */
  | "messages"
  /** The process lives. */
  | "alive"
  /** The process ends. */
  | "bye";

/** The unit that one process sends through one channel of Valkey. */
export interface Envelope {
  process: string;
  kind: Kind;
  /** The messages as a JSON array; empty for other kinds. */
  body: string;
}

const KINDS: ReadonlySet<string> = new Set<Kind>(["messages", "alive", "bye"]);

/** An envelope as text. The process comes first, so that no process parses its own messages. */
export const textOf = ({ process, kind, body }: Envelope): string => `${process} ${kind} ${body}`;

const HEAD = /^([\w-]{1,100}) (\w{1,10}) /;

/** The longest text, in characters. Foyer's own texts have at most half as many. */
const MAX_TEXT = 16 * 1024 * 1024;

/** @returns undefined for a text that no process of Foyer has sent. */
export function envelopeOf(text: string): Envelope | undefined {
  if (text.length > MAX_TEXT) return undefined;
  const [head, process, kind] = HEAD.exec(text) ?? [];
  if (!head || !process || !kind || !KINDS.has(kind)) return undefined;
  return { process, kind: kind as Kind, body: text.slice(head.length) };
}

/**
 * The messages in an envelope, without any that no process of this Foyer sends there.
 * @param world of the channel; undefined for the channel of all processes.
 */
export function messagesOf({ body }: Envelope, world: string | undefined): Sent[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return [];
  }
  if (!Array.isArray(parsed)) return [];
  return parsed
    .flatMap((each) => received(whole(each)))
    .filter((message) => message.world === world);
}
