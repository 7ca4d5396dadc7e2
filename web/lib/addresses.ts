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

// Pages of others in a frame.

/** The id of a YouTube video, from the id itself or an address; undefined without one. */
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

/** Whether people are asked before a page of others is loaded. */
interface Consent {
  readonly isNeeded: boolean;
  readonly host: string;
  /** The address of its privacy policy. */
  readonly policy?: string;
}

/**
 * Whether a world wants its people to be asked before a frame is loaded.
 * @param blockers the `iframe_blockers` of the world, which may be anything: settings by
 *   host, which count for its subdomains too, and `default`.
 * @param url the address of the frame.
 */
export function consentOf(blockers: Readonly<Record<string, unknown>>, url: string): Consent {
  const { host, hostname } = new URL(url);
  const names = [host, ...parents(hostname), "default"];
  const name = names.find((name) => Object.hasOwn(blockers, name));
  const rule = (name === undefined ? {} : (blockers[name] ?? {})) as Record<string, unknown>;
  const policy = webAddress(rule["policy_url"]);
  return { isNeeded: rule["enabled"] === true, host, ...(policy && { policy }) };
}

/** A name and the domains that it is in, the longest first. */
function parents(hostname: string): string[] {
  const words = hostname.split(".");
  return words.map((_, at) => words.slice(at).join("."));
}

/**
 * The address of a page in a frame. A host may pass `{id}` and `{display_name}` of the
 * user in it. Undefined if it is no web address.
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
 * The `sandbox` of a page in a frame. It keeps its own origin only if that differs from the
 * origin of this page: otherwise it could take over this page by scripts.
 * @param origin the origin of this page.
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
 * The `allow` of a page in a frame: it may play, and use camera and microphone if a host says
 * that it is a call.
 */
export const allowOf = (config: Readonly<Record<string, unknown>>): string =>
  [
    ...(config["call"] === true ? ["camera", "microphone", "display-capture"] : []),
    "autoplay",
    "fullscreen",
    "picture-in-picture",
  ].join("; ");
