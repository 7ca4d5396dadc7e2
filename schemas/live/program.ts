import { type Static, Type } from "@sinclair/typebox";
import { EventDates } from "../event-dates.js";
import { Session, Speaker } from "../program/program.js";
import { OVERRUN_MINUTES } from "../plain/program.js";
import { MAX_RUN_MINUTES, RUN_MINUTES, runActions } from "../plain/stage/run.js";
import { AlsoCheck } from "../plain/texts.js";
import { OneOf, ref, Text } from "../values.js";
import { onRoom } from "./errors.js";
import { command, Empty, Id, Payload, roomName, some } from "./values.js";

const always = {
  version: Type.String({
    description:
      "Identifies the state that the receiver sees. It changes with every visible change, and is never reused.",
  }),
  now: Type.String({
    format: "date-time",
    description: "The server's time, for countdowns.",
  }),
  favorites: Type.Array(Type.String(), {
    description: "The sessions that the receiver marked and still sees.",
  }),
};

/** A program as its receiver sees it. The optional fields are omitted if the receiver already has this version. */
export const SentProgram = Type.Object(
  {
    ...always,
    event: Type.Optional(Type.Unsafe<EventDates | null>(Type.Union([EventDates, Type.Null()]))),
    timezone: Type.Optional(Type.String({ description: "The event's IANA time zone." })),
    sessions: Type.Optional(Type.Array(ref(Session))),
    speakers: Type.Optional(Type.Array(ref(Speaker))),
    overrun_minutes: Type.Optional(
      Type.Integer({
        description: `For how long streams continue after a session; omitted if ${OVERRUN_MINUTES}.`,
      }),
    ),
    moved: Type.Optional(
      Type.Array(
        Type.Object(
          {
            session: Type.String(),
            starts_at: Type.String({ format: "date-time" }),
            room_id: Type.Union([Type.String(), Type.Null()]),
          },
          { additionalProperties: false },
        ),
        { description: "The favorites that have moved, with their former start and room." },
      ),
    ),
  },
  { additionalProperties: false },
);
export type SentProgram = Static<typeof SentProgram>;

export const programCommands = {
  "program.get": command({
    summary: "The program, or only its version if the receiver has it",
    payload: Payload({
      version: Type.Optional(Text({ description: "The version that the client has." })),
    }),
    result: SentProgram,
    errors: [],
    example: {},
  }),
  "program.link": command({
    summary: "The program's calendar URL, with the user's rights",
    payload: Payload({
      renew: Type.Optional(Type.Boolean({ description: "Revoke the previous URL." })),
    }),
    result: Type.Object(
      { url: Type.String({ description: "Keep it secret." }) },
      { additionalProperties: false },
    ),
    errors: [],
    example: {},
  }),
  "program.favorite": command({
    summary: "Marks a session as a favorite, or removes the mark",
    payload: Payload({ session: Id, on: Type.Boolean() }),
    result: Empty,
    errors: ["program.unknown", "program.too_many"],
    example: { session: "3d0f6a52-64f4-4c2d-8d0c-6a0e8f3c5b21", on: true },
  }),
} as const;

export const sessionCommands = {
  "session.run": command({
    summary:
      "Starts, extends, holds or ends a session in a room, and delays the sessions that follow",
    payload: Payload(
      {
        ...roomName,
        session: Id,
        action: OneOf(...runActions),
        minutes: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: MAX_RUN_MINUTES,
            description: `By how many minutes to extend; ${RUN_MINUTES} by default.`,
          }),
        ),
      },
      {
        [AlsoCheck]: ({ action, minutes }: { action: string; minutes?: number }) =>
          minutes === undefined || action === "plus"
            ? {}
            : { minutes: "Must be left out, except with plus." },
      },
    ),
    result: Type.Object(
      { moved: Type.Array(Type.String(), { description: "The sessions that changed." }) },
      { additionalProperties: false },
    ),
    errors: [...onRoom, "program.unknown", "program.not_on"],
    example: {
      ...some.room,
      session: "3d0f6a52-64f4-4c2d-8d0c-6a0e8f3c5b21",
      action: "plus",
      minutes: 5,
    },
  }),
} as const;

export const programPushes = {
  "program.updated": {
    summary: "The part of the program that the receiver sees has changed; fetch it again",
    data: Type.Object({ version: always.version }, { additionalProperties: false }),
  },
  "program.favorites": {
    summary: "The user changed their favorites over another connection",
    data: Type.Object({ favorites: always.favorites }, { additionalProperties: false }),
  },
} as const;
