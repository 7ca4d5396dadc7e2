/** The longest address that a sign-in leads to, in characters. */
const MAX_LENGTH = 500;

/** A room that the address of a page shows. */
const ROOM = /^#\/rooms\/([\w-]{1,100})$/;

/**
 * The page to which a sign-in leads: what `?to=` asks for if that is a page of the event, or else its
 * first page.
 * @param to a path, as the page that began the sign-in has it.
 * @param base the URL of the server, without a slash at its end.
 * @param isHere whether the host of the request names the world, too.
 * @returns a path from the base on, perhaps with a query, and with `#/rooms/…`.
 */
export function destinationOf(
  to: unknown,
  { base, world, isHere }: { base: string; world: string; isHere: boolean },
): string {
  const first = `/w/${world}/`;
  if (typeof to !== "string" || to.length > MAX_LENGTH) return first;
  // Browsers read a backslash as a slash, and drop tabs and line ends.
  if (!/^\/(?![/\\])[^\\\s]*$/.test(to) || !URL.canParse(to, base))
    return first;
  const root = new URL(base);
  const { origin, pathname, search, hash } = new URL(to, root);
  const folder = root.pathname.replace(/\/$/, "");
  if (origin !== root.origin || !pathname.startsWith(`${folder}/`))
    return first;
  const path = pathname.slice(folder.length);
  const own = new RegExp(`^/w/${world}(/(?!sign-in)[\\w/-]*)?$`);
  const isOwn = own.test(path) || (isHere && /^\/(console\/?)?$/.test(path));
  return isOwn ? path + search + (ROOM.test(hash) ? hash : "") : first;
}

/** The address of a page that gets a token. */
export function withToken(destination: string, token: string): string {
  const [page = "", room] = destination.split("#/rooms/");
  return `${page}#token=${token}${room === undefined ? "" : `&room=${room}`}`;
}
