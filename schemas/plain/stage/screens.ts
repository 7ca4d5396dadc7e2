/** What a room's screen may show. */
export const shown = [
  "welcome",
  "question",
  "poll",
  "results",
  "words",
  "announcement",
  "captions",
  "black",
] as const;
export type Shown = (typeof shown)[number];

/** Whether a screen needs the id of a question or a poll to show. */
export const needsItem = (show: Shown): boolean =>
  show === "question" || show === "poll" || show === "results";

/** What the screen of a room shows, as set by its host. */
export interface RoomScreen {
  readonly show: Shown;
  /** The id of the question or the poll. */
  readonly id?: string;
}
