import { Type } from "@sinclair/typebox";
import { Expected, trait } from "../plain/texts.js";
import { formats } from "../results/results.js";
import { List, OneOf, Text } from "../values.js";
import { AnyObject, command, Id, Nothing, Payload, Whole } from "./values.js";

// Commands about the whole event, for hosts: invitation links, the audit, and results.

/** An audit entry. */
const Audited = Type.Object(
  {
    id: Type.Integer(),
    user: Type.Unsafe<{
      id: string;
      profile: Record<string, unknown>;
      deleted: boolean;
    } | null>(
      Type.Union([
        Type.Object(
          { id: Type.String(), profile: AnyObject, deleted: Type.Boolean() },
          {
            additionalProperties: false,
            description: "The profile contains only the display name.",
          },
        ),
        Type.Null({ description: "The actor was a program, a command or the server." }),
      ]),
    ),
    type: Type.String({ examples: ["room.updated"] }),
    data: Type.Object(
      {},
      {
        additionalProperties: true,
        description: "The ids of the affected records, and `changes`.",
      },
    ),
    timestamp: Type.String({ format: "date-time" }),
  },
  { additionalProperties: false },
);

const reportOptions = Type.Unsafe<{
  format?: "csv" | "xlsx";
  room?: unknown;
  channel?: unknown;
} | null>(
  Type.Union(
    [
      Payload({
        format: Type.Optional(OneOf(...(formats.filter((it) => it !== "json") as ["csv", "xlsx"]))),
        room: Type.Optional(Id),
        channel: Type.Optional(Id),
      }),
      Type.Null(),
    ],
    { [Expected]: "an object with a format, csv or xlsx, or null" },
  ),
);

/**
 * Declares a command whose result names a report.
 * @param of the report's contents.
 */
const report = (of: string) =>
  command({
    summary: `Names a report for world.report.status: ${of}`,
    payload: reportOptions,
    result: Type.Object({ resultid: Type.String() }, { additionalProperties: false }),
    errors: ["room.unknown"],
    example: { format: "csv" },
  });

export const recordCommands = {
  "world.tokens.generate": command({
    summary: "Signs tokens, each for one person, and creates links with them",
    payload: Payload({
      number: Whole({ minimum: 1, maximum: 1000 }),
      traits: List(Text(trait), 100),
      days: Whole({ minimum: 1, maximum: 3660 }),
      long: Type.Optional(
        Type.Boolean({ description: "Whether to return tokens instead of links." }),
      ),
    }),
    result: Type.Object({ results: Type.Array(Type.String()) }, { additionalProperties: false }),
    errors: [],
    example: { number: 2, traits: ["attendee"], days: 7 },
  }),
  "world.auditlog.list": command({
    summary: "The last 1,000 entries of the audit, newest first",
    payload: Nothing,
    result: Type.Object({ results: Type.Array(Audited) }, { additionalProperties: false }),
    errors: [],
    example: null,
  }),
  "world.report.generate.attendee_list": report("the people"),
  "world.report.generate.chat_history": report("the messages in rooms"),
  "world.report.generate.question_history": report("the questions"),
  "world.report.generate.poll_history": report("the polls"),
  "world.report.generate.roomviews": report("who was in which room"),
  "world.report.generate.sessionviews": report("who was in which session"),
  "world.report.generate.views": report("who was where, and when"),
  "world.report.status": command({
    summary: "The URL of a report, which is valid for an hour",
    payload: Payload({ resultid: Id }),
    result: Type.Object(
      { ready: Type.Boolean(), result: Type.String({ format: "uri" }) },
      { additionalProperties: false },
    ),
    errors: [],
    example: { resultid: "attendee_list:csv" },
  }),
} as const;
