/** The pages that a link may open. */
export type LinkedPage = "console" | "event";

/**
 * A link to a page of a world.
 * @param token signs its reader in. It comes behind the `#`, which browsers do not send.
 */
export function linkTo(
  page: LinkedPage,
  { address, world, token }: { address: string; world: string; token?: string },
): string {
  const path = page === "console" ? "console" : "";
  const hash = token === undefined ? "" : `#token=${token}`;
  return `${address}/w/${encodeURIComponent(world)}/${path}${hash}`;
}

/** A link that lets people into one room without a name. */
export const inviteLink = (
  { address, world }: { address: string; world: string },
  token: string,
): string => `${address}/w/${encodeURIComponent(world)}/#invite=${token}`;
