/** The fields that decide whether an announcement is visible. */
interface Announcement {
  readonly state: string;
  /** In milliseconds since 1970; null for no end. */
  readonly show_until: number | null;
}

/** Whether an announcement is visible at a time. */
export const isVisible = ({ state, show_until }: Announcement, now = Date.now()): boolean =>
  state === "active" && (show_until === null || show_until > now);
