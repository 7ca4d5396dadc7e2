import { Type } from "@sinclair/typebox";
import { Expected } from "./plain/texts.js";
import { Text } from "./values.js";

// Values in the document of a world.

export const Uuid = Text({
  pattern: "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
  [Expected]: "a UUID in lower case",
});

export const time = {
  pattern:
    "^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,3})?Z$",
  [Expected]: "a time like 2027-01-31T09:30:00.000Z",
};

export const JsonObject = Type.Record(Type.String(), Type.Unknown());
