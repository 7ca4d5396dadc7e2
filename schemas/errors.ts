import { Type, type Static } from "@sinclair/typebox";

/** Why a call failed, in a sentence. */
export const Problem = Type.Object({ detail: Type.String() });
export type Problem = Static<typeof Problem>;

/** What is wrong with submitted data: messages by field, in dotted paths. */
export const Faults = Type.Record(Type.String(), Type.Array(Type.String()), {
  maxProperties: 20,
});
export type Faults = Static<typeof Faults>;

/** A 400 has faults, or a sentence where there are no fields to name. */
export const BadRequest = Type.Union([Problem, Faults]);
