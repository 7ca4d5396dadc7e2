import { type Static, Type } from "@sinclair/typebox";
import { time } from "./event-dates.js";
import { INVITATION_STATES, MAX_INVITED_AT_ONCE } from "./plain/invitations.js";
import { MailReport } from "./mails.js";
import { emailAddress, languageTag } from "./plain/mail.js";
import { Expected, trait, uid } from "./plain/texts.js";
import { List, OneOf, PageOf, PageQuery, ref, Text, TextOrNull } from "./values.js";
import { WorldParams } from "./worlds.js";

const settings = {
  name: Text({ maxLength: 300, description: "The person's initial name." }),
  email: TextOrNull(emailAddress),
  language: TextOrNull({
    ...languageTag,
    description: "The language of mails to the person; null for the event's language.",
  }),
  role: Text({
    ...trait,
    description: "The role, a trait. The role `admin` also has the trait `api`.",
  }),
  expires_at: TextOrNull({
    ...time,
    description:
      "When the invitation ends; null for never. By default, invitations of people who run the event never end, and all others end 30 days after the event.",
  }),
};

export const InvitationDraft = Type.Object(
  {
    name: Type.Optional(settings.name),
    email: Type.Optional(settings.email),
    language: Type.Optional(settings.language),
    role: settings.role,
    uid: Type.Optional(
      Text({ ...uid, description: "The `uid` of the person's tokens; random by default." }),
    ),
    expires_at: Type.Optional(settings.expires_at),
  },
  {
    $id: "InvitationDraft",
    description: "A person to invite.",
    additionalProperties: false,
    examples: [{ name: "Ada", email: "ada@example.org", role: "speaker" }],
  },
);
export type InvitationDraft = Static<typeof InvitationDraft>;

export const InvitationDrafts = Type.Unsafe<InvitationDraft | InvitationDraft[]>(
  Type.Union([ref(InvitationDraft), List(ref(InvitationDraft), MAX_INVITED_AT_ONCE)], {
    $id: "InvitationDrafts",
    description: `A person to invite, or a list of at most ${MAX_INVITED_AT_ONCE}.`,
    [Expected]: `a person to invite, or a list of at most ${MAX_INVITED_AT_ONCE}`,
    examples: [{ name: "Ada", email: "ada@example.org", role: "speaker" }],
  }),
);

export const InvitationChanges = Type.Partial(
  Type.Object({
    id: Text({ description: "May be sent back unchanged." }),
    ...settings,
    revoked: Type.Boolean({
      description:
        "True revokes the invitation: its links and sessions end at once, for good. False restores it, for new links.",
    }),
  }),
  {
    $id: "InvitationChanges",
    description: "The fields of an invitation to replace.",
    additionalProperties: false,
    examples: [{ role: "moderator" }],
  },
);
export type InvitationChanges = Static<typeof InvitationChanges>;

const timeOrNull = (description: string) =>
  Type.Unsafe<string | null>({ type: ["string", "null"], format: "date-time", description });

const fields = {
  id: Type.String({ format: "uuid" }),
  name: Type.String({ description: "Empty if there is none." }),
  email: Type.Unsafe<string | null>({ type: ["string", "null"] }),
  language: Type.Unsafe<string | null>({ type: ["string", "null"] }),
  role: Type.String(),
  uid: Type.String({ description: "The `uid` of the person's tokens." }),
  user_id: Type.Unsafe<string | null>({
    type: ["string", "null"],
    format: "uuid",
    description: "The person's user; null until the first visit.",
  }),
  state: OneOf(...INVITATION_STATES),
  created_at: Type.String({ format: "date-time" }),
  expires_at: timeOrNull("When the invitation ends; null for never."),
  used_at: timeOrNull("The first login."),
  last_seen_at: timeOrNull("The person's last visit."),
  revoked_at: timeOrNull("When a host revoked the invitation."),
  mail: Type.Unsafe<MailReport | null>(
    Type.Union([ref(MailReport), Type.Null()], {
      description: "The status of the last mail to the person; null if there was none.",
    }),
  ),
};

export const Invitation = Type.Object(fields, {
  $id: "Invitation",
  description: "An invited person. Links and sessions grant the role's current rights.",
});
export type Invitation = Static<typeof Invitation>;

const example: Invitation = {
  id: "0b6bd7f0-6a0f-4d0b-8a3c-2d3f9d1d7f55",
  name: "Ada",
  email: "ada@example.org",
  language: null,
  role: "speaker",
  uid: "7f4b5c1e-90a7-4a3c-8f0e-8f6f6f1f0a11",
  user_id: null,
  state: "invited",
  created_at: "2027-02-01T09:00:00.000Z",
  expires_at: "2027-04-01T17:00:00.000Z",
  used_at: null,
  last_seen_at: null,
  revoked_at: null,
  mail: { state: "sent", at: "2027-02-01T09:00:05.000Z", error: null },
};

const link = Type.String({
  format: "uri",
  description: "Signs in whoever opens it. Not shown again.",
});

export const InvitationWithLink = Type.Object(
  { ...fields, link },
  {
    $id: "InvitationWithLink",
    description: "An invitation, and its link.",
    examples: [
      { ...example, link: "https://foyer.example.org/demo/#token=eyJhbGciOiJIUzI1NiJ9.e30.x" },
    ],
  },
);
export type InvitationWithLink = Static<typeof InvitationWithLink>;

export const CreatedInvitations = Type.Unsafe<InvitationWithLink | InvitationWithLink[]>(
  Type.Union([ref(InvitationWithLink), Type.Array(ref(InvitationWithLink))], {
    $id: "CreatedInvitations",
    description: "The new invitation, or a list in the same order if a list was sent.",
    examples: [
      { ...example, link: "https://foyer.example.org/demo/#token=eyJhbGciOiJIUzI1NiJ9.e30.x" },
    ],
  }),
);

export const InvitationLink = Type.Object(
  { link },
  {
    $id: "InvitationLink",
    description: "The new link of an invitation.",
    examples: [{ link: "https://foyer.example.org/demo/#token=eyJhbGciOiJIUzI1NiJ9.e30.x" }],
  },
);

export const InvitationList = PageOf(Invitation, {
  $id: "InvitationList",
  description: "A page of the invitations of a world, oldest first.",
  example,
});

export const InvitationsQuery = Type.Object({
  ...PageQuery.properties,
  q: Type.Optional(
    Text({ maxLength: 300, description: "Text in the name or the e-mail address, ignoring case." }),
  ),
  role: Type.Optional(Text({ maxLength: 200 })),
  state: Type.Optional(OneOf(...INVITATION_STATES)),
});

export const InvitationParams = Type.Object({
  ...WorldParams.properties,
  invitation_id: Text({ description: "The id of the invitation." }),
});
