/** Whether a client gets a word for each crowd, or its size as well. */
export type Counting = "words" | "counts";

/** The crowds of a world as they were sent last. */
export interface SentCrowds {
  readonly counting: Counting;
  /** A number that is another one whenever any crowd has changed. */
  readonly changes: number;
  /** The fields of a room about its crowd, as JSON without braces. */
  readonly jsonOf: (room: string) => string;
}
