/** The pages that a link can open. */
export type LinkedPage = "console" | "event";

/**
 * Returns a link to one of a world's pages.
 * @param token signs in whoever opens the link. The token is in the URL fragment, which browsers do
 * not send to the server.
 */
export function linkTo(
  page: LinkedPage,
  { address, world, token }: { address: string; world: string; token?: string },
): string {
  const path = page === "console" ? "console" : "";
  const hash = token === undefined ? "" : `#token=${token}`;
  return `${address}/w/${encodeURIComponent(world)}/${path}${hash}`;
}

/** The characters of codes. None of them can be mistaken for another one. */
export const CODE_CHARACTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

/** The number of characters of a code: there are about 10⁹ codes. */
export const CODE_LENGTH = 6;

const CODE = new RegExp(`^[${CODE_CHARACTERS}]{${CODE_LENGTH}}$`);

/** Returns a code as it is stored, however somebody typed it. Returns undefined for any other text. */
export function codeIn(typed: string): string | undefined {
  const code = typed.replace(/[\s-]/g, "").toUpperCase();
  return CODE.test(code) ? code : undefined;
}

/** Returns a short address for a room's link, which people can type. */
export const shortLink = (address: string, code: string): string => `${address}/j/${code}`;

/** Returns a link that admits people without a name to one room. */
export const inviteLink = (
  { address, world }: { address: string; world: string },
  token: string,
): string => `${address}/w/${encodeURIComponent(world)}/#invite=${token}`;

/** Returns the link of a mail with which somebody signs in once. */
export const loginLink = (
  page: LinkedPage,
  at: { address: string; world: string },
  code: string,
): string => `${linkTo(page, at)}#login=${code}`;

/** Returns the link with which the recipient of a mail ends further mails. */
export const stopLink = (
  { address, world }: { address: string; world: string },
  mail: string,
): string => `${address}/w/${encodeURIComponent(world)}/mails/${mail}/stop`;
