// Captions: what is being said in a room, as text, in one or several languages.

/** The limits of captions. */
export const CAPTION = {
  /** The most lines of one request. */
  lines: 50,
  /** The length of a line, in characters. */
  text: 500,
  /** The length of a language tag, in characters. */
  lang: 35,
  /** The most lines of an answer over the websocket. */
  page: 500,
  /** The most languages of a room. */
  languages: 100,
} as const;

/** How long a language counts as spoken after its last line, in milliseconds. */
export const SPOKEN_MS = 60_000;

/** How long the cue of a line lasts at most, in milliseconds. */
export const CUE_MS = 7000;

/** How far ahead of the server's clock the time of a line may be, in milliseconds. */
export const AHEAD_MS = 60_000;

/** The formats in which a room's captions are read. */
export const captionFormats = ["json", "vtt", "txt"] as const;

/** The shape of a language tag, for schemas. {@link languageIn} decides. */
export const LANGUAGE_PATTERN = "^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$";

/**
 * Returns a language tag (BCP 47) in its canonical form, such as `pt-BR` for `pt-br`; undefined if
 * it is none.
 */
export function languageIn(tag: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(tag)[0];
  } catch {
    return undefined;
  }
}

/** A final line, as kept. */
export interface CaptionLine {
  /** Both in milliseconds since 1970: when it was spoken, and in the order of the list. */
  readonly at: number;
  readonly text: string;
}

const padded = (number: number, digits = 2): string => String(number).padStart(digits, "0");

/** A time of WebVTT. @param time in milliseconds. */
const cueTime = (time: number): string => {
  const seconds = Math.floor(time / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return `${padded(hours)}:${padded(minutes)}:${padded(seconds % 60)}.${padded(time % 1000, 3)}`;
};

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** A cue's text is markup, and an empty line would end the cue. */
const cueText = (text: string): string =>
  text.replace(/[&<>]/g, (sign) => ENTITIES[sign]!).replace(/\s+/g, " ");

/**
 * Returns the WebVTT cue of a line, with the line's end. A cue lasts until the next line, at most
 * {@link CUE_MS}.
 * @param next the following line in its language, if there is one.
 * @param start when the recording begins, in milliseconds since 1970. What was spoken before it has
 * no cue, and the function returns an empty string.
 */
export function cueOf({ at, text }: CaptionLine, next: CaptionLine | undefined, start: number) {
  // Several lines with the same time share it, so that none is without a duration.
  const end = Math.min(at + CUE_MS, next && next.at > at ? next.at : Infinity);
  if (end <= start) return "";
  return `\n${cueTime(Math.max(0, at - start))} --> ${cueTime(end - start)}\n${cueText(text)}\n`;
}
