import { type Static, Type } from "@sinclair/typebox";
import { MAX_PROGRAM, PROGRAM_LISTS, PROGRAM_TEXTS } from "../plain/program.js";
import { List, OneOf, ref, Text, TextOrNull } from "../values.js";
import { Session, SessionDraft, Speaker, SpeakerDraft } from "./program.js";

// The bodies of calls that import and export whole programs.

/** An id in a document: any text that its parts agree on. */
const id = Type.Optional(Text({ minLength: 1, maxLength: 100 }));
const reference = Type.Optional(TextOrNull({ maxLength: 100 }));

const OwnSession = Type.Object(
  {
    id,
    ...SessionDraft.properties,
    room_id: reference,
    speaker_ids: Type.Optional(List(Text({ maxLength: 100 }), PROGRAM_LISTS.speakers)),
  },
  { additionalProperties: false },
);
export type OwnSession = Static<typeof OwnSession>;

const OwnSpeaker = Type.Object(
  {
    id,
    ...SpeakerDraft.properties,
    // What the world lacks is left out, with a problem.
    picture: Type.Optional(TextOrNull({ minLength: 1, maxLength: PROGRAM_TEXTS.address })),
    user_id: reference,
  },
  { additionalProperties: false },
);
export type OwnSpeaker = Static<typeof OwnSpeaker>;

/** Foyer's own form of a program. A document may leave out either list, as it may any field but names. */
export const ProgramDraft = Type.Object(
  {
    sessions: Type.Optional(List(OwnSession, MAX_PROGRAM)),
    speakers: Type.Optional(List(OwnSpeaker, MAX_PROGRAM)),
  },
  {
    $id: "ProgramDraft",
    description: "Foyer's own form of a program, as GET answers it.",
    additionalProperties: false,
    // For readers of the document. Without sessions, there are speakers.
    if: { not: { required: ["sessions"] } },
    then: { required: ["speakers"], properties: { speakers: { minItems: 1 } } },
    examples: [{ sessions: [{ title: "Maps for everyone" }] }],
  },
);

const list = (items: object) => ({ type: "array", items });
const object = (properties: object, ...required: string[]) => ({
  type: "object",
  properties,
  required,
  additionalProperties: {},
});
const event = object({
  guid: { type: "string" },
  title: { type: "string" },
  date: { type: "string", format: "date-time" },
  start: { type: "string" },
  duration: { type: "string" },
  persons: list(object({})),
});
const day = object({
  date: { type: "string", format: "date" },
  rooms: { type: "object", additionalProperties: list(event) },
});

/** The `schedule.json` of other programs. It is read as leniently as its authors write it. */
export const ScheduleDocument = Type.Unsafe<unknown>({
  ...object(
    { schedule: object({ conference: object({ days: list(day) }, "days") }, "conference") },
    "schedule",
  ),
  $id: "ScheduleDocument",
  description: "The schedule.json of pretalx, frab or the c3voc.",
});

/** The formats of an export. */
export const programFormats = ["json", "schedule.json", "ics"] as const;
export type ProgramFormat = (typeof programFormats)[number];

export const ExportQuery = Type.Object({ format: Type.Optional(OneOf(...programFormats)) });

const flag = (description: string) =>
  Type.Optional(Type.Unsafe<"true" | "false">({ ...OneOf("true", "false"), description }));

export const ImportQuery = Type.Object({
  dry_run: flag("Change nothing, and answer what would happen."),
  create_rooms: flag("Make the rooms that the world lacks. Asks for room.create."),
  remove_missing: flag("Delete imported sessions that the document no longer has."),
});
export type ImportQuery = Static<typeof ImportQuery>;

/** A whole program in Foyer's own form. */
export const WholeProgram = Type.Object(
  { sessions: Type.Array(ref(Session)), speakers: Type.Array(ref(Speaker)) },
  {
    $id: "WholeProgram",
    description: "The sessions and speakers that the caller may see.",
    examples: [{ sessions: [], speakers: [] }],
  },
);

const count = Type.Integer({ minimum: 0 });

/** The answer to an import. */
export const ImportedProgram = Type.Object(
  {
    created: count,
    updated: count,
    unchanged: count,
    deleted: count,
    rooms_created: count,
    problems: Type.Array(
      Type.Object({
        line: Type.Optional(Type.Integer({ minimum: 1 })),
        session: Type.Optional(Type.String({ description: "The title of the session." })),
        message: Type.String(),
      }),
    ),
  },
  {
    $id: "ImportedProgram",
    description:
      "The sessions that an import made, changed, left and deleted, the rooms that it made, and what it left out or had to decide.",
    examples: [
      {
        created: 1,
        updated: 0,
        unchanged: 119,
        deleted: 0,
        rooms_created: 0,
        problems: [{ line: 12, session: "Walk", message: "There is no room called “Park”." }],
      },
    ],
  },
);
