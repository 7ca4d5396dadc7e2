import { type Static, Type } from "@sinclair/typebox";
import { time } from "../event-dates.js";
import { CAPTION, LANGUAGE_PATTERN, languageIn } from "../plain/stage/captions.js";
import { timeIn } from "../plain/times.js";
import { AlsoCheck, Expected, visible } from "../plain/texts.js";
import { List, ref, Text } from "../values.js";
import { onRoom } from "./errors.js";
import { command, Empty, Payload, roomName, some } from "./values.js";

/** A language tag. {@link captionFaults} makes the checks that a pattern cannot express. */
export const Language = Text({
  minLength: 2,
  maxLength: CAPTION.lang,
  pattern: LANGUAGE_PATTERN,
  description: "A language tag of BCP 47, such as `de` or `pt-BR`.",
  [Expected]: "a language tag such as de or pt-BR",
});

/** A line of captions, as sent to a room. */
export const CaptionDraft = Type.Object(
  {
    lang: Language,
    text: Text({ ...visible, maxLength: CAPTION.text }),
    final: Type.Boolean({
      description:
        "Whether the line is kept. A line that is not final is replaced by the next one.",
    }),
    at: Type.Optional(
      Text({ ...time, description: "When the line was spoken; defaults to the time of arrival." }),
    ),
    session_id: Type.Optional(
      Text({
        format: "uuid",
        maxLength: 100,
        description: "The session in which the line was spoken; defaults to the current session.",
      }),
    ),
  },
  {
    $id: "CaptionDraft",
    description: "A line of captions to show in a room.",
    additionalProperties: false,
    examples: [{ lang: "en", text: "Welcome to the hall.", final: true }],
  },
);
export type CaptionDraft = Static<typeof CaptionDraft>;

/** Returns the fault of a language tag that matches the pattern, if any. */
const languageFault = (lang: string): string | undefined =>
  languageIn(lang) === undefined ? "Must be a language tag such as de or pt-BR." : undefined;

/**
 * Returns the faults of lines that match their schema, by field.
 * @param nameOf returns the name of a line's field.
 */
function captionFaults(
  lines: readonly CaptionDraft[],
  nameOf: (index: number, field: string) => string,
): Record<string, string> {
  const faults: Record<string, string> = {};
  for (const [i, { lang, at }] of lines.entries()) {
    const fault = languageFault(lang);
    if (fault) faults[nameOf(i, "lang")] = fault;
    if (at !== undefined && !((timeIn(at) ?? -1) >= 0)) {
      faults[nameOf(i, "at")] = "Must be a valid time.";
    }
  }
  return faults;
}

/** Returns the faults of a command that selects a language. */
function askedFaults({ lang }: { lang?: string | null }): Record<string, string> {
  const fault = lang == null ? undefined : languageFault(lang);
  return fault === undefined ? {} : { lang: fault };
}

/** A command contains either a single line, beside the room, or a list of lines. */
interface SentCaptions extends Partial<CaptionDraft> {
  readonly captions?: readonly CaptionDraft[];
}

const FIELDS = Object.keys(CaptionDraft.properties) as (keyof CaptionDraft)[];
const NEEDED = ["lang", "text", "final"] as const;

/** Returns the lines in a command that {@link sentFaults} has accepted. */
export const linesIn = (sent: SentCaptions): readonly CaptionDraft[] =>
  sent.captions ?? [sent as CaptionDraft];

function sentFaults(sent: SentCaptions): Record<string, string> {
  const isList = sent.captions !== undefined;
  const wrong = (isList ? FIELDS : NEEDED).filter(
    (field) => (sent[field] !== undefined) === isList,
  );
  if (wrong.length > 0) {
    const message = isList ? "May not be used with captions." : "This field is required.";
    return Object.fromEntries(wrong.map((field) => [field, message]));
  }
  return captionFaults(linesIn(sent), (i, field) => (isList ? `captions.${i}.${field}` : field));
}

const example = { lang: "en", text: "Welcome to the", final: false };

const Languages = Type.Array(Type.String(), {
  description: "The languages with a line in the last minute, sorted.",
});

export const captionCommands = {
  "room.captions": command({
    summary:
      "Subscribes to a room's captions in one language, replacing any earlier subscription to the room",
    payload: Payload(
      {
        ...roomName,
        lang: Type.Unsafe<string | null>({
          ...Language,
          type: ["string", "null"],
          description: "Null ends the subscription.",
        }),
      },
      {
        [AlsoCheck]: askedFaults,
      },
    ),
    result: Empty,
    errors: onRoom,
    example: { ...some.room, lang: "en" },
  }),
  "room.captions.list": command({
    summary: "A room's final lines in one language, in the order in which they were spoken",
    payload: Payload(
      {
        ...roomName,
        lang: Type.Optional(Language),
        session_id: Type.Optional(Text({ maxLength: 100 })),
        after: Type.Optional(
          Text({
            pattern: "^[0-9]{1,15}-[0-9]{1,15}$",
            description: "`next` from a previous response.",
          }),
        ),
      },
      { [AlsoCheck]: askedFaults },
    ),
    result: Type.Object(
      {
        captions: Type.Array(
          Type.Object(
            {
              lang: Type.String(),
              text: Type.String(),
              at: Text({ format: "date-time" }),
            },
            { additionalProperties: false },
          ),
          { description: `At most ${CAPTION.page}.` },
        ),
        next: Type.Unsafe<string | null>({
          type: ["string", "null"],
          description: "Selects the lines that follow; null at the end.",
        }),
        languages: Type.Array(Type.String(), {
          description: "The languages of the room, or of the session.",
        }),
      },
      { additionalProperties: false },
    ),
    errors: onRoom,
    example: { ...some.room, lang: "en" },
  }),
  "room.captions.send": command({
    summary: "Sends lines of captions to a room",
    payload: Payload(
      {
        ...roomName,
        captions: Type.Optional(List(ref(CaptionDraft), CAPTION.lines, { minItems: 1 })),
        ...Type.Partial(CaptionDraft).properties,
      },
      { [AlsoCheck]: sentFaults },
    ),
    result: Empty,
    errors: onRoom,
    example: { ...some.room, captions: [example] },
  }),
} as const;

export const captionPushes = {
  "room.caption": {
    summary:
      "A line of captions in the language to which the connection subscribes. It replaces the previous line unless that line is final",
    data: Type.Object(
      { room: Type.String(), lang: Type.String(), text: Type.String(), final: Type.Boolean() },
      { additionalProperties: false },
    ),
  },
  "room.caption_languages": {
    summary: "The languages that are spoken in a room; sent to everyone in it",
    data: Type.Object(
      { room: Type.String(), languages: Languages },
      { additionalProperties: false },
    ),
  },
} as const;
