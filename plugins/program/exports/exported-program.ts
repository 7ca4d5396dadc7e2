import type { EventDates } from "../../../schemas/event-dates.js";
import type { Session, Speaker } from "../../../schemas/program/program.js";

/** A program as visible to a reader, with the names that exports show. */
export interface ExportedProgram {
  world: { id: string; title: string };
  /** The world's time zone. */
  zone: string;
  /** The address of the event page. */
  page: string;
  event: EventDates | undefined;
  /** The sessions, in program order. */
  sessions: readonly Session[];
  /** Session revisions, by session id. */
  revisions: ReadonlyMap<string, number>;
  speakers: readonly Speaker[];
  /** The rooms that the reader may see, in the order of the world's room list. */
  rooms: readonly { id: string; name: string; description: string }[];
}
