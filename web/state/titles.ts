import type { LiveState } from "../../client/index.js";

/** How many mentions and direct messages are new. */
export const notificationCount = (state: LiveState | undefined): number =>
  Object.values(state?.notificationCounts ?? {}).reduce((sum, count) => sum + count, 0);

/**
 * The title of the window, such as `(3) Hall · Conference`.
 * @param names from the narrowest to the widest; empty ones and repetitions are left out.
 */
export function windowTitle(count: number, ...names: (string | undefined)[]): string {
  const title = [...new Set(names)].filter(Boolean).join(" · ");
  return count > 0 ? `(${count}) ${title}` : title;
}
