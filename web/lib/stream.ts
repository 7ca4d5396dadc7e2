import { mediaAddress, webAddress, youtubeId } from "./addresses.js";

// The player's parameters, in the fragment of the player's address. Both the stage's page and the
// player validate the parameters: a configuration may hold anything, and anyone can forge an
// address.

/** One version of a stream, such as another language. */
export interface Version {
  readonly label: string;
  readonly url: string;
}

export interface Stream {
  readonly url: string;
  readonly alternatives: readonly Version[];
  /** Captions, as WebVTT. */
  readonly subtitles?: string;
  /** A picture to show before the stream begins. */
  readonly image?: string;
}

const MAX_ALTERNATIVES = 20;
const MAX_LABEL = 100;

/**
 * Returns a stream's full address for a web address or for a path on this server, such as
 * `/demo/stream.m3u8`. Returns undefined for anything else.
 * @param base the server's address, which may include a path.
 */
export function streamAddress(url: unknown, base: string): string | undefined {
  if (typeof url !== "string") return undefined;
  const text = url.trim();
  if (/^\/(?![/\\])/.test(text) && URL.canParse(`.${text}`, base)) {
    const { origin, href } = new URL(`.${text}`, base);
    return origin === new URL(base).origin ? href : undefined;
  }
  // The demo stores the address at which it was started, but visitors may use a different name for
  // the server.
  const [, demo] = OWN_DEMO.exec(text) ?? [];
  return demo === undefined ? webAddress(text) : new URL(demo, base).href;
}

const OWN_DEMO = /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?\/(demo\/stream\.m3u8)$/;

/**
 * Parses the stream of a `livestream.native` module.
 * @returns undefined if the configuration contains no valid address.
 */
export function streamOf(
  config: Readonly<Record<string, unknown>>,
  base: string,
): Stream | undefined {
  const url = streamAddress(config["hls_url"], base);
  if (!url) return undefined;
  const subtitles = streamAddress(config["subtitle_url"], base);
  const image = mediaAddress(config["streamOfflineImage"], base);
  return {
    url,
    alternatives: versionsOf(config["alternatives"], base),
    ...(subtitles && { subtitles }),
    ...(image && { image }),
  };
}

function versionsOf(list: unknown, base: string): Version[] {
  if (!Array.isArray(list)) return [];
  return list.slice(0, MAX_ALTERNATIVES).flatMap((entry: unknown) => {
    const { label, hls_url } = (entry ?? {}) as Record<string, unknown>;
    const url = streamAddress(hls_url, base);
    if (!url || typeof label !== "string" || label.trim() === "") return [];
    return [{ label: label.slice(0, MAX_LABEL), url }];
  });
}

/** The player's parameters: the stream, and the page's title, language and color. */
export interface Playing extends Stream {
  readonly title: string;
  readonly lang: string;
  /** Such as `#1a2b3c`. */
  readonly color?: string;
  /** Whether the viewer started playback, so that it need not be muted. */
  readonly sound?: boolean;
}

/** Encodes the player's parameters as the fragment of the player's address. */
export function playerHash(playing: Playing): string {
  const { url, alternatives, subtitles, image, title, lang } = playing;
  const { color, sound } = playing;
  const params = new URLSearchParams({ src: url, title, lang });
  if (alternatives.length > 0) {
    const list = alternatives.map(({ label, url }) => ({ label, hls_url: url }));
    params.set("alternatives", JSON.stringify(list));
  }
  if (subtitles) params.set("subtitles", subtitles);
  if (image) params.set("image", image);
  if (color) params.set("color", color);
  if (sound) params.set("sound", "1");
  return `#${params.toString()}`;
}

/**
 * Parses the player's parameters from the fragment of the player's address.
 * @param base the address of the player's page.
 * @returns undefined if the parameters name no stream.
 */
export function readPlayerHash(hash: string, base: string): Playing | undefined {
  const params = new URLSearchParams(hash.replace(/^#/, ""));
  const stream = streamOf(
    {
      hls_url: params.get("src"),
      alternatives: parsed(params.get("alternatives")),
      subtitle_url: params.get("subtitles"),
      streamOfflineImage: params.get("image"),
    },
    base,
  );
  if (!stream) return undefined;
  const color = params.get("color");
  return {
    ...stream,
    title: params.get("title") ?? "",
    lang: params.get("lang") ?? "",
    ...(color && { color }),
    ...(params.has("sound") && { sound: true }),
  };
}

function parsed(json: string | null): unknown {
  try {
    return JSON.parse(json ?? "null");
  } catch {
    return undefined;
  }
}

/** Whether an address names a single file, which browsers play without a library. */
export const isFile = (url: string): boolean =>
  /\.(mp4|m4v|mov|webm|ogv|ogg|oga|mp3|m4a|aac|wav|flac)$/i.test(new URL(url).pathname);

/** An address that is not a stream but a page, which the player cannot play. */
export type NonStream =
  | { readonly is: "youtube"; readonly id: string }
  | { readonly is: "vimeo"; readonly url: string }
  | { readonly is: "meeting"; readonly url: string }
  | { readonly is: "page" };

/** Sites for video calls. None of them is a stream, and most refuse to load in a frame. */
const MEETINGS =
  /(^|\.)(zoom\.(us|com)|zoomgov\.com|teams\.(microsoft|live)\.com|meet\.google\.com|webex\.com|gotomeeting\.com|whereby\.com|jit\.si|bluejeans\.com)$/;

/** Returns the address of the embeddable player for a Vimeo video or event, or undefined for other pages. */
function vimeoPlayer({ hostname, pathname }: URL): string | undefined {
  if (!/^((www|player)\.)?vimeo\.com$/.test(hostname)) return undefined;
  const [, isEvent, id, hash] =
    /^\/(?:(event)\/|video\/|channels\/[^/]+\/)?(\d+)(?:\/([\da-f]+))?/.exec(pathname) ?? [];
  if (id === undefined) return undefined;
  if (isEvent) return `https://vimeo.com/event/${id}/embed`;
  return `https://player.vimeo.com/video/${id}${hash ? `?h=${hash}` : ""}`;
}

/**
 * Classifies an address that is not a stream.
 * @param url the address as typed.
 * @returns undefined if the address may be a stream, or if the text is not an address.
 */
export function classifyNonStream(url: unknown, base: string): NonStream | undefined {
  const address =
    streamAddress(url, base) ??
    (/^\s*[\w-]+(\.[\w-]+)+\//.test(String(url))
      ? streamAddress(`https://${String(url).trim()}`, base)
      : undefined);
  if (address === undefined) return undefined;
  const parsed = new URL(address);
  if (/(^|\.)youtu(be|be-nocookie)?\.(com|be)$/.test(parsed.hostname)) {
    const id = youtubeId(address);
    return id === undefined ? { is: "page" } : { is: "youtube", id };
  }
  const player = vimeoPlayer(parsed);
  if (player !== undefined) return { is: "vimeo", url: player };
  if (MEETINGS.test(parsed.hostname)) return { is: "meeting", url: address };
  const { pathname, origin } = parsed;
  // Some streaming servers use addresses without an extension, so the player tries such addresses.
  const isOwn = origin === new URL(base).origin;
  const isStream = isOwn || isFile(address) || /\.(m3u8?|mpd)$/i.test(pathname);
  const isPage =
    /\.(html?|php|aspx?)$/i.test(pathname) || /^\/?$/.test(pathname) || PAGES.test(parsed.hostname);
  return !isStream && isPage ? { is: "page" } : undefined;
}

/** Video sites whose pages a stage cannot embed directly. */
const PAGES =
  /(^|\.)(vimeo\.com|twitch\.tv|facebook\.com|fb\.watch|linkedin\.com|dailymotion\.com|x\.com|twitter\.com|instagram\.com|tiktok\.com|drive\.google\.com|dropbox\.com)$/;

/**
 * Returns the delay before the player's next attempt, in milliseconds.
 * @param failures number of consecutive failures, including the current one.
 */
export const pauseAfter = (failures: number): number =>
  Math.min(10_000 * 1.5 ** (failures - 1), 60_000);

/** Whether the pages can play a recording themselves: a file, a stream or a YouTube video. */
export const isPlayable = (url: string): boolean =>
  isFile(url) || /\.m3u8$/i.test(new URL(url).pathname) || youtubeId(url) !== undefined;
