import { StoreError } from "../db/store.js";
import { invalidPayload, roomDenied, worldDenied } from "./problems.js";

/**
 * A write of a question or a poll, whose refusals get the codes of their commands.
 * The caller may have been silenced or erased since the command began.
 */
export async function written<T>(write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const { problem, field, message } = error;
    if (field === "option" || field === "options") {
      throw invalidPayload({ options: [message] });
    }
    if (problem === "denied" && field !== "poll") throw roomDenied();
    if (problem === "absent" && field === "user") throw worldDenied();
    throw error;
  }
}

/** An id as the store takes it. What is no text is the id of nothing. */
export const idIn = (value: unknown): string =>
  typeof value === "string" ? value : "";
