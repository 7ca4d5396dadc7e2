import { type Static, Type } from "@sinclair/typebox";
import { INVITATION_STATES, MAX_INVITED_AT_ONCE } from "./plain/invitations.js";
import { emailAddress, languageTag, mailSubject, mailText } from "./plain/mail.js";
import { uuid } from "./plain/texts.js";
import { List, OneOf, Text } from "./values.js";

const states = ["waiting", "sending", "sent", "failed"] as const;

const errorOf = (what: string) =>
  Type.Unsafe<string | null>({
    type: ["string", "null"],
    description: `${what} \`unknown\`: the connection broke off, and the mail may have arrived; it is not sent again. \`unreachable\`: the mail server could not be used. \`revoked\`: the invitation had ended. \`no_address\`: it had no address. \`stopped\`: the recipient wants no more mails. \`late\`: the occasion had passed. Everything else is what the mail server answered.`,
  });

/** What became of a mail. */
export const MailReport = Type.Object(
  {
    state: OneOf(...states),
    at: Type.String({ format: "date-time", description: "The time of the last change." }),
    error: errorOf("Why it failed, or why it waits for another try; else null."),
  },
  { $id: "MailReport", description: "The status of a mail." },
);
export type MailReport = Static<typeof MailReport>;

/** The settings of an event's mails: `config.mail`. */
export const MailSettings = Type.Object(
  {
    subject: Type.Optional(
      Text({
        ...mailSubject,
        description: "The subject of invitations. Defaults to the server's.",
      }),
    ),
    text: Type.Optional(
      Text({
        ...mailText,
        description: "The text before the dates. Defaults to the server's.",
      }),
    ),
    reminders: Type.Optional(
      Type.Boolean({
        description:
          "Whether invited people receive a reminder a day and an hour before the event.",
      }),
    ),
  },
  {
    $id: "MailSettings",
    description: "The mails of an event.",
    additionalProperties: false,
    examples: [{ subject: "See you at the summit", reminders: true }],
  },
);

const wording = {
  subject: Type.Optional(Text({ ...mailSubject, description: "Replaces the event's subject." })),
  text: Type.Optional(Text({ ...mailText, description: "Replaces the event's text." })),
  act: Type.Optional(
    Text({
      minLength: 1,
      maxLength: 100,
      description:
        "A name for this request. Mails are sent only once per name, so a client can safely repeat the request.",
    }),
  ),
};

export const InvitationMail = Type.Object(wording, {
  $id: "InvitationMail",
  description: "The texts of an invitation.",
  additionalProperties: false,
  examples: [{ text: "We look forward to your talk." }],
});

export const InvitationMails = Type.Object(
  {
    ...wording,
    ids: Type.Optional(
      List(Text(uuid), MAX_INVITED_AT_ONCE, { description: "The invitations to send." }),
    ),
    filter: Type.Optional(
      Type.Object(
        {
          q: Type.Optional(Text({ maxLength: 300 })),
          role: Type.Optional(Text({ maxLength: 200 })),
          state: Type.Optional(OneOf(...INVITATION_STATES)),
          unsent: Type.Optional(
            Type.Boolean({ description: "Only those to whom no mail has been sent." }),
          ),
        },
        {
          additionalProperties: false,
          description: "Sends all invitations that a list with these parameters would contain.",
        },
      ),
    ),
  },
  {
    $id: "InvitationMails",
    description: "The invitations to send, by `ids` or `filter`, and their texts.",
    additionalProperties: false,
    examples: [{ filter: { role: "speaker", unsent: true } }],
  },
);

export const QueuedMails = Type.Object(
  {
    queued: Type.Integer({ description: "The number of mails that were queued." }),
    skipped: Type.Integer({
      description:
        "The number of invitations that were skipped: without an address, ended, or unsubscribed.",
    }),
  },
  {
    $id: "QueuedMails",
    description: "The result of queueing.",
    examples: [{ queued: 12, skipped: 1 }],
  },
);

export const MailStatus = Type.Object(
  {
    enabled: Type.Boolean({ description: "Whether the server can send mails." }),
    from: Type.Unsafe<string | null>({
      type: ["string", "null"],
      description: "The sender's address.",
    }),
    per_minute: Type.Unsafe<number | null>({
      type: ["integer", "null"],
      description: "The maximum number of mails per minute, for all events of the server.",
    }),
    waiting: Type.Integer({ description: "Mails of this event that wait." }),
    failed: Type.Integer({ description: "Mails of this event that failed." }),
  },
  {
    $id: "MailStatus",
    description: "The server's mail settings, and the event's mail queue.",
    examples: [
      { enabled: true, from: "events@example.org", per_minute: 60, waiting: 3, failed: 0 },
    ],
  },
);

export const TestMail = Type.Object(
  { to: Text(emailAddress) },
  {
    $id: "TestMail",
    description: "The recipient of a test mail.",
    additionalProperties: false,
    examples: [{ to: "ada@example.org" }],
  },
);

export const LinkRequest = Type.Object(
  {
    email: Text(emailAddress),
    page: Type.Optional(OneOf("event", "console")),
    language: Type.Optional(Text(languageTag)),
  },
  {
    $id: "LinkRequest",
    description: "Where to send a new link.",
    additionalProperties: false,
    examples: [{ email: "ada@example.org" }],
  },
);

export const LinkRequested = Type.Object(
  {},
  {
    $id: "LinkRequested",
    description: "The same for every address.",
    additionalProperties: false,
    examples: [{}],
  },
);

export const LoginCode = Type.Object(
  { code: Text({ minLength: 1, maxLength: 200, description: "From the link." }) },
  {
    $id: "LoginCode",
    description: "The code in an e-mailed link.",
    additionalProperties: false,
    examples: [{ code: "FqJ0tJ0wDk8m3uQvW1sQ8x1o7Xl7b5i1v2h3g4f5d6s" }],
  },
);

export const MailedLogin = Type.Object(
  {
    token: Type.String({ description: "Signs the person in." }),
    url: Type.String({ format: "uri", description: "The page, with the token." }),
  },
  {
    $id: "MailedLogin",
    description: "The token for an e-mailed link.",
    examples: [
      { token: "eyJ…", url: "https://foyer.example.org/w/demo/#token=eyJhbGciOiJIUzI1NiJ9.e30.x" },
    ],
  },
);
