import { StoreError, type StoreProblem } from "../../../contract/store.js";

/** The problems that PostgreSQL reports, by the beginning of their code (its manual, appendix A). */
const problems: readonly (readonly [code: string, problem: StoreProblem])[] = [
  // The connection, its rights, and what it may have.
  ["08", "unusable"],
  ["28", "unusable"],
  ["3D000", "unusable"],
  ["42501", "unusable"],
  ["53100", "full"],
  ["53", "unusable"],
  // It stops, has stopped, or starts.
  ["57014", "busy"],
  ["57P", "unusable"],
  ["25006", "unusable"],
  ["25P03", "unusable"],
  // Locks, and transactions that got in each other's way.
  ["55P03", "busy"],
  ["40", "busy"],
  // Its disk.
  ["58", "unusable"],
  ["XX", "unusable"],
];

/** The errors of pg about a lost connection, or one that the pool cannot give. */
const LOST =
  /connection (terminated|error|ended)|not queryable|client was closed|pool after calling end|server conn|timeout expired|query read timeout/i;

/** The {@link StoreError} for an error of PostgreSQL or of its connection; undefined if the error is a bug of Foyer. */
export function storeErrorOf(error: unknown): StoreError | undefined {
  if (error instanceof StoreError) return error;
  const { code = "", message } = error as Error & { code?: string };
  const found = problems.find(([start]) => code.startsWith(start));
  if (found) return new StoreError(found[1], message);
  if (/^timeout exceeded/i.test(message)) return new StoreError("busy", message);
  const isLost = (error as { syscall?: string }).syscall !== undefined;
  return isLost || LOST.test(message) ? new StoreError("unusable", message) : undefined;
}

/** Throws the translation of an error. */
export function explain(error: unknown): never {
  throw storeErrorOf(error) ?? error;
}
