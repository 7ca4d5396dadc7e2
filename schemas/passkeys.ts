import { type Static, Type } from "@sinclair/typebox";
import { PageOf, Text } from "./values.js";

/** The id of a credential: at most 1,023 bytes (WebAuthn, section 4), in base64url. */
export const passkeyId = Text({
  minLength: 1,
  maxLength: 1364,
  pattern: "^[\\w-]+$",
  description: "The id of the credential, in base64url.",
});

/** Maximum length of a passkey's name, in characters. */
const MAX_NAME = 100;

/** Maximum lengths of an authenticator's response and of a sealed state, in characters. */
const MAX_RESPONSE = 20_000;
const MAX_STATE = 2000;

/** An authenticator's response, as returned by `PublicKeyCredential.toJSON()`. */
const Credential = Type.Object(
  {
    id: passkeyId,
    rawId: passkeyId,
    type: Text({ enum: ["public-key"] }),
    response: Type.Object(
      {
        clientDataJSON: Text({ maxLength: MAX_RESPONSE }),
        attestationObject: Type.Optional(Text({ maxLength: MAX_RESPONSE })),
        authenticatorData: Type.Optional(Text({ maxLength: MAX_RESPONSE })),
        signature: Type.Optional(Text({ maxLength: MAX_RESPONSE })),
      },
      { additionalProperties: true },
    ),
  },
  {
    additionalProperties: true,
    description: "The JSON of a `PublicKeyCredential`, as created by the browser.",
  },
);

const state = Text({
  maxLength: MAX_STATE,
  description: "The `state` that came with the options. It is valid once, for 5 minutes.",
});

/** The start of a ceremony: the options that a page passes to the browser. */
export const PasskeyOptions = Type.Object(
  {
    options: Type.Object(
      {},
      {
        additionalProperties: true,
        description: "The `publicKey` of the browser's call, as JSON.",
      },
    ),
    state: Type.String({
      description: "Send this back with the response. It expires in 5 minutes.",
    }),
  },
  { $id: "PasskeyOptions", description: "What a browser needs to add or to use a passkey." },
);

/** A new passkey. */
export const PasskeyDraft = Type.Object(
  {
    state,
    name: Type.Optional(
      Text({
        minLength: 1,
        maxLength: MAX_NAME,
        description: "A name by which the person recognizes it.",
      }),
    ),
    response: Credential,
  },
  { $id: "PasskeyDraft", description: "A new passkey.", additionalProperties: false },
);

/** A sign-in with a passkey. */
export const PasskeyLogin = Type.Object(
  { state, response: Credential },
  {
    $id: "PasskeyLogin",
    description: "What the authenticator returned for a sign-in.",
    additionalProperties: false,
  },
);

/** The credentials of the person who signed in. */
export const PasskeySession = Type.Object(
  {
    token: Type.Optional(Type.String({ description: "A token of the person." })),
    client_id: Type.Optional(Type.String({ description: "Set for a guest, who has no token." })),
  },
  {
    $id: "PasskeySession",
    description: "Exactly one of the two.",
    examples: [{ token: "eyJhbGciOiJIUzI1NiJ9.…" }],
  },
);

/** A passkey as its owner sees it. */
export const Passkey = Type.Object(
  {
    id: Type.String({ description: "The id of the credential, in base64url." }),
    name: Type.String({ description: "A name by which the person recognizes it." }),
    host: Type.String({ description: "The host whose pages may use it." }),
    created_at: Type.String({ format: "date-time" }),
    used_at: Type.Unsafe<string | null>({
      type: ["string", "null"],
      format: "date-time",
      description: "The last sign-in with it.",
    }),
  },
  { $id: "Passkey", description: "A key on a person's device, with which the person signs in." },
);
export type Passkey = Static<typeof Passkey>;

/** A person's passkeys. */
export const PasskeyList = PageOf(Passkey, {
  $id: "PasskeyList",
  description: "The passkeys of a person, oldest first.",
  example: {
    id: "rmT7L3SUbWXFGQcZV3Qb1g",
    name: "Laptop",
    host: "events.example.org",
    created_at: "2027-01-31T09:30:00.000Z",
    used_at: null,
  },
});

/** The ways in which a person can return. */
export const Ways = Type.Object(
  {
    passkeys: Type.Integer({ description: "The number of passkeys." }),
    email: Type.Boolean({ description: "Whether a link can be sent by e-mail." }),
    mail: Type.Boolean({ description: "Whether this server can send mails." }),
    recovery: Type.Boolean({ description: "Whether there is a recovery link." }),
    invitation: Type.Unsafe<string | null>({
      type: ["string", "null"],
      description:
        "The id of the caller's own invitation, to which the link and the e-mail belong.",
    }),
  },
  {
    $id: "Ways",
    description: "How the caller can sign in again without the current session.",
    examples: [{ passkeys: 1, email: true, mail: true, recovery: false, invitation: null }],
  },
);

/** A recovery link, which is shown once. */
export const RecoveryLink = Type.Object(
  { url: Type.String({ format: "uri", description: "A link that signs in whoever opens it." }) },
  { $id: "RecoveryLink", description: "A link to print or save. The server keeps no copy." },
);
