import type { Entry } from "../../db/log/entries.js";

/** Whether texts of earlier entries may be gone. */
export const isErasing = (entry: Entry): boolean =>
  entry.type === "user.erased" ||
  entry.type === "chat.erased" ||
  (entry.type === "chat.event" && entry.delivery.event.replaces !== null);
