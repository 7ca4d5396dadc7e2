import { type Static, Type } from "@sinclair/typebox";
import { Session, Speaker } from "./program.js";
import { OneOf, ref } from "../values.js";

// The bodies of calls that import and export whole programs.

/** The formats of an export. */
export const programFormats = ["json", "schedule.json", "ics"] as const;
export type ProgramFormat = (typeof programFormats)[number];

export const ExportQuery = Type.Object({
  format: Type.Optional(OneOf(...programFormats)),
});

const flag = (description: string) =>
  Type.Optional(
    Type.Unsafe<"true" | "false">({ ...OneOf("true", "false"), description }),
  );

export const ImportQuery = Type.Object({
  dry_run: flag("Change nothing, and answer what would happen."),
  create_rooms: flag(
    "Make the rooms that the world lacks. Asks for room.create.",
  ),
  remove_missing: flag(
    "Delete imported sessions that the document no longer has.",
  ),
});
export type ImportQuery = Static<typeof ImportQuery>;

/** A whole program in Foyer's own form. */
export const WholeProgram = Type.Object(
  {
    sessions: Type.Array(ref(Session)),
    speakers: Type.Array(ref(Speaker)),
  },
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
        session: Type.Optional(
          Type.String({ description: "The title of the session." }),
        ),
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
        problems: [
          {
            line: 12,
            session: "Walk",
            message: "There is no room called “Park”.",
          },
        ],
      },
    ],
  },
);
