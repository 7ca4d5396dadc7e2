/** The server's settings of a page, in `<meta name="foyer">`; `plugins/web` writes them. */
export interface PageConfig {
  /** The folder of the server, relative to the page: `./`, or `../` for each level. */
  base: string;
  /** The world that the address names; null if it names none. */
  world: string | null;
  /** Whether the server has no world yet. */
  isNew: boolean;
  /** The title of the world, if guests may see the world. */
  title: string | null;
  theme: Theme;
  links?: Links;
  /** When and where the event is, if guests may see the world. */
  event?: EventPreview;
  /** How the program continues, for the first page, if guests may read it. */
  program?: ProgramPreview;
  /** The language that the world prefers; null for the browser's. */
  locale: string | null;
  /**
   * The id of the one room to show, without anything around it. Empty for the first
   * room; null for all of them.
   */
  embed: string | null;
  /** The providers by which people sign in: their ids and names. */
  signIn: { id: string; name: string }[];
  upload: { maxBytes: number; types: string[] };
}

/** The links at the foot of the first page: the part of `config.links` that is sound. */
export interface Links {
  privacy?: string;
  imprint?: string;
  more?: { label: string; url: string }[];
}

/** The sound part of `config.event`. Times are RFC 3339. */
export interface EventPreview {
  starts_at?: string;
  ends_at?: string;
  tagline?: string;
  location?: string;
  /** The address of a picture. */
  cover?: string;
  /** The name of the time zone in which the times are shown. */
  timezone?: string;
}

/** The next sessions of a program, and some of its speakers. */
export interface ProgramPreview {
  sessions: PreviewSession[];
  /** How many scheduled sessions there are besides. */
  more: number;
  speakers: PreviewSpeaker[];
}

export interface PreviewSession {
  title: string;
  starts_at: string;
  ends_at: string | null;
  /** The name of its room; empty without one. */
  room: string;
  speakers: string[];
}

export interface PreviewSpeaker {
  name: string;
  organization: string;
  picture: string | null;
}

/** The look of a world: the part of `config.theme` that the pages use. */
export interface Theme {
  /** Colors, as `#rrggbb`. */
  colors?: { primary?: string };
  logo?: { url?: string };
}

/** Whether guests may see more of an event than its title. */
export const hasFace = ({ event, program }: PageConfig): boolean =>
  event !== undefined || program !== undefined;

/** The configuration of this page. */
export function readPage(document: Document): PageConfig {
  const meta = document.querySelector<HTMLMetaElement>('meta[name="foyer"]');
  return JSON.parse(meta?.content ?? "{}") as PageConfig;
}

/** How long the server may take to answer, in milliseconds. */
const ANSWER_TIMEOUT_MS = 10_000;

/** The part of a window that a reload needs. */
export interface ReloadWindow {
  readonly location: Pick<Location, "href" | "reload">;
  readonly fetch: typeof fetch;
}

/**
 * Reloads the page if the server is in reach: a reload without a network would replace the
 * page by an error of the browser. Browsers may remember that code could not be loaded, so
 * only a new page can load it again.
 * @returns false if the server is out of reach; the page stays then.
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

/** Has the browser save a file. */
export function saveFile(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name.replace(/[^\p{L}\p{N}._-]+/gu, "-");
  link.click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
