import { type Static, Type } from "@sinclair/typebox";
import { MAX_PROGRAM, PROGRAM_LISTS, PROGRAM_TEXTS } from "../plain/program.js";
import { roomTemplates } from "../plain/templates.js";
import { List, OneOf, ref, Text, TextOrNull } from "../values.js";
import { Session, SessionDraft, Speaker, SpeakerDraft } from "./program.js";

// Request and response bodies for importing and exporting whole programs.

/** An id in a document: any string that is used consistently within the document. */
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
    // Pictures and users that the world lacks are left out and reported as problems.
    picture: Type.Optional(TextOrNull({ minLength: 1, maxLength: PROGRAM_TEXTS.address })),
    user_id: reference,
  },
  { additionalProperties: false },
);
export type OwnSpeaker = Static<typeof OwnSpeaker>;

/** A program in Foyer's own format. A document may omit either list, and any field except names. */
export const ProgramDraft = Type.Object(
  {
    sessions: Type.Optional(List(OwnSession, MAX_PROGRAM)),
    speakers: Type.Optional(List(OwnSpeaker, MAX_PROGRAM)),
  },
  {
    $id: "ProgramDraft",
    description: "A program in Foyer's own format, as returned by GET.",
    additionalProperties: false,
    // Documentation only: a document without a list of sessions must contain at least one speaker.
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

/** The `schedule.json` format of other programs. It is parsed leniently, because its producers vary. */
export const ScheduleDocument = Type.Unsafe<unknown>({
  ...object(
    { schedule: object({ conference: object({ days: list(day) }, "days") }, "conference") },
    "schedule",
  ),
  $id: "ScheduleDocument",
  description: "The schedule.json of pretalx, frab or the c3voc.",
});

/** The export formats. */
export const programFormats = ["json", "schedule.json", "ics"] as const;
export type ProgramFormat = (typeof programFormats)[number];

export const ExportQuery = Type.Object({ format: Type.Optional(OneOf(...programFormats)) });

const flag = (description: string) =>
  Type.Optional(Type.Unsafe<"true" | "false">({ ...OneOf("true", "false"), description }));

export const ImportQuery = Type.Object({
  dry_run: flag("Change nothing, and return what would happen."),
  create_rooms: flag("Make the rooms that the world lacks. Asks for room.create."),
  preview: flag("Like dry_run, and list what would change, record by record."),
  keep_edits: flag("Keep the fields that were changed by hand since the last import."),
  remove_missing: flag("Delete imported sessions that the document no longer has."),
});
export type ImportQuery = Static<typeof ImportQuery>;

const name = Text({ maxLength: PROGRAM_TEXTS.title });
const uuid = Text({ format: "uuid" });

/** What an organizer decided about a document, which is sent along with it in a form. */
export const ImportChoices = Type.Object(
  {
    rooms: Type.Optional(
      List(
        Type.Object(
          {
            name,
            room_id: Type.Optional(
              TextOrNull({
                format: "uuid",
                description: "The room of the world that it is; null if it is none.",
              }),
            ),
            template: Type.Optional(OneOf(...roomTemplates)),
            like: Type.Optional(
              Text({ format: "uuid", description: "A room to copy modules and rules from." }),
            ),
            same_as: Type.Optional(
              Text({
                maxLength: PROGRAM_TEXTS.title,
                description: "The name in the document whose room it is, in another spelling.",
              }),
            ),
          },
          { additionalProperties: false },
        ),
        MAX_PROGRAM,
      ),
    ),
    speakers: Type.Optional(
      List(Type.Object({ name, speaker_id: uuid }, { additionalProperties: false }), MAX_PROGRAM),
    ),
    replace: Type.Optional(List(uuid, 2 * MAX_PROGRAM)),
  },
  {
    $id: "ImportChoices",
    description:
      "The existing rooms and speakers to which the document's unknown ones correspond, and the records whose manual edits are overwritten even though `keep_edits` is set.",
    additionalProperties: false,
    examples: [{ rooms: [{ name: "Main Hal", template: "stage" }] }],
  },
);
export type ImportChoices = Static<typeof ImportChoices>;

/** A whole program in Foyer's own format. */
export const WholeProgram = Type.Object(
  { sessions: Type.Array(ref(Session)), speakers: Type.Array(ref(Speaker)) },
  {
    $id: "WholeProgram",
    description: "The sessions and speakers that the caller may see.",
    examples: [{ sessions: [], speakers: [] }],
  },
);

const count = Type.Integer({ minimum: 0 });

const near = Type.Array(Type.Object({ id: uuid, name: Type.String() }), {
  description: "Existing records with similar names, which may be the same.",
});
const record = {
  change: OneOf("created", "updated", "deleted", "kept"),
  id: Type.Optional(uuid),
  line: Type.Optional(Type.Integer({ minimum: 1 })),
  fields: Type.Array(
    Type.Object({
      field: Type.String(),
      before: Type.Unknown(),
      after: Type.Unknown(),
      edited: Type.Optional(
        Type.Boolean({ description: "Edited manually since the last import." }),
      ),
      kept: Type.Optional(Type.Boolean({ description: "The import keeps the current value." })),
    }),
    { description: "Rooms and speakers are given by name, and long texts are truncated." },
  ),
};

/** What an import changes, record by record. */
export const ImportLists = Type.Object({
  sessions: Type.Array(Type.Object({ ...record, title: Type.String() })),
  speakers: Type.Array(Type.Object({ ...record, name: Type.String(), near })),
  rooms: Type.Array(Type.Object({ name: Type.String(), sessions: count, near }), {
    description: "The document's rooms that do not exist in the world.",
  }),
});

/** The response to an import. */
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
    changes: Type.Optional(ImportLists),
  },
  {
    $id: "ImportedProgram",
    description:
      "The sessions that an import created, changed, left unchanged and deleted, the rooms that it created, and the problems it found.",
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
