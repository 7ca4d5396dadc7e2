import type { Static, TSchema } from "@sinclair/typebox";
import type { LiveErrorCode } from "./errors.js";

/** What a client may send as a command, and what it gets. */
export interface Command<P extends TSchema, R extends TSchema> {
  readonly summary: string;
  readonly payload: P;
  readonly result: R;
  /** Its errors, without the errors of all commands. */
  readonly errors: readonly LiveErrorCode[];
  /** A payload that the AsyncAPI document shows. */
  readonly example: Static<P>;
}

/** Declares a command: the type of its example follows from its payload. */
export const command = <P extends TSchema, R extends TSchema>(
  declared: Command<P, R>,
): Command<P, R> => declared;

const id = "5ad5b0a4-2d0c-4c63-a2a8-1c63b3f0a9d7";

/** Ids for examples. */
export const some = {
  user: { id: "0b7a7d5e-9f2b-4f3c-8a51-6f6f0c9f5a10" },
  room: { room: id },
  channel: { channel: id },
  announcement: "8f0d5c0e-6f0a-4f49-9d55-1f0e6d2c7b31",
  question: "6c1e2f34-73a4-4f0e-8d15-0a9f2b6f7c21",
  poll: "2f4b9a63-1c0d-4e72-9b38-5d6a7e8f9012",
  option: "d1c7e5a8-0b3f-4c96-a2d4-7e1f3b5a6c80",
};
