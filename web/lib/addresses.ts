/** An upload's path. */
const MEDIA = /\/media\/pub\/[a-z0-9-]+\/[\w.-]+$/;

/**
 * Returns the address of an upload on this page's server, or undefined for any other address. An
 * upload's address contains the domain at the time of the upload, which may be a different name for
 * the same server. The pages load nothing from other servers.
 * @param url untrusted text.
 * @param base the server's address.
 */
export function mediaAddress(url: unknown, base: string): string | undefined {
  if (typeof url !== "string" || !URL.canParse(url, base)) return undefined;
  const { protocol, pathname } = new URL(url, base);
  const path = /^https?:$/.test(protocol) && MEDIA.exec(pathname)?.[0];
  return path ? new URL(`.${path}`, base).href : undefined;
}

/** Returns an http(s) address, which is safe for links and frames, or undefined for any other text. */
export function webAddress(url: unknown): string | undefined {
  if (typeof url !== "string" || !URL.canParse(url)) return undefined;
  const { protocol, href } = new URL(url);
  return protocol === "https:" || protocol === "http:" ? href : undefined;
}

const PICTURES = /\.(?:png|jpe?g|gif|webp|svg)$/i;

/** Returns an uploaded picture's address, as {@link mediaAddress} does, or undefined for other files. */
export function pictureOf(url: unknown, base: string): string | undefined {
  const own = mediaAddress(url, base);
  return own !== undefined && PICTURES.test(own) ? own : undefined;
}

/** The size to which pictures for whole pages are scaled down when they are uploaded, in pixels. */
export const LARGE = { width: 1920, height: 1920 };

/** The same for pictures that are only shown small, such as faces. */
export const SMALL = { width: 640, height: 640 };

/** The media query of screens on which a preview is wide enough for the whole width. */
export const NARROW = "(max-width: 640px)";

/**
 * Returns the address of an uploaded picture's preview: at most 640 by 640 pixels, and still. It is
 * the picture itself if that is small. Undefined for other files.
 */
export function previewAddress(url: unknown, base: string): string | undefined {
  const own = pictureOf(url, base);
  return own === undefined ? undefined : `${own}?preview`;
}

// Embedded third-party pages.

/** Extracts a YouTube video's id from an id or address. Returns undefined if there is no such id. */
export function youtubeId(text: unknown): string | undefined {
  if (typeof text !== "string") return undefined;
  const trimmed = text.trim();
  if (/^[\w-]{6,20}$/.test(trimmed)) return trimmed;
  const address = webAddress(/^https?:/i.test(trimmed) ? trimmed : `https://${trimmed}`);
  if (!address) return undefined;
  const { hostname, pathname, searchParams } = new URL(address);
  const host = hostname.replace(/^(www|m|music)\./, "");
  const [, first = "", second = ""] = pathname.split("/");
  const id =
    host === "youtu.be"
      ? first
      : /^youtube(-nocookie)?\.com$/.test(host)
        ? /^(embed|live|shorts|v)$/.test(first)
          ? second
          : searchParams.get("v")
        : undefined;
  return id && /^[\w-]{6,20}$/.test(id) ? id : undefined;
}

/** The consent required for an embedded third-party page. */
interface Consent {
  readonly isNeeded: boolean;
  readonly host: string;
  /** The address of the host's privacy policy. */
  readonly policy?: string;
}

/**
 * Returns whether a world requires consent before a frame loads.
 * @param blockers the world's `iframe_blockers`, of any shape: settings by host, which also apply
 * to the host's subdomains, and `default`.
 * @param url the frame's address.
 */
export function consentOf(blockers: Readonly<Record<string, unknown>>, url: string): Consent {
  const { host, hostname } = new URL(url);
  const names = [host, ...parents(hostname), "default"];
  const name = names.find((name) => Object.hasOwn(blockers, name));
  const rule = (name === undefined ? {} : (blockers[name] ?? {})) as Record<string, unknown>;
  const policy = webAddress(rule["policy_url"]);
  return { isNeeded: rule["enabled"] === true, host, ...(policy && { policy }) };
}

/** Returns a hostname and its parent domains, longest first. */
function parents(hostname: string): string[] {
  const words = hostname.split(".");
  return words.map((_, at) => words.slice(at).join("."));
}

/**
 * Returns an embedded page's address, or undefined if it is not a web address. The address may
 * contain the placeholders `{id}` and `{display_name}` for the user.
 */
export const frameAddress = (
  url: unknown,
  user: { readonly id: string; readonly name: string } | undefined,
): string | undefined =>
  typeof url === "string"
    ? webAddress(
        url
          .trim()
          .replaceAll("{id}", encodeURIComponent(user?.id ?? ""))
          .replaceAll("{display_name}", encodeURIComponent(user?.name ?? "")),
      )
    : undefined;

/**
 * Returns the `sandbox` attribute for an embedded page. The page keeps its own origin only if that
 * origin differs from this page's origin: with the same origin, the embedded page's scripts could
 * take over this page.
 * @param origin this page's origin.
 */
export const sandboxOf = (url: string, origin: string): string =>
  [
    "allow-scripts",
    "allow-forms",
    "allow-popups",
    "allow-presentation",
    ...(new URL(url).origin === origin ? [] : ["allow-same-origin"]),
  ].join(" ");

/**
 * Returns the `allow` attribute for an embedded page. Camera, microphone and screen capture are
 * allowed only if a host declares the page to be a call.
 */
export const allowOf = (config: Readonly<Record<string, unknown>>): string =>
  [
    ...(config["call"] === true ? ["camera", "microphone", "display-capture"] : []),
    "autoplay",
    "fullscreen",
    "picture-in-picture",
  ].join("; ");
