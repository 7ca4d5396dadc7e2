import { type Static, Type } from "@sinclair/typebox";
import { time, TimeOrNull } from "../event-dates.js";
import { PROGRAM_LISTS, PROGRAM_TEXTS } from "../plain/program.js";
import { Expected, visible } from "../plain/texts.js";
import { List, OneOf, PageOf, PageQuery, Text, TextOrNull } from "../values.js";
import { WorldParams } from "../worlds.js";

// Sessions and speakers. Rules that a schema cannot express are in db/rules/program-checks.ts.

const texts = PROGRAM_TEXTS;

const named = Text({ ...visible, maxLength: texts.title });
const label = Text({ maxLength: texts.label });
const address = {
  maxLength: texts.address,
  pattern: "^[hH][tT][tT][pP][sS]?://[^\\s\\u0000]+$",
  [Expected]: "an address that begins with http:// or https://",
};
const Address = Text(address);

/** The URL of a stream, or a path on this server. */
const StreamAddress = Text({
  ...address,
  pattern: "^([hH][tT][tT][pP][sS]?://[^\\s\\u0000]+|/(?![/\\\\])[^\\s\\u0000]*)$",
  [Expected]: "an address that begins with http:// or https://, or a path of this server",
});

const Link = Type.Object(
  { title: Text({ maxLength: texts.title }), url: Address },
  { additionalProperties: false },
);

/** Makes an object schema nullable. */
const orNull = <T>(schema: T) =>
  Type.Union([schema as never, Type.Null()], { [Expected]: "null or an object of its form" });

const Stream = Type.Object(
  {
    url: StreamAddress,
    alternatives: Type.Optional(
      List(
        Type.Object(
          {
            label: Text({ minLength: 1, maxLength: texts.label }),
            url: StreamAddress,
            language: Type.Optional(label),
          },
          { additionalProperties: false },
        ),
        PROGRAM_LISTS.alternatives,
      ),
    ),
  },
  { additionalProperties: false },
);
type Stream = Static<typeof Stream>;

const Recording = Type.Object({ url: Address }, { additionalProperties: false });
type Recording = Static<typeof Recording>;

/** Malformed ids pass this schema: like unknown ids, they are refused later, with a reason. */
const id = { maxLength: 100, format: "uuid" };
const IdOrNull = TextOrNull(id);

const sessionFields = {
  subtitle: Text({ maxLength: texts.subtitle }),
  abstract: Text({ maxLength: texts.abstract, description: "Markdown." }),
  description: Text({ maxLength: texts.description, description: "Markdown." }),
  room_id: IdOrNull,
  starts_at: TimeOrNull,
  ends_at: TimeOrNull,
  speaker_ids: List(Text(id), PROGRAM_LISTS.speakers),
  track: label,
  language: label,
  kind: label,
  tags: List(Text({ minLength: 1, maxLength: texts.tag }), PROGRAM_LISTS.tags),
  links: List(Link, PROGRAM_LISTS.links),
  stream: Type.Unsafe<Stream | null>(orNull(Stream)),
  recording: Type.Unsafe<Recording | null>(orNull(Recording)),
  import_id: TextOrNull({ minLength: 1, maxLength: texts.importId }),
  state: OneOf("public", "draft"),
};

/** How a host ended a session, or did not. */
const Overrun = Type.Unsafe<"held" | "ended" | null>(
  Type.Union([OneOf("held", "ended"), Type.Null()], {
    [Expected]: "held, ended or null",
    description:
      "held: the session continues beyond its end until a host ends it. ended: its stream ended with it. Changing its times, or null, resets this.",
  }),
);

const sessionExample = {
  id: "3d0f6a52-64f4-4c2d-8d0c-6a0e8f3c5b21",
  title: "Maps for everyone",
  subtitle: "",
  abstract: "How volunteers map *every* street.",
  description: "",
  room_id: "5f8b1c9e-3a52-4d0e-9f57-1f0a6a3f9f11",
  starts_at: "2027-03-01T09:00:00.000Z",
  ends_at: "2027-03-01T09:40:00.000Z",
  speaker_ids: ["a1f6a0c6-3d55-4f37-8ab5-0d6f7c1e9b42"],
  track: "Community",
  language: "en",
  kind: "Talk",
  tags: ["maps"],
  links: [{ title: "Slides", url: "https://slides.example.org/maps" }],
  stream: null,
  recording: null,
  import_id: null,
  state: "public" as const,
};

/** A part of the program: a talk, a workshop, a break. */
export const Session = Type.Object(
  {
    id: Text({ format: "uuid" }),
    title: named,
    ...sessionFields,
    overrun: Type.Optional(OneOf("held", "ended")),
  },
  {
    $id: "Session",
    description: "A part of the program. Without times it is not scheduled yet. Times are in UTC.",
    examples: [sessionExample],
  },
);
export type Session = Static<typeof Session>;

const Warning = Type.Object({
  field: Type.String(),
  message: Type.String(),
  session_id: Type.String(),
});
export type Warning = Static<typeof Warning>;

/** The response after a session is created or updated. */
export const WrittenSession = Type.Object(
  {
    ...Session.properties,
    warnings: Type.Optional(
      Type.Array(Warning, { description: "Other sessions in its room at the same time." }),
    ),
  },
  {
    $id: "WrittenSession",
    description: "A session as stored, and warnings about it.",
    examples: [
      {
        ...sessionExample,
        warnings: [
          {
            field: "starts_at",
            message: "Overlaps “Opening”.",
            session_id: "b6a1c0de-72a5-4d8c-8a0b-3f2f5d7a9c10",
          },
        ],
      },
    ],
  },
);

const { id: _id, ...sessionDraftExample } = sessionExample;

/** The condition that a field is present and a string. */
const given = (field: string) => ({
  required: [field],
  properties: { [field]: { type: "string" } },
});

/** The fields of a new session. Only the title has no default. */
export const SessionDraft = Type.Object(
  {
    title: named,
    ...Type.Partial(Type.Object(sessionFields)).properties,
    overrun: Type.Optional(Overrun),
  },
  {
    $id: "SessionDraft",
    description: "A new session. It has both times or neither. Unknown fields are refused.",
    additionalProperties: false,
    // Documentation only: a separate check of the times produces a clearer message.
    if: { anyOf: [given("starts_at"), given("ends_at")] },
    then: { allOf: [given("starts_at"), given("ends_at")] },
    examples: [sessionDraftExample],
  },
);
export type SessionDraft = Static<typeof SessionDraft>;

const SameId = Text({ description: "Must equal the current value, if present.", readOnly: true });

/** The changes to a session. */
export const SessionChanges = Type.Partial(
  Type.Object({ id: SameId, title: named, ...sessionFields, overrun: Overrun }),
  {
    $id: "SessionChanges",
    description: "The fields of a session to replace. Unknown fields are refused.",
    additionalProperties: false,
    examples: [{ title: "Maps for all" }],
  },
);
export type SessionChanges = Static<typeof SessionChanges>;

const speakerFields = {
  biography: Text({ maxLength: texts.biography, description: "Markdown." }),
  organization: Text({ maxLength: texts.organization }),
  links: List(Link, PROGRAM_LISTS.links),
  picture: TextOrNull({
    maxLength: texts.address,
    pattern: "/media/pub/[^/\\u0000]+/[^/\\u0000]+$",
    [Expected]: "the address of an upload of this world",
    description: "The address of an upload of this world.",
  }),
  user_id: TextOrNull({
    ...id,
    description: "A user of the world, whose profile opens from the name.",
  }),
  import_id: TextOrNull({ minLength: 1, maxLength: texts.importId }),
};

const speakerExample = {
  id: "a1f6a0c6-3d55-4f37-8ab5-0d6f7c1e9b42",
  name: "Ada Example",
  biography: "Maps *cities*.",
  organization: "Open Maps",
  links: [],
  picture: null,
  user_id: null,
  import_id: null,
};

/** A person in the program. */
export const Speaker = Type.Object(
  { id: Text({ format: "uuid" }), name: named, ...speakerFields },
  {
    $id: "Speaker",
    description:
      "A speaker of the program. Only sessions make a speaker visible, except to callers with program.update.",
    examples: [speakerExample],
  },
);
export type Speaker = Static<typeof Speaker>;

const { id: _speakerId, ...speakerDraftExample } = speakerExample;

/** The fields of a new speaker. Only the name has no default. */
export const SpeakerDraft = Type.Object(
  { name: named, ...Type.Partial(Type.Object(speakerFields)).properties },
  {
    $id: "SpeakerDraft",
    description: "A new speaker. Unknown fields are refused.",
    additionalProperties: false,
    examples: [speakerDraftExample],
  },
);
export type SpeakerDraft = Static<typeof SpeakerDraft>;

/** The changes to a speaker. */
export const SpeakerChanges = Type.Partial(
  Type.Object({ id: SameId, name: named, ...speakerFields }),
  {
    $id: "SpeakerChanges",
    description: "The fields of a speaker to replace. Unknown fields are refused.",
    additionalProperties: false,
    examples: [{ organization: "Maps for all" }],
  },
);
export type SpeakerChanges = Static<typeof SpeakerChanges>;

/** A request to merge two records of one person. */
export const SpeakerMerge = Type.Object(
  { speaker_id: Text({ ...id, description: "The record to delete." }) },
  {
    $id: "SpeakerMerge",
    description: "The other record of the same person.",
    additionalProperties: false,
    examples: [{ speaker_id: "c2a7b1d7-4e66-4a48-9bc6-1e7a8d2fac53" }],
  },
);

export const SessionParams = Type.Object({
  ...WorldParams.properties,
  session_id: Type.String({
    description: "The identifier of a session.",
    examples: [sessionExample.id],
  }),
});

export const SpeakerParams = Type.Object({
  ...WorldParams.properties,
  speaker_id: Type.String({
    description: "The identifier of a speaker.",
    examples: [speakerExample.id],
  }),
});

/** Query parameters for listing sessions. */
export const SessionsQuery = Type.Object({
  ...PageQuery.properties,
  room: Type.Optional(Text({ description: "Sessions in the room of this id." })),
  speaker: Type.Optional(Text({ description: "Sessions of the speaker of this id." })),
  track: Type.Optional(Text({ description: "Sessions of this track." })),
  from: Type.Optional(Text({ ...time, description: "Sessions that end after this time." })),
  to: Type.Optional(Text({ ...time, description: "Sessions that begin before this time." })),
  search: Type.Optional(
    Text({
      description: "Sessions whose title, texts, track, tags or speakers contain this text.",
    }),
  ),
});
export type SessionsQuery = Static<typeof SessionsQuery>;

/** A page of the sessions that the caller may see. */
export const SessionList = PageOf(Session, {
  $id: "SessionList",
  description:
    "A page of the sessions that the caller may see, by their start; sessions without one come last.",
  example: sessionExample,
});

/** A page of the speakers that the caller may see. */
export const SpeakerList = PageOf(Speaker, {
  $id: "SpeakerList",
  description: "A page of the speakers that the caller may see, by name.",
  example: speakerExample,
});
