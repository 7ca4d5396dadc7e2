import { Type, type Static } from "@sinclair/typebox";
import { Text } from "./values.js";

/** Which user to erase: by the internal id, or by the `uid` of its tokens. */
export const UserName = Type.Partial(
  Type.Object({
    user_id: Text({ description: "The service's internal user ID." }),
    token_id: Text({ description: "The uid of its tokens." }),
  }),
  {
    $id: "UserName",
    description: "A user, by exactly one of its names.",
    additionalProperties: false,
    minProperties: 1,
    maxProperties: 1,
    examples: [{ token_id: "42" }],
  },
);
export type UserName = Static<typeof UserName>;

/** What is kept of somebody who uploaded. */
export interface User {
  id: string;
  /** The `uid` of its tokens. */
  token_id: string | null;
  client_id: string | null;
  profile: Record<string, unknown> | null;
  traits: string[];
  /** When it last uploaded, in milliseconds since 1970. */
  last_seen: number;
}
