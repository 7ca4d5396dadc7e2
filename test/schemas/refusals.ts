import type { Test } from "tap";
import { readWorldDocument } from "../../schemas/documents/world-document.js";
import { InvalidData } from "../../schemas/validate.js";
import { worldOf } from "../helper.js";

export const id = (n: number) =>
  `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
export const timestamp = "2027-01-31T09:30:00.000Z";
export const [ada, bob] = [id(1), id(2)];

/** A new world of two users and these rooms, as read from JSON. */
export const documentOf = (rooms: string[], parts: object): unknown =>
  JSON.parse(
    JSON.stringify({
      ...{ format: "foyer.world", version: 1, world: worldOf("new") },
      rooms: rooms.map((id) => ({ id, name: "x" })),
      users: [ada, bob].map((id) => ({
        ...{ id, token_id: id, client_id: null, profile: null },
        ...{ traits: [], last_seen: timestamp },
      })),
      ...parts,
    }),
  );

/** What is wrong with the document of a world; nothing of one that is read. */
export function faultsOf(document: unknown): object {
  try {
    readWorldDocument(document);
    return {};
  } catch (error) {
    if (error instanceof InvalidData) return error.faults;
    throw error;
  }
}

/** A document that is refused, and what is wrong with it. */
export type Refusal = [name: string, document: unknown, faults: object];

export function refuses(t: Test, cases: readonly Refusal[]): void {
  for (const [name, document, faults] of cases) {
    t.strictSame(faultsOf(document), faults, name);
  }
}
