import type { ClosedPhase } from "../../schemas/plain/access.js";

/** The server's settings for a page, which `plugins/web` writes into `<meta name="foyer">`. */
export interface PageConfig {
  /** The server's base path, relative to the page: `./`, or `../` per level. */
  base: string;
  /** The world named by the page's address, or null if the address names none. */
  world: string | null;
  /** Whether the server has no world yet. */
  isNew: boolean;
  /** The world's title; null if guests may not see the world. */
  title: string | null;
  /**
   * The event's name on pages that turn people away: the title if guests may see the world or if
   * the event has a contact, so that people know which event to ask about; otherwise null.
   */
  name: string | null;
  /**
   * The contact for questions, even from people without access: an e-mail address, a URL, or free
   * text.
   */
  contact?: string;
  theme: Theme;
  links?: Links;
  /** The event's dates and location, if guests may see the world. */
  event?: EventPreview;
  /** What the event is about, in Markdown, if guests may see the world. */
  about?: string;
  /** Present while the event is closed to some people. */
  access?: PageAccess;
  /** Upcoming sessions for the landing page, if guests may read the program. */
  program?: ProgramPreview;
  /** The world's preferred language, or null to use the browser's language. */
  locale: string | null;
  /**
   * Id of the only room to show, without any surrounding UI. An empty string selects the first
   * room; null shows all rooms.
   */
  embed: string | null;
  /** The available sign-in providers. */
  signIn: { id: string; name: string }[];
  /** The host whose pages can use passkeys, or null if browsers permit none at the server's address. */
  passkeys: string | null;
  /** Whether the server can send people a new link. */
  mail: boolean;
  upload: { maxBytes: number; types: string[] };
  /** Whether the server has an engine for calls. */
  calls?: boolean;
}

/** The phase of an event that is not open to everybody. */
export interface PageAccess {
  phase: ClosedPhase;
  /** When the event opens, in RFC 3339 format. */
  opens_at?: string;
  /** Whether the phase keeps guests out, too. */
  keepsOut: boolean;
}

/** Footer links of the landing page: the valid part of `config.links`. */
export interface Links {
  privacy?: string;
  imprint?: string;
  more?: { label: string; url: string }[];
}

/** The valid part of `config.event`. Times are in RFC 3339 format. */
export interface EventPreview {
  starts_at?: string;
  ends_at?: string;
  tagline?: string;
  location?: string;
  /** The address of a picture. */
  cover?: string;
  /** The time zone in which times are shown, by name. */
  timezone?: string;
}

/** The next sessions of a program, and some of its speakers. */
export interface ProgramPreview {
  sessions: PreviewSession[];
  /** Number of scheduled sessions that are not in `sessions`. */
  more: number;
  speakers: PreviewSpeaker[];
  /** Number of speakers who are not in `speakers`. */
  moreSpeakers: number;
}

export interface PreviewSession {
  title: string;
  starts_at: string;
  ends_at: string | null;
  /** The room's name, or an empty string if the session has no room. */
  room: string;
  speakers: string[];
  /** The address of the recording, once the event is over. */
  recording?: string;
}

export interface PreviewSpeaker {
  name: string;
  organization: string;
  picture: string | null;
}

/** A world's appearance: the part of `config.theme` that the pages use. */
export interface Theme {
  /** Colors, as `#rrggbb`. */
  colors?: { primary?: string };
  logo?: { url?: string };
  /** The logo on dark backgrounds; the logo itself, on a light plate, by default. */
  logo_dark?: { url?: string };
}

/** Whether guests may see more of an event than its title. */
export const hasPublicPreview = ({ event, program, about }: PageConfig): boolean =>
  event !== undefined || program !== undefined || about !== undefined;

/** Reads the page's configuration. */
export function readPage(document: Document): PageConfig {
  const meta = document.querySelector<HTMLMetaElement>('meta[name="foyer"]');
  return JSON.parse(meta?.content ?? "{}") as PageConfig;
}

const ANSWER_TIMEOUT_MS = 10_000;

/** The part of `Window` that {@link reloadOnline} uses. */
export interface ReloadWindow {
  readonly location: Pick<Location, "href" | "reload">;
  readonly fetch: typeof fetch;
}

/**
 * Reloads the page if the server is reachable: offline, a reload would replace the page with a
 * browser error. Browsers may cache the failure to load a script, so the script can be loaded only
 * by a new page.
 * @returns false if the server is unreachable, in which case the page stays.
 */
export async function reloadOnline(
  window: ReloadWindow,
  timeout = ANSWER_TIMEOUT_MS,
): Promise<boolean> {
  try {
    const { ok } = await window.fetch(window.location.href, {
      method: "HEAD",
      cache: "no-store",
      signal: AbortSignal.timeout(timeout),
    });
    if (!ok) return false;
  } catch {
    return false;
  }
  window.location.reload();
  return true;
}

/** Downloads a file to the user's device. */
export function saveFile(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name.replace(/[^\p{L}\p{N}._-]+/gu, "-");
  link.click();
  // After this delay, the browser has started to read the blob.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
