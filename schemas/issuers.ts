import { Type, type Static } from "@sinclair/typebox";
import { Expected } from "./plain/texts.js";
import { Trait } from "./rules.js";
import { List, OneOf, Text } from "./values.js";

/** The signature algorithms accepted from external issuers (RFC 7518, section 3.1; RFC 8037, section 3.1). */
export const ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"] as const;

/** Maximum length of an issuer name, in characters, as for a world's own keys. */
export const MAX_ISSUER = 300;

/** Must not contain `#`, which separates the issuer from the uid in a user's id. */
const Issuer = Text({
  minLength: 1,
  maxLength: MAX_ISSUER,
  pattern: "^[^\\u0000#]*$",
  [Expected]: "free of NUL characters and #",
});

/** A claim: its name, or a path into objects such as `realm_access.roles`. */
const Claim = Text({ minLength: 1, maxLength: 200 });

const uid = Type.Optional(
  Text({
    minLength: 1,
    maxLength: 200,
    description: "The claim with the id of the user; `sub` by default.",
  }),
);

/** The traits that an issuer's users receive. */
export const TraitMapping = Type.Object(
  {
    always: Type.Optional(List(Trait, 100)),
    claim: Type.Optional(Claim),
    map: Type.Optional(
      Type.Record(Type.String({ maxLength: 200 }), List(Trait, 100), {
        maxProperties: 200,
        [Expected]: "an object from values of the claim to lists of traits",
      }),
    ),
  },
  {
    description:
      "The traits that every user receives, and those derived from a claim. Without `map`, the claim's strings are the traits.",
    additionalProperties: false,
  },
);
export type TraitMapping = Static<typeof TraitMapping>;

/** A JSON Web Key (RFC 7517). It is validated separately, with a specific message. */
const PublicKey = Type.Object(
  {},
  {
    additionalProperties: true,
    description: "A public key, without secret parts such as d.",
    properties: { kty: { enum: ["RSA", "EC", "OKP"] }, d: false },
    required: ["kty"],
  },
);

/** An issuer whose tokens a world accepts. */
export const TokenIssuer = Type.Object(
  {
    issuer: Issuer,
    audience: Text({ minLength: 1, maxLength: 300 }),
    jwks_url: Type.Optional(
      Text({
        maxLength: 2000,
        pattern: "^[hH][tT][tT][pP][sS]?://",
        [Expected]: "an address like https://example.org/path",
      }),
    ),
    jwks: Type.Optional(
      Type.Object({ keys: List(PublicKey, 50, { minItems: 1 }) }, { additionalProperties: true }),
    ),
    algorithms: Type.Optional(List(OneOf(...ALGORITHMS), ALGORITHMS.length, { minItems: 1 })),
    uid,
    traits: Type.Optional(TraitMapping),
    trusted: Type.Optional(
      Type.Boolean({
        description:
          "Its users are identified by the plain uid, as with the world's keys. By default, the issuer and # are prepended.",
      }),
    ),
  },
  {
    $id: "TokenIssuer",
    description:
      "An issuer whose tokens the world accepts. Its public keys are at jwks_url or in jwks.",
    additionalProperties: false,
    // Documentation only: a separate check of the addresses produces a clearer message.
    if: { required: ["jwks_url"] },
    then: { not: { required: ["jwks"] } },
    else: { required: ["jwks"] },
  },
);
export type TokenIssuer = Static<typeof TokenIssuer>;

/** An OpenID Connect provider that people sign in with. */
export const SignInProvider = Type.Object(
  {
    id: Text({
      pattern: "^[a-z0-9][a-z0-9-]{0,49}$",
      [Expected]: "a-z, 0-9 and -, starting with a letter or a digit, at most 50 characters",
    }),
    name: Text({ minLength: 1, maxLength: 100 }),
    issuer: Issuer,
    client_id: Text({ minLength: 1, maxLength: 300 }),
    client_secret: Type.Optional(Text({ minLength: 1, maxLength: 1000 })),
    scopes: Type.Optional(
      List(
        Text({
          pattern: "^[!#-\\[\\]-~]{1,100}$",
          [Expected]: "a scope: 1 to 100 characters without spaces",
        }),
        20,
      ),
    ),
    uid,
    traits: Type.Optional(TraitMapping),
    session_hours: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 24 * 30 })),
  },
  {
    $id: "SignInProvider",
    description: "An OpenID Connect provider with which people can sign in.",
    additionalProperties: false,
  },
);
export type SignInProvider = Static<typeof SignInProvider>;
