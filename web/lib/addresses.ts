/** Where uploads are. */
const MEDIA = /\/media\/pub\/[a-z0-9-]+\/[\w.-]+$/;

/**
 * The address of an upload on the server of this page; undefined for any other address.
 * An upload carries the domain of its upload, which may be another name of the same
 * server. The pages load nothing from other servers.
 * @param url untrusted text.
 * @param base the address of the server.
 */
export function mediaAddress(url: unknown, base: string): string | undefined {
  if (typeof url !== "string" || !URL.canParse(url, base)) return undefined;
  const { protocol, pathname } = new URL(url, base);
  const path = /^https?:$/.test(protocol) && MEDIA.exec(pathname)?.[0];
  return path ? new URL(`.${path}`, base).href : undefined;
}

/** An address of the web that a link or a frame may have; undefined for any other text. */
export function webAddress(url: unknown): string | undefined {
  if (typeof url !== "string" || !URL.canParse(url)) return undefined;
  const { protocol, href } = new URL(url);
  return protocol === "https:" || protocol === "http:" ? href : undefined;
}

const PICTURES = /\.(?:png|jpe?g|gif|webp|svg)$/i;

/** The address of an uploaded picture, as {@link mediaAddress} has it; undefined for other files. */
export function pictureOf(url: unknown, base: string): string | undefined {
  const own = mediaAddress(url, base);
  return own !== undefined && PICTURES.test(own) ? own : undefined;
}
