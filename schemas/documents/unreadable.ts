import type { Faults } from "../errors.js";
import { InvalidData } from "../validate.js";
import type { Position } from "./program-document.js";

// Apart from the document, which the thread that writes to SQLite loads: a check of schemas
// brings two hundred modules.

/** A document that cannot be read, with the line or the path where it breaks. */
export class UnreadableDocument extends InvalidData {
  /**
   * @param position a path names the field of the message; a line begins the message.
   * @param message a sentence.
   */
  constructor(position: Position, message: string) {
    super(faultsOf(position, message));
  }
}

function faultsOf({ line, path }: Position, message: string): Faults {
  const sentence = line === undefined ? message : `Line ${line}: ${message}`;
  return { [path ?? "non_field_errors"]: [sentence] };
}
