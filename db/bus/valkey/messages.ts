import { received } from "../event-shapes.js";
import type { AnyEvent } from "../events.js";

/** What a message is for. */
type Kind =
  /** It has events. */
  | "events"
  /** The process lives. */
  | "alive"
  /** The process has begun to listen, and asks the others to say that they live. */
  | "hello"
  /** The process ends. */
  | "bye";

/** What processes send each other through Valkey. */
export interface Message {
  process: string;
  kind: Kind;
  /**
   * The messages with events of a process are numbered from 1. Another message has the
   * number of the last one before it.
   */
  number: number;
  /** The events as a JSON array; of another message, what its process tells it by, or nothing. */
  events: string;
}

const KINDS: ReadonlySet<string> = new Set<Kind>([
  "events",
  "alive",
  "hello",
  "bye",
]);

/** A message as text. What it is about comes first, so that nobody parses their own events. */
export const textOf = ({ process, kind, number, events }: Message): string =>
  `${process} ${kind} ${number} ${events}`;

const HEAD = /^([\w-]{1,100}) (\w{1,10}) (\d{1,15}) /;

/** The longest message, in characters. Those of Foyer have a sixteenth of it. */
const MAX_MESSAGE = 16 * 1024 * 1024;

/** @returns undefined for what no process of Foyer has sent. */
export function messageOf(text: string): Message | undefined {
  if (text.length > MAX_MESSAGE) return undefined;
  const [head, process, kind, number] = HEAD.exec(text) ?? [];
  if (!head || !process || !kind || !KINDS.has(kind)) return undefined;
  const events = text.slice(head.length);
  return { process, kind: kind as Kind, number: Number(number), events };
}

/**
 * The events of a message that can be read. Those whose type this Foyer does not know are left
 * out, as are those about processes, which each process notices itself.
 * @returns also whether the message had nothing else.
 */
export function eventsOf({ events: text }: Message): {
  events: AnyEvent[];
  isWhole: boolean;
} {
  const events: AnyEvent[] = [];
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    parsed = undefined;
  }
  let isWhole = Array.isArray(parsed);
  for (const value of Array.isArray(parsed) ? (parsed as unknown[]) : []) {
    const event = received(value);
    if (event === "malformed") isWhole = false;
    else if (event !== "unknown" && event.type !== "process.ended") {
      events.push(event);
    }
  }
  return { events, isWhole };
}
