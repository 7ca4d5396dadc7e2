import type { EventDates } from "../../../schemas/event-dates.js";
import type { Session, Speaker } from "../../../schemas/program/program.js";

/** A program as a reader may see it, with the names that exports show. */
export interface ExportedProgram {
  world: { id: string; title: string };
  /** The zone of the world. */
  zone: string;
  /** The address of the event page. */
  page: string;
  event: EventDates | undefined;
  /** In the order of the program. */
  sessions: readonly Session[];
  /** How often each session was changed, by its id. */
  revisions: ReadonlyMap<string, number>;
  speakers: readonly Speaker[];
  /** The rooms that the reader may see, in their order. */
  rooms: readonly { id: string; name: string; description: string }[];
}
