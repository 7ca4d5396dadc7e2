// Captions: the transcript of what is being said in a room, in one or several languages.

/** The limits of captions. */
export const CAPTION = {
  /** Maximum number of lines per request. */
  lines: 50,
  /** Maximum length of a line, in characters. */
  text: 500,
  /** Maximum length of a language tag, in characters. */
  lang: 35,
  /** Maximum number of lines in a response over the websocket. */
  page: 500,
  /** Maximum number of languages per room. */
  languages: 100,
} as const;

/** Time after its last line for which a language still counts as spoken, in milliseconds. */
export const SPOKEN_MS = 60_000;

/** Maximum duration of a line's cue, in milliseconds. */
export const CUE_MS = 7000;

/** Maximum time by which a line may be ahead of the server's clock, in milliseconds. */
export const AHEAD_MS = 60_000;

/** The formats in which a room's captions are available. */
export const captionFormats = ["json", "vtt", "txt"] as const;

/**
 * The pattern of a language tag, for schemas. {@link languageIn} decides whether a tag is valid.
 */
export const LANGUAGE_PATTERN = "^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$";

/**
 * Returns a language tag (BCP 47) in its canonical form, such as `pt-BR` for `pt-br`, or undefined
 * if the tag is invalid.
 */
export function languageIn(tag: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(tag)[0];
  } catch {
    return undefined;
  }
}

/** A final line, as stored. */
export interface CaptionLine {
  /** Both in milliseconds since 1970: when it was spoken, and in the order of the list. */
  readonly at: number;
  readonly text: string;
}

const padded = (number: number, digits = 2): string => String(number).padStart(digits, "0");

/**
 * Formats a WebVTT timestamp.
 * @param time in milliseconds.
 */
const cueTime = (time: number): string => {
  const seconds = Math.floor(time / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return `${padded(hours)}:${padded(minutes)}:${padded(seconds % 60)}.${padded(time % 1000, 3)}`;
};

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** The text of a cue is markup, and an empty line would end the cue. */
const cueText = (text: string): string =>
  text.replace(/[&<>]/g, (sign) => ENTITIES[sign]!).replace(/\s+/g, " ");

/**
 * Returns a line's WebVTT cue, with a line break. A cue lasts until the next line, for at most
 * {@link CUE_MS}.
 * @param next the following line in the same language, if there is one.
 * @param start when the recording begins, in milliseconds since 1970. Returns an empty string for a
 * line that was spoken earlier.
 */
export function cueOf({ at, text }: CaptionLine, next: CaptionLine | undefined, start: number) {
  // Lines with the same timestamp share the available time, so that each cue has a duration.
  const end = Math.min(at + CUE_MS, next && next.at > at ? next.at : Infinity);
  if (end <= start) return "";
  return `\n${cueTime(Math.max(0, at - start))} --> ${cueTime(end - start)}\n${cueText(text)}\n`;
}
