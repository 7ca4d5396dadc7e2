import type { Author } from "../../../db/contract/author.js";
import {
  NO_PROGRAM,
  NO_ROOM,
  type ProgramStore,
} from "../../../db/contract/program.js";
import {
  sessionOf,
  type SessionRow,
  sessionRow,
} from "../../../db/rules/program-rows.js";
import type { Session } from "../../../schemas/program/program.js";
import type { Sync } from "./sync.js";
import type { StoredProgram } from "./tables.js";
import type { Transaction } from "./transaction.js";

// The program of a world in a simulated store.

const NONE: StoredProgram = { rows: [], program: NO_PROGRAM };

/** @param session what becomes of the session with the id; undefined if it is deleted. */
function change(
  tx: Transaction,
  world: string,
  id: string,
  session: Session | undefined,
): SessionRow | undefined {
  const { programs } = tx.tables;
  const { rows, program } = programs.get(world) ?? NONE;
  const before = rows.find((row) => row.id === id);
  const after = session && sessionRow(session, (before?.revision ?? 0) + 1);
  const others = rows.filter((row) => row !== before);
  const next = [...others, ...(after ? [after] : [])].sort((a, b) =>
    a.id < b.id ? -1 : 1,
  );
  const places = new Map(program.places);
  for (const row of [before, after]) {
    if (!row) continue;
    const place = row.room_id ?? NO_ROOM;
    const all = tx.uuid();
    const isShown = row.state === "public";
    const shown = isShown ? all : (places.get(place)?.shown ?? "");
    places.set(place, { shown, all });
  }
  const sessions = next.map(sessionOf);
  programs.set(world, {
    rows: next,
    program: { ...program, places, sessions },
  });
  return before;
}

/** Creates a session, or changes it. */
export function putSession(
  tx: Transaction,
  world: string,
  session: Session,
  by?: Author,
): void {
  const { id } = session;
  const type = change(tx, world, id, session)
    ? "session.updated"
    : "session.created";
  tx.append(world, { type, session: id }, by);
}

export function dropSession(
  tx: Transaction,
  world: string,
  id: string,
  by?: Author,
): void {
  change(tx, world, id, undefined);
  tx.append(world, { type: "session.deleted", session: id }, by);
}

/** A room is deleted. Its sessions stay, without a room. @returns their ids. */
export function clearRoom(
  tx: Transaction,
  world: string,
  room: string,
): string[] {
  const left: string[] = [];
  const { program } = tx.tables.programs.get(world) ?? NONE;
  for (const { value } of program.sessions) {
    if (value.room_id !== room) continue;
    change(tx, world, value.id, { ...value, room_id: null });
    left.push(value.id);
  }
  return left.sort();
}

export const programStore: Sync<Pick<ProgramStore, "get" | "favorites">> = {
  get: ({ tables }, world) => tables.programs.get(world)?.program ?? NO_PROGRAM,
  favorites: () => [],
};
