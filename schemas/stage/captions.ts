import { type Static, Type } from "@sinclair/typebox";
import { time } from "../event-dates.js";
import { CaptionDraft, Language } from "../live/captions.js";
import { CAPTION, captionFormats } from "../plain/stage/captions.js";
import { Expected } from "../plain/texts.js";
import { List, OneOf, PageOf, PageQuery, ref, Text } from "../values.js";

const example = { lang: "en", text: "Welcome to the hall.", final: true };

/** One line, or a list of lines. */
export const CaptionDrafts = Type.Unsafe<CaptionDraft | CaptionDraft[]>(
  Type.Union([ref(CaptionDraft), List(ref(CaptionDraft), CAPTION.lines, { minItems: 1 })], {
    $id: "CaptionDrafts",
    description: `A line of captions, or a list of 1 to ${CAPTION.lines}.`,
    [Expected]: `a line of captions, or a list of 1 to ${CAPTION.lines}`,
    examples: [example],
  }),
);

/** A final line of captions. */
export const Caption = Type.Object(
  {
    lang: Type.String({ description: "A language tag of BCP 47, in its canonical form." }),
    text: Type.String(),
    at: Text({ format: "date-time", description: "When it was spoken." }),
    session_id: Type.Unsafe<string | null>({
      ...Text({ format: "uuid", description: "Null between sessions." }),
      type: ["string", "null"],
    }),
  },
  { $id: "Caption", description: "A line of captions that was spoken in a room." },
);
export type Caption = Static<typeof Caption>;

export const CaptionList = PageOf(Caption, {
  $id: "CaptionList",
  description: "A page of the captions of a room, oldest first.",
  example: {
    lang: "en",
    text: "Welcome to the hall.",
    at: "2027-03-01T09:00:00.000Z",
    session_id: "3d0f6a52-64f4-4c2d-8d0c-6a0e8f3c5b21",
  },
});

/** Selects captions, and their format. */
export const CaptionsQuery = Type.Object({
  ...PageQuery.properties,
  lang: Type.Optional(Language),
  session_id: Type.Optional(
    Text({ maxLength: 100, description: "Only lines spoken in this session in the room." }),
  ),
  after: Type.Optional(Text({ ...time, description: "Only lines spoken after this time." })),
  format: Type.Optional(OneOf(...captionFormats)),
});
export type CaptionsQuery = Static<typeof CaptionsQuery>;
