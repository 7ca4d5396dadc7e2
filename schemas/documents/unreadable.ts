import type { Faults } from "../errors.js";
import { InvalidData } from "../validate.js";
import type { SourcePosition } from "./program-document.js";

// Separate from the document module, because the SQLite writer thread loads that module: schema
// validation would pull in two hundred other modules.

/** Thrown if a document cannot be parsed. Includes the line or path of the fault. */
export class UnreadableDocument extends InvalidData {
  /**
   * @param position a path becomes the field of the message; a line is prefixed to the message.
   * @param message a sentence.
   */
  constructor(position: SourcePosition, message: string) {
    super(faultsOf(position, message));
  }
}

function faultsOf({ line, path }: SourcePosition, message: string): Faults {
  const sentence = line === undefined ? message : `Line ${line}: ${message}`;
  return { [path ?? "non_field_errors"]: [sentence] };
}
