import { Type } from "@sinclair/typebox";
import { Expected, uuid } from "../plain/texts.js";
import { InvalidData } from "../validate.js";
import { Text } from "../values.js";

// Values in a world's document, and faults in such values.

export const Uuid = Text(uuid);

export const time = {
  pattern:
    "^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,3})?Z$",
  [Expected]: "a time like 2027-01-31T09:30:00.000Z",
};

export const JsonObject = Type.Record(Type.String(), Type.Unknown());

/** Makes fields optional. */
export const optional = <T extends Parameters<typeof Type.Object>[0]>(fields: T) =>
  Type.Partial(Type.Object(fields)).properties;

/** The ids to which the parts of a document may refer. */
export interface Referred {
  rooms: ReadonlySet<unknown>;
  users: ReadonlySet<unknown>;
}

/** Returns a fault in one field. */
export const at = (field: string, message: string): InvalidData =>
  new InvalidData({ [field]: [message] });

export const UNKNOWN_USER = "Must be the id of a user of this document.";
export const ONLY_ONCE = "May occur only once.";
