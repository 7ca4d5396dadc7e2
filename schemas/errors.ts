import { Type, type Static } from "@sinclair/typebox";
import { OneOf, ref } from "./values.js";

/** The codes for programs that say why a call failed. */
export const problemCodes = [
  "unauthenticated",
  "forbidden",
  "not_found",
  "method_not_allowed",
  "unsupported_media_type",
  "too_large",
  "missing",
  "changed",
  "conflict",
  "quota",
  "cursor_expired",
  "invalid_json",
  "invalid_request",
  "rate_limited",
  "unavailable",
  "fault",
] as const;
export type ProblemCode = (typeof problemCodes)[number];

const messages = Type.Array(Type.String());

/** The faults of submitted data: messages by field, in dotted paths. */
export const Faults = Type.Unsafe<Record<string, string[]>>(
  // With a named field, generators make a class of it instead of a plain map.
  Type.Object(
    {
      non_field_errors: Type.Optional({
        ...messages,
        description: "The faults of the data as a whole.",
      }),
    },
    {
      $id: "Faults",
      description: "The faults of submitted data: messages by field, in dotted paths.",
      additionalProperties: messages,
      maxProperties: 20,
      examples: [
        { name: ["This field is required."], "module_config.0.type": ["May not be empty."] },
      ],
    },
  ),
);
export type Faults = Static<typeof Faults>;

/** Why a call failed, in a sentence for people and a word for programs. */
export const Problem = Type.Object(
  {
    detail: Type.String(),
    code: OneOf(...problemCodes),
    fields: Type.Optional(ref(Faults)),
  },
  {
    $id: "Problem",
    description:
      "Why a call failed, in a sentence for people and a word for programs. A `conflict` has the fields whose values something else has.",
    examples: [{ detail: "You do not have permission to perform this action.", code: "forbidden" }],
  },
);
export type Problem = Static<typeof Problem>;
