import { Type, type Static } from "@sinclair/typebox";
import { OneOf, ref } from "./values.js";

/** Machine-readable codes for failed calls. */
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
  "call.missing_uid",
  "call.missing_profile",
  "call.full",
  "call.unknown",
  "call.unavailable",
] as const;
export type ProblemCode = (typeof problemCodes)[number];

const messages = Type.Array(Type.String());

/** The faults in submitted data: messages by dotted field path. */
export const Faults = Type.Unsafe<Record<string, string[]>>(
  // The named field makes code generators emit a class instead of a plain map.
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

/** The reason why a call failed: a sentence for people and a code for programs. */
export const Problem = Type.Object(
  {
    detail: Type.String(),
    code: OneOf(...problemCodes),
    fields: Type.Optional(ref(Faults)),
  },
  {
    $id: "Problem",
    description:
      "Why a call failed: a sentence for people and a code for programs. A `conflict` lists the fields whose values are already taken.",
    examples: [{ detail: "You do not have permission to perform this action.", code: "forbidden" }],
  },
);
export type Problem = Static<typeof Problem>;
