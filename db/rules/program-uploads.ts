/**
 * The key of the upload at an address: `pub/<world>/<id>.<secret>.<extension>`.
 * @param hosts under which the world can be reached, as `URL.host` has them.
 * @returns undefined if it is no address of an upload of this world.
 */
export function uploadKey(
  url: string,
  world: string,
  hosts: readonly string[],
): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const { protocol, host, pathname, username, search, hash } = new URL(url);
  if (protocol !== "https:" && protocol !== "http:") return undefined;
  if (username + search + hash !== "" || !hosts.includes(host)) {
    return undefined;
  }
  const prefix = "/media/";
  const key = pathname.slice(prefix.length);
  const isKey = pathname.startsWith(prefix) && key.startsWith(`pub/${world}/`);
  // As the address was written: `new URL` resolves dots, and drops line ends.
  return isKey && url.endsWith(pathname) ? key : undefined;
}

/** The host of an address or a domain, as `URL.host` has it; nothing for none. */
export const hostOf = (address: string | undefined): string[] => {
  if (address === undefined) return [];
  const url = address.includes("://") ? address : `https://${address}`;
  return URL.canParse(url) ? [new URL(url).host] : [];
};
