import { Type, type Static } from "@sinclair/typebox";
import { Faults } from "../errors.js";
import { Payload } from "./values.js";

// Frames that are neither commands nor pushes of a module.

/** Why a command failed. Programs read the code. */
export const LiveProblem = Type.Object(
  {
    code: Type.String({ pattern: "^[a-z_]+(\\.[a-z_]+)+$" }),
    message: Type.Optional(Type.String()),
    details: Type.Optional(Type.Unsafe<Faults>({ ...Faults, $id: undefined })),
  },
  { additionalProperties: false },
);
export type LiveProblem = Static<typeof LiveProblem>;

/** The credentials of a login. With both, the token counts. */
export const Login = Payload({
  token: Type.Optional(Type.Unknown({ description: "A JWT, as text. Null counts as left out." })),
  client_id: Type.Optional(
    Type.Unknown({
      description: "The name of a guest: 1 to 200 characters of A-Z a-z 0-9 . _ ~ -, or a number.",
    }),
  ),
  changes: Type.Optional(
    Type.Boolean({
      description:
        "Whether to get `world.changed` instead of `world.updated`, and the `count` of the people in each room.",
    }),
  ),
});
