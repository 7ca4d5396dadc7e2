import { Type, type Static } from "@sinclair/typebox";

/** Why a call failed, in a sentence. */
export const Problem = Type.Object(
  { detail: Type.String() },
  {
    $id: "Problem",
    description: "Why a call failed, in a sentence.",
    examples: [
      { detail: "You do not have permission to perform this action." },
    ],
  },
);
export type Problem = Static<typeof Problem>;

/** What is wrong with submitted data: messages by field, in dotted paths. */
export const Faults = Type.Record(Type.String(), Type.Array(Type.String()), {
  $id: "Faults",
  description:
    "What is wrong with submitted data: messages by field, in dotted paths.",
  maxProperties: 20,
  examples: [
    {
      name: ["This field is required."],
      "module_config.0.type": ["May not be empty."],
    },
  ],
});
export type Faults = Static<typeof Faults>;
