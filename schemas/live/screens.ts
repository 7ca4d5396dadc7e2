import { Type } from "@sinclair/typebox";
import { needsItem, type Shown, shown } from "../plain/stage/screens.js";
import { AlsoCheck } from "../plain/texts.js";
import { OneOf, Text } from "../values.js";
import { onRoom } from "./errors.js";
import { command, Empty, Payload, RoomName, roomName, some } from "./values.js";

const fields = {
  show: OneOf(...shown),
  id: Type.Optional(Type.String({ description: "The question, or the poll." })),
};

const address = { format: "uri" };

/** Commands for the host-controlled screen of a room. */
export const screenCommands = {
  "screen.get": command({
    summary: "What a room's screen shows, and how to participate without a name",
    payload: RoomName,
    result: Type.Object(
      {
        ...fields,
        url: Type.Optional(
          Type.String({ ...address, description: "The anonymous link, if the room has one." }),
        ),
        short: Type.Optional(
          Type.String({ ...address, description: "A short URL for the same link, to type." }),
        ),
      },
      { additionalProperties: false },
    ),
    errors: onRoom,
    example: some.room,
  }),
  "screen.show": command({
    summary: "Sets what a room's screen shows",
    payload: Payload(
      {
        ...roomName,
        show: OneOf(...shown),
        id: Type.Optional(
          Text({
            maxLength: 100,
            description: "The question or the poll, for question, poll and results.",
          }),
        ),
      },
      {
        [AlsoCheck]: ({ show, id }: { show: Shown; id?: string }) =>
          needsItem(show) === (id !== undefined)
            ? {}
            : { id: needsItem(show) ? "This field is required." : `Must be left out for ${show}.` },
      },
    ),
    result: Empty,
    errors: [...onRoom, "question.unknown", "poll.unknown"],
    example: { ...some.room, show: "question" as const, id: some.question },
  }),
} as const;

export const screenPushes = {
  "screen.shown": {
    summary: "The host changed what the screen shows; sent to screens and hosts in the room",
    data: Type.Object({ room: Type.String(), ...fields }, { additionalProperties: false }),
  },
} as const;
