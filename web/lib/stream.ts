import { mediaAddress, webAddress, youtubeId } from "./addresses.js";

// The parameters of the player, in the `#` of its address. The page of the stage and the
// player both check them: a configuration may hold anything, and anybody can forge an address.

/** One version of a stream, such as another language. */
export interface Version {
  readonly label: string;
  readonly url: string;
}

export interface Stream {
  readonly url: string;
  /** Other versions of it. */
  readonly alternatives: readonly Version[];
  /** Captions, as WebVTT. */
  readonly subtitles?: string;
  /** A picture to show before the stream begins. */
  readonly image?: string;
}

const MAX_ALTERNATIVES = 20;
const MAX_LABEL = 100;

/**
 * The address of a stream: of the web, or a path on this server such as
 * `/demo/stream.m3u8`; undefined for anything else.
 * @param base the address of the server, which may be a folder of its host.
 */
export function streamAddress(url: unknown, base: string): string | undefined {
  if (typeof url !== "string") return undefined;
  const text = url.trim();
  if (/^\/(?![/\\])/.test(text) && URL.canParse(`.${text}`, base)) {
    const { origin, href } = new URL(`.${text}`, base);
    return origin === new URL(base).origin ? href : undefined;
  }
  // The demo names the address at which it was started, which may have other names.
  const [, demo] = OWN_DEMO.exec(text) ?? [];
  return demo === undefined ? webAddress(text) : new URL(demo, base).href;
}

const OWN_DEMO = /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?\/(demo\/stream\.m3u8)$/;

/**
 * The stream of a module `livestream.native`.
 * @returns undefined if its configuration names none.
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

/** The parameters of the player: the stream, and the title, language and color of the page. */
export interface Playing extends Stream {
  readonly title: string;
  readonly lang: string;
  /** Such as `#1a2b3c`. */
  readonly color?: string;
  /** Whether the viewer asked for it, so that it need not begin silently. */
  readonly sound?: boolean;
}

/** The `#` of the player's address. */
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
 * The player's parameters, from the address of its page.
 * @param base the address of the player's page.
 * @returns undefined without a stream.
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

/** What the address of a stream is instead: a page that no player of streams plays. */
export type NoStream =
  | { readonly is: "youtube"; readonly id: string }
  | { readonly is: "vimeo"; readonly url: string }
  | { readonly is: "meeting" }
  | { readonly is: "page" };

/** The pages of video calls. None of them is a stream, and most refuse to be shown in a frame. */
const MEETINGS =
  /(^|\.)(zoom\.(us|com)|zoomgov\.com|teams\.(microsoft|live)\.com|meet\.google\.com|webex\.com|gotomeeting\.com|whereby\.com|jit\.si|bluejeans\.com)$/;

/** The player of a video or an event of Vimeo; undefined for another page. */
function vimeoPlayer({ hostname, pathname }: URL): string | undefined {
  if (!/^((www|player)\.)?vimeo\.com$/.test(hostname)) return undefined;
  const [, isEvent, id, hash] =
    /^\/(?:(event)\/|video\/|channels\/[^/]+\/)?(\d+)(?:\/([\da-f]+))?/.exec(pathname) ?? [];
  if (id === undefined) return undefined;
  if (isEvent) return `https://vimeo.com/event/${id}/embed`;
  return `https://player.vimeo.com/video/${id}${hash ? `?h=${hash}` : ""}`;
}

/**
 * What is at the address of a stream, if it is none.
 * @param url as it was typed.
 * @returns undefined for an address that may be a stream, and for none at all.
 */
export function noStream(url: unknown, base: string): NoStream | undefined {
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
  if (MEETINGS.test(parsed.hostname)) return { is: "meeting" };
  const { pathname, origin } = parsed;
  // Some servers of streams have addresses without an ending: these are tried.
  const isOwn = origin === new URL(base).origin;
  const isStream = isOwn || isFile(address) || /\.(m3u8?|mpd)$/i.test(pathname);
  const isPage =
    /\.(html?|php|aspx?)$/i.test(pathname) || /^\/?$/.test(pathname) || PAGES.test(parsed.hostname);
  return !isStream && isPage ? { is: "page" } : undefined;
}

/** Sites of videos without a player that a stage can use by itself. */
const PAGES =
  /(^|\.)(vimeo\.com|twitch\.tv|facebook\.com|fb\.watch|linkedin\.com|dailymotion\.com|x\.com|twitter\.com|instagram\.com|tiktok\.com|drive\.google\.com|dropbox\.com)$/;

/**
 * How long the player waits before it tries again, in milliseconds.
 * @param failures how often it has failed in a row, this time included.
 */
export const pauseAfter = (failures: number): number =>
  Math.min(10_000 * 1.5 ** (failures - 1), 60_000);

/** Whether the pages play a recording themselves: a file, a stream, or a video of YouTube. */
export const isPlayable = (url: string): boolean =>
  isFile(url) || /\.m3u8$/i.test(new URL(url).pathname) || youtubeId(url) !== undefined;
