import type { Test } from "tap";
import { readWorldDocument } from "../../schemas/documents/world-document.js";
import { InvalidData } from "../../schemas/validate.js";

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
