import { type Static, Type } from "@sinclair/typebox";
import { TimeOrNull } from "./event-dates.js";
import { AFTER_END } from "./plain/access.js";
import { OneOf } from "./values.js";

/** Who may enter an event, and when, as stored in the world's `config`. */
export const Access = Type.Object(
  {
    published: Type.Boolean({
      description: "Whether people outside the team can see the event. Without `access`, they can.",
    }),
    opens_at: Type.Optional(TimeOrNull),
    closes_at: Type.Optional(TimeOrNull),
    after: Type.Optional(OneOf(...AFTER_END)),
  },
  { additionalProperties: false },
);
export type Access = Static<typeof Access>;
