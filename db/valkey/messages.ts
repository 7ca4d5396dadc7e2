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

const HEAD = /^(\S+) (\S+) (\d+) /;

/** @returns undefined for what no process of Foyer has sent. */
export function messageOf(text: string): Message | undefined {
  const [head, process, kind, number] = HEAD.exec(text) ?? [];
  if (!head || !process || !kind || !KINDS.has(kind)) return undefined;
  const events = text.slice(head.length);
  return { process, kind: kind as Kind, number: Number(number), events };
}

/** The events of a message; undefined if they cannot be read. */
export function eventsOf({ events }: Message): AnyEvent[] | undefined {
  try {
    const parsed: unknown = JSON.parse(events);
    return Array.isArray(parsed) ? (parsed as AnyEvent[]) : undefined;
  } catch {
    return undefined;
  }
}
