/** The fields that determine whether an announcement is visible. */
interface Announcement {
  readonly state: string;
  /** Time at which the announcement disappears, in milliseconds since 1970; null if it never disappears. */
  readonly show_until: number | null;
}

/** Whether an announcement is visible at a given time. */
export const isVisible = ({ state, show_until }: Announcement, now = Date.now()): boolean =>
  state === "active" && (show_until === null || show_until > now);
