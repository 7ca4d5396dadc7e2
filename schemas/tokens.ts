import { Type, type Static } from "@sinclair/typebox";
import { Expected, trait, uid } from "./plain/texts.js";
import { List, Text, TextOrNull } from "./values.js";

/** Maximum lifetime of a token, in seconds: ten years. */
const LONGEST = 10 * 366 * 24 * 3600;

/** The request to sign a token. */
export const TokenDraft = Type.Object(
  {
    uid: Type.Optional(
      Text({
        ...uid,
        minLength: 1,
        description:
          "The user for whom the token is signed. Without it, the link is for a new user.",
      }),
    ),
    name: Type.Optional(
      Text({
        minLength: 1,
        maxLength: 300,
        description: "The initial display name of a new user.",
      }),
    ),
    traits: List(Text(trait), 100),
    expires_in: Type.Unsafe<number | string>(
      Type.Union(
        [
          Type.Integer({ minimum: 1, maximum: LONGEST }),
          Text({
            // Hours and days are also limited to less than ten years.
            pattern:
              "^([1-9]\\d{0,5}[sm]|([1-9]\\d{0,3}|[1-7]\\d{4})h|([1-9]\\d{0,2}|[12]\\d{3})d)$",
          }),
        ],
        {
          [Expected]: "a number of seconds up to ten years, or a time such as 90s, 30m, 12h or 30d",
          description: "The lifetime: in seconds, or a string such as 12h.",
        },
      ),
    ),
    page: Type.Optional(
      TextOrNull({
        enum: ["event", "console", null],
        description: "The page that `url` opens; defaults to the event. Null omits `url`.",
      }),
    ),
  },
  {
    $id: "TokenDraft",
    description: "A token to sign. Unknown fields are refused.",
    additionalProperties: false,
    examples: [{ uid: "42", traits: ["attendee"], expires_in: 86400, page: "event" }],
  },
);
export type TokenDraft = Static<typeof TokenDraft>;

/** A signed token. */
export const Token = Type.Object(
  {
    token: Type.String({ description: "A JWT." }),
    url: Type.Unsafe<string | null>({
      type: ["string", "null"],
      format: "uri",
      description: "A link that signs in whoever opens it.",
    }),
  },
  { $id: "Token", description: "A signed token, and a link with it." },
);
